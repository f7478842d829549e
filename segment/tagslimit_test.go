package segment_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/segment/segmenttest"
)

// Names that do not exist do not fill the memory, whether the source is up or down, and tags in use do not notice them.
func TestTagsFlood(t *testing.T) {
	for _, down := range []bool{false, true} {
		t.Run(fmt.Sprintf("down=%t", down), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := segmenttest.NewMemory()
				create(t, m, "x", segment.TagConfig{Step: 1 << 20})
				create(t, m, "y", segment.TagConfig{})
				tags := newTags(t, m, segment.WithMaxTags(100), segment.WithMaxWait(0))
				first := func(tag string) (err error) {
					for range 3 { // with WithMaxWait(0), the first call does not wait
						if _, err = tags.Next(tag); err == nil {
							return nil
						}
						time.Sleep(20 * time.Millisecond)
						synctest.Wait()
					}
					return err
				}
				if err := first("x"); err != nil {
					t.Fatal(err)
				}
				if down {
					m.Kill()
				}
				full := false
				for n := range 1000 {
					_, err := tags.Next(fmt.Sprint("unknown", n))
					full = full || errors.Is(err, segment.ErrTooManyTags)
					if err == nil {
						t.Fatal("a tag that does not exist has a number")
					}
					if _, err := tags.Next("x"); err != nil {
						t.Fatalf("Next of a tag that is open, while others are asked for: %v", err)
					}
				}
				if !full {
					t.Error("no call returned ErrTooManyTags")
				}
				m.Start()
				time.Sleep(time.Second)
				if err := first("y"); err != nil {
					t.Errorf("Next of a tag that exists, a second after the flood: %v", err)
				}
				synctest.Wait()
			})
		})
	}
}

// The limit counts tags that are open. Many goroutines that use the same tag first do not exceed it, and tags that
// were dropped give way.
func TestTagsMaxTags(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := segmenttest.NewMemory()
		tags := newTags(t, m, segment.WithMaxTags(2), segment.WithIdle(time.Minute), segment.WithCreate(segment.TagConfig{}))
		for round := range 20 {
			var wg sync.WaitGroup
			for g := range 16 {
				wg.Go(func() {
					if _, err := tags.Next(fmt.Sprint("tag", round*2+g%2)); err != nil {
						t.Errorf("Next of one of two tags, with a limit of two: %v", err)
					}
				})
			}
			wg.Wait()
			if _, err := tags.Next("one more"); !errors.Is(err, segment.ErrTooManyTags) {
				t.Fatalf("Next of a third tag = %v, want ErrTooManyTags", err)
			}
			time.Sleep(2*time.Minute + time.Second)
		}
	})
}

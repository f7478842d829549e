package segment_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/testkit/uniq"
	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/segment/segmenttest"
)

// A tag that is gone is not created again by the processes that have received numbers of it.
func TestTagsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := segmenttest.NewMemory()
		tags := newTags(t, m, segment.WithIdle(time.Second), segment.WithCreate(segment.TagConfig{Step: 2}))
		if _, err := tags.Next("x"); err != nil {
			t.Fatal(err)
		}
		m.RemoveTag("x")
		for range 5 {
			tags.Next("x") // what is in memory
		}
		if v, err := tags.Next("x"); !errors.Is(err, segment.ErrNoTag) {
			t.Errorf("Next of a tag that is open and gone = %d, %v; want ErrNoTag", v, err)
		}
		for range 3 {
			time.Sleep(time.Minute)
			if v, err := tags.Next("x"); !errors.Is(err, segment.ErrNoTag) {
				t.Errorf("Next of a tag that was dropped and is gone = %d, %v; want ErrNoTag", v, err)
			}
		}
	})
}

// Many processes create a tag at the same time. Each number comes once.
func TestTagsCreateRace(t *testing.T) {
	for _, lost := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			m := segmenttest.NewMemory()
			if lost {
				m.SetFaults(func(op segmenttest.Op) segmenttest.Fault {
					if op.Create != nil {
						return segmenttest.LoseReply
					}
					return segmenttest.NoFault
				})
			}
			var seen uniq.Set
			var wg sync.WaitGroup
			for p := range 10 {
				tags := newTags(t, m.Client(fmt.Sprint(p)), segment.WithCreate(segment.TagConfig{Step: 4}))
				for range 4 {
					wg.Go(func() {
						w := seen.Writer()
						for range 50 {
							v, err := tags.Next("x")
							if err != nil || !w.Add(v) {
								t.Errorf("Next with lost replies %t = %d, %v; want a new number", lost, v, err)
								return
							}
						}
					})
				}
			}
			wg.Wait()
		})
	}
}

// WithCreate passes on the configuration, with an UnusedBefore; the error of a source that refuses is returned.
func TestTagsCreateConfig(t *testing.T) {
	m := segmenttest.NewMemory()
	var got segment.TagConfig
	m.SetFaults(func(op segmenttest.Op) segmenttest.Fault {
		if op.Create != nil {
			got = *op.Create
		}
		return segmenttest.NoFault
	})
	tags := newTags(t, m, segment.WithCreate(segment.TagConfig{Start: 77, Step: 9}), segment.WithMaxWait(longWait))
	if v, err := tags.Next("x"); err != nil || v != 77 {
		t.Errorf("Next = %d, %v; want 77", v, err)
	}
	if got.Start != 77 || got.Step != 9 || got.UnusedBefore.IsZero() || got.UnusedBefore.Year() > 2000 {
		t.Errorf("the tag was created with %+v", got)
	}
	m.Failover(0)
	if v, err := tags.Next("y"); err != nil || v < 1_000_000 {
		t.Errorf("Next of a new tag after a failover = %d, %v; want a number beyond the gap", v, err)
	}
	refusing := newTags(t, segmenttest.NewMemory(segmenttest.WithoutRecord()), segment.WithCreate(segment.TagConfig{}), segment.WithMaxWait(longWait))
	if _, err := refusing.Next("x"); !errors.Is(err, segment.ErrNoTag) || !strings.Contains(err.Error(), "no record") {
		t.Errorf("Next with a source that refuses to create = %v; want its error", err)
	}
}

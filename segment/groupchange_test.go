package segment_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/ringuid/ringuid/internal/testkit/uniq"
	"github.com/ringuid/ringuid/ringbuffer"
	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/segment/segmenttest"
)

// The documented way to change the number of stripes, while processes take numbers.
func TestGroupChangeCount(t *testing.T) {
	for _, counts := range [][2]int{{2, 3}, {3, 2}, {1, 4}, {4, 1}} {
		t.Run(fmt.Sprint(counts), func(t *testing.T) {
			old, oldStores := stripes(counts[0])
			create(t, old, "x", segment.TagConfig{Step: 5})
			var seen uniq.Set
			var wg sync.WaitGroup
			for range 4 {
				s, err := segment.New(t.Context(), old, "x", quietOption(), segment.WithMaxWait(longWait), segment.WithStepPolicy(segment.FixedStep{}),
					segment.WithTakePolicy(ringbuffer.CallerPads))
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				wg.Go(func() {
					w := seen.Writer()
					for {
						v, err := s.Next()
						if errors.Is(err, segment.ErrExhausted) {
							return
						}
						if errors.Is(err, segmenttest.ErrDown) {
							continue
						}
						if err != nil || !w.Add(v) {
							t.Errorf("Next of the old stripes = %d, %v; want a new number", v, err)
							return
						}
					}
				})
			}
			greatest := int64(0)
			for i, m := range oldStores {
				greatest = max(greatest, retire(m, segment.StripeTag("x", i, counts[0])))
			}
			g, _ := stripes(counts[1])
			create(t, g, "x", segment.TagConfig{Step: 5, Start: (greatest + 1) * int64(counts[0])})
			s, err := segment.New(t.Context(), g, "x", quietOption(), segment.WithMaxWait(longWait))
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			w := seen.Writer()
			for range 10_000 {
				v, err := s.Next()
				if err != nil || !w.Add(v) {
					t.Fatalf("Next of the new stripes = %d, %v; want a new number", v, err)
				}
			}
			wg.Wait()
		})
	}
}

// A program that still has the old number of stripes creates no tag any more when what declares them was retired.
func TestRetiredStripesCreateNoTag(t *testing.T) {
	old, oldStores := stripes(3)
	create(t, old, "x", segment.TagConfig{})
	tags := newTags(t, old, segment.WithCreate(segment.TagConfig{}), segment.WithMaxWait(longWait))
	if _, err := tags.Next("before"); err != nil {
		t.Fatal(err)
	}
	for i, m := range oldStores {
		retire(m, segment.StripeTag("", i, 3))
	}
	if v, err := tags.Next("after"); !errors.Is(err, segment.ErrExhausted) || !strings.Contains(err.Error(), "was retired") {
		t.Errorf("Next of a new tag = %d, %v; want ErrExhausted", v, err)
	}
	if _, err := tags.Next("before"); err != nil {
		t.Errorf("Next of a tag that exists: %v", err)
	}
	if err := old.CreateTag(t.Context(), "later", segment.TagConfig{}); !errors.Is(err, segment.ErrExhausted) {
		t.Errorf("CreateTag by hand = %v; want ErrExhausted", err)
	}
}

// retire reads a counter and sets it to the end, in one atomic step: no Take is executed while the store is down.
func retire(m *segmenttest.Memory, tag string) int64 {
	m.Kill()
	defer m.Start()
	counter := m.Counter(tag)
	m.SetCounter(tag, math.MaxInt64)
	return counter
}

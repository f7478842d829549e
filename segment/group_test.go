package segment_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/testkit/uniq"
	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/segment/segmenttest"
)

// stripes returns a Group of independent stores, and the stores.
func stripes(count int) (*segment.Group, []*segmenttest.Memory) {
	stores := make([]*segmenttest.Memory, count)
	all := make([]*segment.Striped, count)
	for i := range all {
		stores[i] = segmenttest.NewMemory()
		all[i] = segment.Stripe(i, count, stores[i])
	}
	return segment.NewGroup(all...), stores
}

// longWait is how long a take waits in tests: not longer, because a scheduled padding repairs a lost wake-up after 30 seconds.
const longWait = 20 * time.Second

// quietOption lets a Sequence, a Tags or a Daily log nothing.
func quietOption() segment.Option { return segment.WithLogger(slog.New(slog.DiscardHandler)) }

// NewGroup refuses stripes that do not fit.
func TestGroupArguments(t *testing.T) {
	m := segmenttest.NewMemory()
	two := segment.Stripe(0, 2, m)
	for name, g := range map[string]*segment.Group{
		"nil": nil, "zero": {}, "empty": segment.NewGroup(), "nil stripe": segment.NewGroup(two, nil), "twice": segment.NewGroup(two, two),
		"counts": segment.NewGroup(two, segment.Stripe(1, 3, m)), "invalid": segment.NewGroup(two, segment.Stripe(2, 2, m)),
		"invalid first": segment.NewGroup(nil, two),
	} {
		if _, err := g.Take(t.Context(), segment.Request{Tag: "x"}); !errors.Is(err, segment.ErrOption) {
			t.Errorf("%s: Take = %v, want ErrOption", name, err)
		}
		if err := g.CreateTag(t.Context(), "x", segment.TagConfig{}); !errors.Is(err, segment.ErrOption) {
			t.Errorf("%s: CreateTag = %v, want ErrOption", name, err)
		}
		if _, err := segment.New(t.Context(), g, "x"); !errors.Is(err, segment.ErrOption) {
			t.Errorf("%s: New = %v, want ErrOption", name, err)
		}
		if g.String() != "invalid group" {
			t.Errorf("%s: String() = %q", name, g)
		}
	}
}

// Many processes on a group of stripes, each with some of them, never have a number twice, while the stores go down
// and hang in turn.
func TestGroupExact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const count, processes, each = 5, 8, 3000
		all, stores := stripes(count)
		create(t, all, "x", segment.TagConfig{Step: 7})
		var seen uniq.Set
		stop := make(chan struct{})
		var faults, wg sync.WaitGroup
		faults.Go(func() {
			for i := 0; ; i++ {
				m := stores[i%count]
				if i%2 == 0 {
					m.Kill()
				} else {
					m.Pause()
				}
				time.Sleep(30 * time.Second)
				m.Start()
				m.Resume()
				select {
				case <-stop:
					return
				case <-time.After(time.Second):
				}
			}
		})
		for p := range processes {
			wg.Go(func() {
				some := segment.NewGroup(segment.Stripe(p%count, count, stores[p%count]), segment.Stripe((p+1)%count, count, stores[(p+1)%count]),
					segment.Stripe((p+2)%count, count, stores[(p+2)%count]))
				s, err := segment.New(t.Context(), some, "x", quietOption(), segment.WithMaxWait(time.Minute))
				if err != nil {
					t.Error(err)
					return
				}
				defer s.Close()
				w := seen.Writer()
				for n := range each {
					v, err := s.Next()
					if err != nil {
						t.Errorf("Next: %v", err)
						return
					}
					if !w.Add(v) {
						t.Errorf("the number %d came twice", v)
						return
					}
					if n%10 == 0 {
						time.Sleep(time.Second)
					}
				}
			})
		}
		wg.Wait()
		close(stop)
		faults.Wait()
		if got := seen.Len(); got != processes*each {
			t.Errorf("%d numbers, want %d", got, processes*each)
		}
	})
}

// CreateTag that failed for some stripes is called again, and creates those that are missing.
func TestGroupCreateTagRepeated(t *testing.T) {
	g, stores := stripes(3)
	c := segment.TagConfig{Start: 1000, Step: 10}
	stores[1].Kill()
	if err := g.CreateTag(t.Context(), "x", c); !errors.Is(err, segmenttest.ErrDown) || errors.Is(err, segment.ErrTagExists) || !strings.Contains(err.Error(), "stripe 1 of 3") {
		t.Fatalf("CreateTag with a store that is down = %v", err)
	}
	stores[1].Start()
	r, err := g.Take(t.Context(), segment.Request{Tag: "x"})
	if err != nil {
		t.Fatal(err)
	}
	before := []int64{stores[0].Counter("x.stripe0of3"), stores[2].Counter("x.stripe2of3")}
	if err := g.CreateTag(t.Context(), "x", c); err != nil {
		t.Fatalf("CreateTag again = %v", err)
	}
	if after := []int64{stores[0].Counter("x.stripe0of3"), stores[2].Counter("x.stripe2of3")}; after[0] != before[0] || after[1] != before[1] {
		t.Errorf("the counters of existing stripes were %v, and are %v after %+v was taken", before, after, r)
	}
	if first := stores[1].Counter("x.stripe1of3")*3 + 1; first < 1000 || first > 1003 {
		t.Errorf("stripe 1 begins at %d, want 1000 or a little more", first)
	}
	if err := g.CreateTag(t.Context(), "x", c); !errors.Is(err, segment.ErrTagExists) {
		t.Errorf("CreateTag of stripes that exist = %v, want ErrTagExists", err)
	}
}

// renamingGroup is a Source that embeds a Group and renames the tags.
type renamingGroup struct{ *segment.Group }

func (g renamingGroup) Take(ctx context.Context, r segment.Request) (segment.Range, error) {
	r.Tag = "tenant." + r.Tag
	return g.Group.Take(ctx, r)
}

// The Take of a type that embeds a Group is called, and not bypassed: the numbers would be those of another tag.
func TestEmbeddedGroup(t *testing.T) {
	g, _ := stripes(2)
	create(t, g, "x", segment.TagConfig{Start: 1})
	create(t, g, "tenant.x", segment.TagConfig{Start: 1_000_000})
	s, err := segment.New(t.Context(), renamingGroup{g}, "x", quietOption())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if v, err := s.Next(); err != nil || v < 1_000_000 {
		t.Errorf("Next = %d, %v; want a number of the tag tenant.x", v, err)
	}
}

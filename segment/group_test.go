package segment_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/uniq"
	"github.com/ringuid/ringuid/ringbuffer"
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

// Many processes on a group of stripes, each with some of them, never have a number twice, while the stores go down and hang in turn.
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

// Callers do not wait while a store is down or hangs, and it serves again soon after it is back.
func TestGroupStoreDown(t *testing.T) {
	for _, how := range []string{"down", "hangs", "set back"} {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, stores := stripes(3)
				create(t, g, "x", segment.TagConfig{Step: 100, Start: 10_000})
				s, err := segment.New(t.Context(), g, "x", quietOption(), segment.WithStepPolicy(segment.FixedStep{}))
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				served := func(duration time.Duration) (by [3]int) {
					for end := time.Now().Add(duration); time.Now().Before(end); {
						begin := time.Now()
						v, err := s.Next()
						if err != nil {
							t.Fatalf("Next with a store that %s: %v", how, err)
						}
						if waited := time.Since(begin); waited > 0 {
							t.Fatalf("Next with a store that %s waited for %v", how, waited)
						}
						by[v%3]++
						time.Sleep(100 * time.Millisecond) // a range lasts for 10 seconds, and a try at most 5
					}
					return by
				}
				if by := served(10 * time.Minute); by[0]*by[1]*by[2] == 0 {
					t.Fatalf("by stripe: %v; want numbers of all", by)
				}
				tag := segment.StripeTag("x", 1, 3)
				before := stores[1].Counter(tag)
				switch how {
				case "down":
					stores[1].Kill()
				case "hangs":
					stores[1].Pause()
				default:
					stores[1].SetCounter(tag, 500)
				}
				served(time.Minute) // what is in memory
				if by := served(10 * time.Minute); by[0] == 0 || by[1] > 0 || by[2] == 0 {
					t.Fatalf("by stripe while store 1 %s: %v; want numbers of the others", how, by)
				}
				switch how {
				case "down":
					stores[1].Start()
				case "hangs":
					stores[1].Resume()
				default:
					if now := stores[1].Counter(tag); now != 500 {
						t.Fatalf("the counter that was set back is %d after refused Takes, want 500", now)
					}
					stores[1].SetCounter(tag, before)
				}
				served(90 * time.Second) // the greatest pause is 50 s, and then two ranges are left
				if by := served(2 * time.Minute); by[0]*by[1]*by[2] == 0 {
					t.Errorf("by stripe after store 1 is back: %v; want numbers of all", by)
				}
			})
		})
	}
}

// If all stores fail, the error has all causes.
func TestGroupAllDown(t *testing.T) {
	g, stores := stripes(2)
	create(t, g, "x", segment.TagConfig{})
	stores[0].Kill()
	stores[1].RemoveTag(segment.StripeTag("x", 1, 2))
	for _, take := range []func() error{
		func() error { _, err := g.Take(t.Context(), segment.Request{Tag: "x"}); return err },
		func() error { _, err := segment.New(t.Context(), g, "x"); return err },
	} {
		if err := take(); !errors.Is(err, segmenttest.ErrDown) || !errors.Is(err, segment.ErrNoTag) {
			t.Errorf("%v; want ErrDown and ErrNoTag", err)
		}
	}
	stores[0].Start()
	if r, err := g.Take(t.Context(), segment.Request{Tag: "x"}); err != nil || r.Stride != 2 || r.First%2 != 0 {
		t.Errorf("Take = %+v, %v; want a range of the other stripe", r, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := g.Take(ctx, segment.Request{Tag: "x"}); !errors.Is(err, context.Canceled) {
		t.Errorf("Take with a context that has ended = %v", err)
	}
	if _, err := g.Take(t.Context(), segment.Request{}); !errors.Is(err, segment.ErrTag) {
		t.Errorf("Take without a tag = %v, want ErrTag", err)
	}
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

// The documented way to change the number of stripes, while processes take numbers.
func TestGroupChangeCount(t *testing.T) {
	for _, counts := range [][2]int{{2, 3}, {3, 2}, {1, 4}, {4, 1}} {
		t.Run(fmt.Sprint(counts), func(t *testing.T) {
			old, oldStores := stripes(counts[0])
			create(t, old, "x", segment.TagConfig{Step: 5})
			var seen uniq.Set
			var wg sync.WaitGroup
			for range 4 {
				s, err := segment.New(t.Context(), old, "x", quietOption(), segment.WithStepPolicy(segment.FixedStep{}), segment.WithTakePolicy(ringbuffer.CallerPads))
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
			s, err := segment.New(t.Context(), g, "x", quietOption())
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

// retire reads a counter and sets it to the end, in one atomic step: no Take is executed while the store is down.
func retire(m *segmenttest.Memory, tag string) int64 {
	m.Kill()
	defer m.Start()
	counter := m.Counter(tag)
	m.SetCounter(tag, math.MaxInt64)
	return counter
}

package segment_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/segment/segmenttest"
)

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
				synctest.Wait() // a scheduled padding comes at the same time
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

package segment_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/testkit/uniq"
	"github.com/ringuid/ringuid/segment"
)

// With a Group, calls of a Tags do not wait while one store is down or hangs, and the log has one record of it.
func TestTagsOneStoreDown(t *testing.T) {
	for _, how := range []string{"down", "hangs"} {
		synctest.Test(t, func(t *testing.T) {
			const count = 60
			calls := newLoad(time.Millisecond)
			g, stores := stripesWith(3, func(ctx context.Context, _ segment.Request) error { calls.call(ctx); return nil })
			create(t, g, "any", segment.TagConfig{})
			var log records
			tags := newTags(t, g, log.option(), segment.WithCreate(segment.TagConfig{Step: 10}), segment.WithStepPolicy(segment.FixedStep{}))
			for n := range count {
				if _, err := tags.Next(fmt.Sprint("tag", n)); err != nil {
					t.Fatal(err)
				}
			}
			if how == "down" {
				stores[1].Kill()
			} else {
				stores[1].Pause()
			}
			for range 80 { // a range lasts for 10 seconds, and a try at most 5
				for n := range count {
					begin := time.Now()
					if _, err := tags.Next(fmt.Sprint("tag", n)); err != nil || time.Since(begin) > 0 {
						t.Fatalf("Next with a store that is %s = %v after %v", how, err, time.Since(begin))
					}
				}
				time.Sleep(time.Second)
			}
			synctest.Wait()
			if n, text := log.reset(); n != 1 {
				t.Errorf("%d log records of a store that is %s, want one:\n%.2000s", n, how, text)
			}
		})
	}
}

// When a store begins to hang, only the tags whose requests it has got wait for it, however many are used for the first
// time. Later it gets one request at a time.
func TestTagsStoreHangsAtFirstUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var hung atomic.Int64
		g, stores := stripes(3)
		create(t, g, "any", segment.TagConfig{})
		hook := hookedSource{stores[1], func(ctx context.Context, _ segment.Request) error {
			hung.Add(1)
			defer hung.Add(-1)
			<-ctx.Done()
			return ctx.Err()
		}}
		g = segment.NewGroup(segment.Stripe(0, 3, stores[0]), segment.Stripe(1, 3, hook), segment.Stripe(2, 3, stores[2]))
		tags := newTags(t, g, segment.WithCreate(segment.TagConfig{}))
		use := func(count int, name string) (failed int64) {
			var failures atomic.Int64
			var wg sync.WaitGroup
			for n := range count {
				wg.Go(func() {
					if _, err := tags.Next(fmt.Sprint(name, n)); err != nil {
						failures.Add(1)
					}
				})
			}
			wg.Wait()
			return failures.Load()
		}
		if n := use(500, "first"); n > 16 {
			t.Errorf("%d of 500 tags have no number, want at most 16", n)
		}
		time.Sleep(time.Minute)
		if n := use(500, "later"); n > 1 || hung.Load() > 1 {
			t.Errorf("%d of 500 tags have no number, and %d calls of the store run; want at most one", n, hung.Load())
		}
	})
}

// Three processes, one of them with two of three stripes, use tags while the stores go and come back: each number
// comes once, and all tags have numbers within three seconds after the last store is back.
func TestTagsUnsteadyStores(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const names = 10
		g, stores := stripesWith(3, func(context.Context, segment.Request) error { time.Sleep(time.Millisecond); return nil })
		create(t, g, "any", segment.TagConfig{})
		some := segment.NewGroup(segment.Stripe(1, 3, stores[1]), segment.Stripe(0, 3, stores[0]))
		var all []*segment.Tags
		for n, src := range []segment.Source{g, some, g} {
			all = append(all, newTags(t, src, segment.WithCreate(segment.TagConfig{Step: int64(1 + n)}), segment.WithStepPolicy(segment.FixedStep{}),
				segment.WithMaxTakes(1+n), segment.WithIdle(time.Second), segment.WithTryTimeout(50*time.Millisecond)))
		}
		var seen [names]uniq.Set
		var wg sync.WaitGroup
		for k := range 15 {
			random := rand.New(rand.NewPCG(uint64(k), 1))
			wg.Go(func() {
				for range 200 {
					n := random.IntN(names)
					if v, err := all[k%3].Next(fmt.Sprint("tag", n)); err == nil && !seen[n].Writer().Add(v) {
						t.Errorf("tag %d has the number %d twice", n, v)
						return
					}
					if random.IntN(20) == 0 {
						time.Sleep(time.Duration(random.IntN(3000)) * time.Millisecond) // in which tags are dropped
					}
					if k < 3 && random.IntN(5) == 0 {
						switch random.IntN(4) {
						case 0:
							stores[k].Kill()
						case 1:
							stores[k].Pause()
						case 2:
							stores[k].Failover(0)
						default:
							stores[k].Start()
							stores[k].Resume()
						}
					}
				}
			})
		}
		wg.Wait()
		for _, s := range stores {
			s.Start()
			s.Resume()
		}
		begin := time.Now()
		for n := range names {
			for _, tags := range all {
				if v, err := tags.Next(fmt.Sprint("tag", n)); err != nil || !seen[n].Writer().Add(v) {
					t.Errorf("Next when all stores are back = %d, %v", v, err)
				}
			}
		}
		if took := time.Since(begin); took > 3*time.Second {
			t.Errorf("all tags had numbers %v after the stores were back", took)
		}
	})
}

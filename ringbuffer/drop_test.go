package ringbuffer

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/ringuid/ringuid/internal/testkit"
)

// numbered is a provider of runs of 10 integers. The upper digits of a run are its source, which a test changes.
type numbered struct {
	source, runs atomic.Int64
	hook         func() // if not nil, called between reading the source and returning the run
}

func (p *numbered) NextRun(context.Context) (Run, error) {
	source := p.source.Load()
	if p.hook != nil {
		p.hook()
	}
	return Run{First: source*1e12 + p.runs.Add(1)*10, Length: 10}, nil
}

// Drop waits for a run that is being generated, drops it too, and calls before when none is. What is put later stays. The
// counters are exact.
func TestDrop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, release := &numbered{}, make(chan struct{})
		r := newTestRing(t, Config{Capacity: 4, Provider: p})
		mustTake(t, r, 10)
		r.turn.acquire(context.Background())
		p.hook = func() { <-release }
		r.turn.release()
		for range 35 {
			r.Take(context.Background())
		}
		synctest.Wait() // the padder is in NextRun
		dropped := make(chan struct{})
		go func() {
			r.Drop(func() {
				if !r.turn.held.Load() {
					t.Error("the provider may be called meanwhile")
				}
				p.source.Store(1)
			})
			close(dropped)
		}()
		synctest.Wait()
		select {
		case <-dropped:
			t.Error("Drop does not wait for the provider")
		default:
		}
		close(release)
		<-dropped
		synctest.Wait()
		v, err := r.Take(context.Background())
		if err != nil || v < 1e12 {
			t.Errorf("Take() = %d, %v after Drop; want an integer of source 1", v, err)
		}
		put := uint64(p.runs.Load() * 10)
		if st := r.Stats(); st.Taken != 37 || st.Dropped == 0 || st.Taken+st.Dropped+st.Fill != put {
			t.Errorf("Stats() = %+v; want 37 taken, and %d in sum", st, put)
		}
	})
}

// A closed ring, and a zero one, drop nothing.
func TestDropOfClosedRing(t *testing.T) {
	r := newTestRing(t, Config{Capacity: 4, Provider: &numbered{}})
	r.Close()
	for _, r := range []*Ring{r, {}, nil} {
		r.Drop(func() { t.Error("before is called") })
	}
}

// A take that begins after Drop gets nothing of the runs before, also if Close has only begun.
func TestDropWhileCloseBegins(t *testing.T) {
	r := newTestRing(t, Config{Capacity: 4, Provider: &numbered{}})
	mustTake(t, r, 10)
	r.closed.Store(true)
	r.Drop(func() { t.Error("before was called") })
	if v, err := r.Take(t.Context()); err != ErrClosed {
		t.Errorf("Take() = %d, %v; want ErrClosed", v, err)
	}
	r.cancel() // the rest of Close
}

// The same if Close begins while Drop works, and another taker has just gone to the next run.
func TestDropWhileCloseBeginsDuringDrop(t *testing.T) {
	r := newTestRing(t, Config{Capacity: 4, Provider: &numbered{}})
	mustTake(t, r, 10)
	r.counters.testHookDrop = func() {
		r.counters.testHookDrop = nil
		for s := r.current.Load(); r.current.Load() == s; {
			r.Take(context.Background())
		}
		r.closed.Store(true)
	}
	r.Drop(func() {})
	if v, err := r.Take(t.Context()); err != ErrClosed {
		t.Errorf("Take() = %d, %v; want ErrClosed", v, err)
	}
	r.cancel() // the rest of Close
}

// A take that begins after Drop has returned gets nothing that was generated before, whoever pads and drops meanwhile.
func TestDropConcurrently(t *testing.T) {
	for _, policy := range []TakePolicy{CallerPads, Wait} {
		p := &numbered{}
		r := newTestRing(t, Config{Capacity: 4, Provider: p, Assist: true, TakePolicy: policy})
		var dropped, taken atomic.Int64
		var takers, droppers sync.WaitGroup
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		for range 4 {
			takers.Go(func() {
				for ctx.Err() == nil {
					least := dropped.Load()
					v, err := r.Take(ctx)
					if err != nil {
						continue
					}
					taken.Add(1)
					if source := v / 1e12; source < least {
						t.Errorf("source %d after the drop of all before %d", source, least)
						return
					}
				}
			})
		}
		drop := func() {
			var now int64
			r.Drop(func() { now = p.source.Add(1) })
			for {
				least := dropped.Load()
				if least >= now || dropped.CompareAndSwap(least, now) {
					return
				}
			}
		}
		for range 2 {
			droppers.Go(func() {
				for range testkit.Amount(300, 3_000, 300_000) {
					if t.Failed() {
						break
					}
					drop()
				}
			})
		}
		droppers.Wait()
		testkit.Eventually(t, "something is taken and dropped", func() bool {
			drop()
			return taken.Load() > 0 && r.Stats().Dropped > 0
		})
		cancel()
		takers.Wait()
		st := r.Stats()
		if st.Taken != uint64(taken.Load()) {
			t.Errorf("Stats() = %+v; want %d taken", st, taken.Load())
		}
	}
}

package uid

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/workerassign"
)

// A lease that was replaced is released after the call of it that is still running. It does not delay
// the next lease.
func TestReplacedLeaseIsReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var hangs, lateCalls atomic.Int64
		a := &fakeAssigner{assign: func(_ context.Context, n int64) (workerassign.Lease, error) {
			var calls atomic.Int64
			released := make(chan struct{})
			return &fakeLease{id: n, reserve: func(ctx context.Context, until time.Time) (time.Time, error) {
				if n == 1 && calls.Add(1) > 1 {
					hangs.Add(1)
					select {
					case <-released:
					case <-ctx.Done():
						time.Sleep(time.Second) // it ends slowly
					}
				}
				select {
				case <-released:
					lateCalls.Add(1)
					return time.Time{}, errLeaseEnded
				default:
					return until, nil
				}
			}, release: func(context.Context) error {
				close(released)
				return nil
			}}, nil
		}}
		c := newCached(t, a, smallOptions(t, WithReserveAhead(15*time.Second))...)
		if got, failed, err := takeFor(t, c, time.Minute); got < 60*400 || failed > 0 {
			t.Errorf("%d UIDs in a minute, %d calls failed, %v", got, failed, err)
		}
		if hangs.Load() != 1 || lateCalls.Load() != 0 {
			t.Errorf("Reserve hung %d times, and was called or still running after Release %d times", hangs.Load(), lateCalls.Load())
		}
	})
}

// A lost lease is replaced, for example after it expired while the generator was idle.
func TestLostLeaseIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lost atomic.Bool
		a := newLosableAssigner(&lost)
		c := newCached(t, a, smallOptions(t, WithMaxBorrow(time.Hour))...)
		next(t, c)
		lost.Store(true)
		time.Sleep(time.Minute)
		if got, failed, err := takeFor(t, c, 10*time.Second); got < 10*16 || failed > 1 {
			t.Errorf("%d UIDs, %d calls failed, %v", got, failed, err)
		}
		if st := c.Stats(); st.WorkerID != 2 || st.Ring.LastError != nil {
			t.Errorf("Stats() = %+v", st)
		}
	})
}

// The next lease, which is taken long before it is used, is extended like the one in use.
func TestNextLeaseIsExtended(t *testing.T) {
	testkit.WithoutRace(t)
	synctest.Test(t, func(t *testing.T) {
		c := newCached(t, newExpiringAssigner(false), WithEpoch(bubbleEpoch), WithLayout(layout(t, 31, 22, 4)))
		failed := 0
		for begin := time.Now(); time.Since(begin) < 30*time.Minute; time.Sleep(5 * time.Millisecond) {
			if _, err := c.Next(); err != nil {
				failed++
			}
		}
		if st := c.Stats(); failed > 0 || st.Rollovers < 3 || st.WorkerID != int64(st.Rollovers)+1 {
			t.Errorf("%d takes failed in half an hour; %+v", failed, st)
		}
	})
}

// The next lease, which a burst has had taken, is extended when the burst is over, too. So it is not lost.
func TestNextLeaseIsExtendedAfterBurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCached(t, newExpiringAssigner(false), smallOptions(t, WithReserveAhead(20*time.Second))...)
		burst := func(seconds int) {
			for range 16 * seconds {
				next(t, c)
			}
			synctest.Wait()
		}
		burst(8) // far enough that the next lease is taken
		h := c.leases.Next()
		time.Sleep(10 * time.Minute)
		burst(16) // beyond the borrow limit
		if st := c.Stats(); h == nil || st.WorkerID != h.WorkerID() || st.LostLeases > 0 {
			t.Errorf("the worker ID of the next lease is not in use: %+v", st)
		}
	})
}

// If the lease and the next one both expire during an outage of the store, a third one replaces them,
// whether Reserve fails or only grants nothing more.
func TestLeaseAndNextLeaseAreLost(t *testing.T) {
	for _, silently := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			a := newExpiringAssigner(silently)
			var down atomic.Bool
			working := a.assign
			a.assign = func(ctx context.Context, n int64) (workerassign.Lease, error) {
				l, _ := working(ctx, n)
				return &fakeLease{id: n, reserve: func(ctx context.Context, until time.Time) (time.Time, error) {
					if down.Load() {
						return time.Time{}, errors.New("the store is down")
					}
					g, err := l.Reserve(ctx, until)
					return g.Until, err
				}}, nil
			}
			c := newCached(t, a, smallOptions(t, WithRolloverInterval(time.Minute))...)
			for range 16 * 8 { // far enough that the next lease is taken
				next(t, c)
			}
			synctest.Wait()
			down.Store(true)
			time.Sleep(10 * time.Minute)
			down.Store(false)
			time.Sleep(time.Minute)
			if got, failed, err := takeFor(t, c, time.Minute); got < 60*16 {
				t.Errorf("silently %v: %d UIDs in the minute after the outage, %d calls failed, %v", silently, got, failed, err)
			}
		})
	}
}

// A generator that was idle works again, although its leases are lost if they are not extended in time.
func TestGeneratorsSurviveIdleness(t *testing.T) {
	testkit.WithoutRace(t)
	long := testkit.Amount(30*time.Minute, 2*time.Hour, 20*time.Hour)
	for _, mode := range modes {
		for n := range 4 {
			silently, rollover := n%2 == 1, n > 1
			synctest.Test(t, func(t *testing.T) {
				g, err := mode.make(context.Background(), newExpiringAssigner(silently), smallOptions(t, WithRollover(rollover))...)
				if err != nil {
					t.Fatal(err)
				}
				defer g.Close()
				for _, idle := range []time.Duration{time.Second, time.Minute, long} {
					time.Sleep(idle)
					for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(100 * time.Millisecond) {
						_, err := g.Next()
						if err == nil {
							break
						}
						if time.Now().After(deadline) {
							t.Fatalf("%s, silently %v: after %v of idleness Next() = %v", mode.name, silently, idle, err)
						}
					}
				}
			})
		}
	}
}

// A lease that a rollover has replaced is released as used up to the end of its last UID's unit: another host may use its worker ID from
// then on.
func TestRolloverReleasesWhatWasUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		used := map[int64]time.Time{}
		c := newCached(t, &fakeAssigner{assign: func(_ context.Context, n int64) (workerassign.Lease, error) {
			return releaseRecorder{&fakeLease{id: n, reserve: func(_ context.Context, until time.Time) (time.Time, error) { return until, nil }},
				func(until time.Time) {
					mu.Lock()
					defer mu.Unlock()
					used[n] = until
				}}, nil
		}}, smallOptions(t)...)
		last := map[int64]time.Time{}
		for c.Stats().Rollovers < 4 {
			p := c.Parse(next(t, c))
			last[p.WorkerID] = p.Time
			time.Sleep(time.Millisecond)
		}
		for p := c.Parse(next(t, c)); p.WorkerID < 5; p = c.Parse(next(t, c)) { // what the ring still has
			last[p.WorkerID] = p.Time
		}
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		for n := range int64(4) {
			if want := last[n+1].Add(time.Second); !used[n+1].Equal(want) {
				t.Errorf("lease %d was released as used up to %v, want %v", n+1, used[n+1], want)
			}
		}
	})
}

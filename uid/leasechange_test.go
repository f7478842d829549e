package uid

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/leasing"
	"github.com/ringuid/ringuid/workerassign"
)

// releaseRecorder is a lease that passes the argument of Release to a function.
type releaseRecorder struct {
	workerassign.Lease
	onRelease func(used time.Time)
}

func (l releaseRecorder) Release(ctx context.Context, used time.Time) error {
	l.onRelease(used)
	return l.Lease.Release(ctx, used)
}

// A Default generator replaces a lost lease, whether Reserve fails or only grants nothing more. It
// releases the lost lease with the time that it used of it.
func TestDefaultReplacesALostLease(t *testing.T) {
	for _, silently := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var log bytes.Buffer
			var mu sync.Mutex
			lost := false
			used := map[int64]time.Time{}
			a := &fakeAssigner{assign: func(_ context.Context, n int64) (workerassign.Lease, error) {
				var granted time.Time
				l := &fakeLease{id: n, reserve: func(_ context.Context, until time.Time) (time.Time, error) {
					mu.Lock()
					defer mu.Unlock()
					if n > 1 || !lost {
						granted = until
					} else if !silently {
						return time.Time{}, errLeaseEnded
					}
					return granted, nil
				}}
				return releaseRecorder{l, func(until time.Time) {
					mu.Lock()
					defer mu.Unlock()
					used[n] = until
				}}, nil
			}}
			d := newDefault(t, a, smallOptions(t, logInto(&log))...)
			var last Parts
			for range 10 {
				last = d.Parse(next(t, d))
				time.Sleep(time.Second)
			}
			mu.Lock()
			lost = true
			mu.Unlock()
			for range 10 {
				before := time.Now()
				p := d.Parse(next(t, d))
				if took := time.Since(before); p.WorkerID == 1 && took > 0 || took > time.Second {
					t.Errorf("silently %v: %v was returned after %v", silently, p, took)
				}
				if p.WorkerID == 1 {
					last = p
				} else if p.Time.Before(before.Truncate(time.Second)) {
					t.Errorf("silently %v: %v at %v", silently, p, before)
				}
				time.Sleep(time.Second)
			}
			st := d.Stats()
			if st.WorkerID != 2 || st.Rollovers != 1 || st.Issued != 20 {
				t.Errorf("silently %v: Stats() = %+v", silently, st)
			}
			d.Close()
			mu.Lock()
			defer mu.Unlock()
			if want := last.Time.Add(time.Second); !used[1].Equal(want) {
				t.Errorf("silently %v: the lost lease was released as used up to %v, want %v", silently, used[1], want)
			}
			if n := strings.Count(log.String(), "changed to another one"); n != 1 {
				t.Errorf("silently %v: logged %d times: %s", silently, n, log.String())
			}
		})
	}
}

// The next lease may have the worker ID of the lost one, from an assigner that forgets its grants: no
// UID is a duplicate. It may begin later: the generator waits for that.
func TestDefaultNextLeaseBegins(t *testing.T) {
	for name, tt := range map[string]struct {
		id    func(n int64) int64
		later time.Duration
	}{
		"the same worker ID": {func(int64) int64 { return 9 }, 0},
		"later":              {func(n int64) int64 { return n }, 3500 * time.Millisecond},
		"the same, later":    {func(int64) int64 { return 9 }, 3500 * time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			lost := make([]atomic.Bool, 100)
			a := &fakeAssigner{assign: func(_ context.Context, n int64) (workerassign.Lease, error) {
				l := &fakeLease{id: tt.id(n), reserve: func(_ context.Context, until time.Time) (time.Time, error) {
					if lost[n].Load() {
						return time.Time{}, errLeaseEnded
					}
					return until, nil
				}}
				if n > 1 && tt.later > 0 {
					l.notBefore = time.Now().Add(tt.later)
				}
				return l, nil
			}}
			d := newDefault(t, a, smallOptions(t, WithReserveAhead(time.Second))...)
			seen := map[ID]bool{}
			for n := range int64(20) {
				for range 10 {
					id := next(t, d)
					if p := d.Parse(id); seen[id] || p.Time.After(time.Now()) {
						t.Fatalf("%s: %v, duplicate: %v, at %v", name, p, seen[id], time.Now())
					}
					seen[id] = true
				}
				if n%2 == 0 {
					lost[d.Stats().Rollovers+1].Store(true)
				}
				time.Sleep(time.Duration(n) * 300 * time.Millisecond)
			}
			if n := d.Stats().Rollovers; n < 3 {
				t.Errorf("%s: %d changes of the lease, want at least 3", name, n)
			}
		})
	}
}

// The same where UIDs have the wall clock's time, and the wall clock is set back after the change of
// the lease.
func TestDefaultNextLeaseOfTheSameWorkerID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lost atomic.Int64
		a := &fakeAssigner{assign: func(_ context.Context, n int64) (workerassign.Lease, error) {
			return &fakeLease{id: 9, reserve: func(_ context.Context, until time.Time) (time.Time, error) {
				if n <= lost.Load() {
					return time.Time{}, errLeaseEnded
				}
				return until, nil
			}}, nil
		}}
		clock := new(bubbleClock)
		d := newIdleDefault(t, a, smallOptions(t, WithClock(clock), WithRollback(Refuse()), WithReserveAhead(time.Second))...)
		seen := map[ID]bool{}
		for range 5 {
			for range 3 {
				id := next(t, d)
				if seen[id] {
					t.Fatalf("%v was returned twice", d.Parse(id))
				}
				seen[id] = true
				time.Sleep(time.Second)
			}
			// The lease is lost. No UID is taken from the next one before the clock is set back.
			l := d.lease.Load()
			lost.Add(1)
			time.Sleep(10 * time.Second)
			if err := d.leaseChanger.extend(context.Background(), l, d.clock.Unit(), d.clock.Elapsed()); err != nil && !errors.Is(err, errLeaseEnded) {
				t.Fatal(err)
			}
			for d.lease.Load() == l {
				d.leaseChanger.extend(context.Background(), l, d.clock.Unit(), d.clock.Elapsed())
			}
			clock.set(-13 * time.Second)
			for range 3 {
				if id, err := d.Next(); err == nil && seen[id] {
					t.Fatalf("%v was returned again, with the next lease", d.Parse(id))
				} else if err == nil {
					seen[id] = true
				}
			}
			clock.set(0)
		}
	})
}

// The wait for the next lease is by the clock that UIDs are stamped with. With WaitOut and Refuse this
// is the wall clock, which may be before the start of the lease when the generator's own clock has
// reached it.
func TestDefaultWaitsForTheNextLeaseByTheWallClock(t *testing.T) {
	for _, policy := range []RollbackPolicy{RideOut(), WaitOut(time.Second), Refuse()} {
		synctest.Test(t, func(t *testing.T) {
			granted := time.Now().Add(time.Minute)
			a := &fakeAssigner{assign: func(_ context.Context, n int64) (workerassign.Lease, error) {
				if n > 1 {
					return &fakeLease{id: n, notBefore: time.Now(), reserve: func(_ context.Context, until time.Time) (time.Time, error) {
						return until, nil
					}}, nil
				}
				return &fakeLease{id: n, reserve: func(context.Context, time.Time) (time.Time, error) { return granted, nil }}, nil
			}}
			clock := new(bubbleClock)
			d := newDefault(t, a, smallOptions(t, WithClock(clock), WithRollback(policy))...)
			next(t, d)
			time.Sleep(time.Hour)
			clock.set(-30 * time.Second)
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			done := make(chan struct{})
			go func() { // in bubble time, which passes only while all goroutines sleep
				defer close(done)
				time.Sleep(time.Microsecond)
				if n := d.Stats().RejectedTakes; n > 10 {
					t.Errorf("%v: a take was retried %d times within a microsecond", policy, n)
					cancel()
				}
			}()
			if _, err := d.NextContext(ctx); err != nil {
				t.Errorf("%v: Next() = %v", policy, err)
			}
			<-done
			if n := d.Stats().RejectedTakes; n > 100 {
				t.Errorf("%v: a take was retried %d times", policy, n)
			}
		})
	}
}

// A next lease that begins an hour later does not replace one that could not be extended only for a
// while.
func TestDefaultKeepsALeaseThatRecovers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var down atomic.Bool
		a := &fakeAssigner{assign: func(_ context.Context, n int64) (workerassign.Lease, error) {
			l := &fakeLease{id: n, reserve: func(_ context.Context, until time.Time) (time.Time, error) {
				if n == 1 && down.Load() {
					return time.Time{}, errLeaseEnded
				}
				return until, nil
			}}
			if n > 1 {
				l.notBefore = time.Now().Add(time.Hour)
			}
			return l, nil
		}}
		d := newDefault(t, a, smallOptions(t)...)
		next(t, d)
		down.Store(true)
		time.Sleep(time.Minute)
		time.AfterFunc(5*time.Second, func() { down.Store(false) })
		begin := time.Now()
		p := d.Parse(next(t, d))
		if took := time.Since(begin); p.WorkerID != 1 || took < 5*time.Second || took > 5*time.Second+leasing.MaxRetryPause {
			t.Errorf("%v was returned after %v", p, took)
		}
		// If the lease does not recover, the next one is used when it begins.
		down.Store(true)
		time.Sleep(30 * time.Minute)
		if p := d.Parse(next(t, d)); p.WorkerID != 2 || p.Time.After(time.Now()) {
			t.Errorf("%v at %v", p, time.Now())
		}
	})
}

// A next lease was taken long before it is needed, so that it must be extended first. A take returns as soon as that has happened, and
// does not wait for another try to extend the lost lease.
func TestDefaultNextLeaseIsExtended(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const answerTime = time.Second // between two tries to extend the lost lease
		var down, slow atomic.Bool
		a := &fakeAssigner{assign: func(_ context.Context, n int64) (workerassign.Lease, error) {
			l := &fakeLease{id: n, reserve: func(_ context.Context, until time.Time) (time.Time, error) {
				switch {
				case n == 1 && down.Load():
					return time.Time{}, errLeaseEnded
				case n == 2 && slow.Load():
					time.Sleep(answerTime)
				}
				return until, nil
			}}
			if n > 1 {
				l.notBefore = time.Now().Add(time.Hour)
			}
			return l, nil
		}}
		d := newIdleDefault(t, a, smallOptions(t)...)
		next(t, d)
		down.Store(true)
		time.AfterFunc(time.Minute, func() { down.Store(false) })
		time.Sleep(50 * time.Second)
		next(t, d) // has taken the next lease meanwhile
		time.Sleep(2 * time.Hour)
		down.Store(true)
		slow.Store(true)
		begin := time.Now()
		p := d.Parse(next(t, d))
		if took := time.Since(begin); p.WorkerID != 2 || took != answerTime || a.calls.Load() != 2 {
			t.Errorf("%v was returned after %v, and %d leases were taken", p, took, a.calls.Load())
		}
	})
}

// Many takes find at the same time that the lease is lost. It is replaced once, and no UID is a duplicate.
func TestDefaultReplacesALostLeaseOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lost atomic.Bool
		a := newLosableAssigner(&lost)
		d := newIdleDefault(t, a, smallOptions(t)...)
		next(t, d)
		lost.Store(true)
		time.Sleep(time.Minute)
		ids := make(chan ID, 16*20)
		var all sync.WaitGroup
		for range 16 {
			all.Go(func() {
				for range 20 {
					id, err := d.Next()
					if err != nil {
						t.Error(err)
					}
					ids <- id
				}
			})
		}
		all.Wait()
		close(ids)
		seen := map[ID]bool{}
		for id := range ids {
			if seen[id] || d.Parse(id).WorkerID != 2 {
				t.Errorf("%v, seen before: %v", d.Parse(id), seen[id])
			}
			seen[id] = true
		}
		if st := d.Stats(); st.Rollovers != 1 || a.calls.Load() != 2 {
			t.Errorf("%d leases were taken; Stats() = %+v", a.calls.Load(), st)
		}
	})
}

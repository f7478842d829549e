package uid

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/leaktest"
	"github.com/ringuid/ringuid/internal/leasing"
	"github.com/ringuid/ringuid/internal/uniq"
	"github.com/ringuid/ringuid/workerassign"
)

// usedLease is a lease that keeps what it was told at Release.
type usedLease struct {
	workerassign.Lease
	released func(used time.Time)
}

func (l usedLease) Release(ctx context.Context, used time.Time) error {
	l.released(used)
	return l.Lease.Release(ctx, used)
}

// A Default generator whose lease is lost takes another, whether the assigner says so or just grants
// nothing more, and gives the lost one back with what it has used of it.
func TestDefaultReplacesALostLease(t *testing.T) {
	for _, silently := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var log bytes.Buffer
			var mu sync.Mutex
			lost := false
			used := map[int64]time.Time{}
			a := &maker{make: func(_ context.Context, n int64) (workerassign.Lease, error) {
				var granted time.Time
				l := &made{id: n, reserve: func(_ context.Context, until time.Time) (time.Time, error) {
					mu.Lock()
					defer mu.Unlock()
					if n > 1 || !lost {
						granted = until
					} else if !silently {
						return time.Time{}, errEnded
					}
					return granted, nil
				}}
				return usedLease{l, func(until time.Time) {
					mu.Lock()
					defer mu.Unlock()
					used[n] = until
				}}, nil
			}}
			d := newDefault(t, a, small(t, WithLogger(slog.New(slog.NewTextHandler(&log, nil))))...)
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
					t.Errorf("silently %v: %v took %v", silently, p, took)
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
				t.Errorf("silently %v: the lost lease was given back as used up to %v, want %v", silently, used[1], want)
			}
			if n := strings.Count(log.String(), "changed to another one"); n != 1 {
				t.Errorf("silently %v: logged %d times: %s", silently, n, log.String())
			}
		})
	}
}

// No generator dies of idleness, with leases that are lost when they are not extended in time.
func TestIdlenessIsOutlived(t *testing.T) {
	for _, mode := range modes {
		for n := range 4 {
			silently, rollover := n%2 == 1, n > 1
			synctest.Test(t, func(t *testing.T) {
				g, err := mode.make(context.Background(), expiring(silently), small(t, WithRollover(rollover))...)
				if err != nil {
					t.Fatal(err)
				}
				defer g.Close()
				for _, idle := range []time.Duration{time.Second, time.Minute, 20 * time.Hour} {
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

// A lease that has the worker ID of the lost one, as of an assigner that forgets its grants, makes no
// UID again, and one that begins later is waited for.
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
			a := &maker{make: func(_ context.Context, n int64) (workerassign.Lease, error) {
				l := &made{id: tt.id(n), reserve: func(_ context.Context, until time.Time) (time.Time, error) {
					if lost[n].Load() {
						return time.Time{}, errEnded
					}
					return until, nil
				}}
				if n > 1 && tt.later > 0 {
					l.from = time.Now().Add(tt.later)
				}
				return l, nil
			}}
			d := newDefault(t, a, small(t, WithReserveAhead(time.Second))...)
			seen := map[ID]bool{}
			for n := range int64(20) {
				for range 10 {
					id := next(t, d)
					if p := d.Parse(id); seen[id] || p.Time.After(time.Now()) {
						t.Fatalf("%s: %v, twice: %v, at %v", name, p, seen[id], time.Now())
					}
					seen[id] = true
				}
				if n%2 == 0 {
					lost[d.Stats().Rollovers+1].Store(true)
				}
				time.Sleep(time.Duration(n) * 300 * time.Millisecond)
			}
			if n := d.Stats().Rollovers; n < 3 {
				t.Errorf("%s: %d changes", name, n)
			}
		})
	}
}

// Where the generator stamps the wall clock's time, a lease with the worker ID of the lost one makes no
// UID again either, when the wall clock is set back after the change.
func TestDefaultNextLeaseOfTheSameWorkerID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lost atomic.Int64
		a := &maker{make: func(_ context.Context, n int64) (workerassign.Lease, error) {
			return &made{id: 9, reserve: func(_ context.Context, until time.Time) (time.Time, error) {
				if n <= lost.Load() {
					return time.Time{}, errEnded
				}
				return until, nil
			}}, nil
		}}
		clock := new(bubbleClock)
		d := newDefault(t, a, small(t, WithClock(clock), WithRollback(Refuse()), WithReserveAhead(time.Second))...)
		seen := map[ID]bool{}
		for range 5 {
			for range 3 {
				id := next(t, d)
				if seen[id] {
					t.Fatalf("%v came twice", d.Parse(id))
				}
				seen[id] = true
				time.Sleep(time.Second)
			}
			// The lease is lost. Nothing is stamped with the next one before the clock is set back.
			lost.Add(1)
			time.Sleep(10 * time.Second)
			l := d.lease.Load()
			if err := d.leaseChanger.extend(context.Background(), l, d.clock.Unit(), d.clock.Elapsed()); err != nil && !errors.Is(err, errEnded) {
				t.Fatal(err)
			}
			for d.lease.Load() == l {
				d.leaseChanger.extend(context.Background(), l, d.clock.Unit(), d.clock.Elapsed())
			}
			clock.set(-13 * time.Second)
			for range 3 {
				if id, err := d.Next(); err == nil && seen[id] {
					t.Fatalf("%v came again with the next lease", d.Parse(id))
				} else if err == nil {
					seen[id] = true
				}
			}
			clock.set(0)
		}
	})
}

// A next lease is waited for by the clock that UIDs are stamped with: the wall clock under WaitOut and Refuse,
// which may be set back to before it when the generator's own clock has reached it.
func TestDefaultWaitsForTheNextLeaseByTheWallClock(t *testing.T) {
	for _, policy := range []RollbackPolicy{RideOut(), WaitOut(time.Second), Refuse()} {
		synctest.Test(t, func(t *testing.T) {
			granted := time.Now().Add(time.Minute)
			a := &maker{make: func(_ context.Context, n int64) (workerassign.Lease, error) {
				if n > 1 {
					return &made{id: n, from: time.Now(), reserve: func(_ context.Context, until time.Time) (time.Time, error) {
						return until, nil
					}}, nil
				}
				return &made{id: n, reserve: func(context.Context, time.Time) (time.Time, error) { return granted, nil }}, nil
			}}
			clock := new(bubbleClock)
			d := newDefault(t, a, small(t, WithClock(clock), WithRollback(policy))...)
			next(t, d)
			time.Sleep(time.Hour)
			clock.set(-30 * time.Second)
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			done := make(chan struct{})
			go func() { // in time that only passes when all sleep
				defer close(done)
				time.Sleep(time.Microsecond)
				if n := d.Stats().RejectedTakes; n > 10 {
					t.Errorf("%v: a take looked %d times within a microsecond", policy, n)
					cancel()
				}
			}()
			if _, err := d.NextContext(ctx); err != nil {
				t.Errorf("%v: Next() = %v", policy, err)
			}
			<-done
			if n := d.Stats().RejectedTakes; n > 100 {
				t.Errorf("%v: a take looked %d times", policy, n)
			}
		})
	}
}

// A next lease that begins an hour later does not take the place of one that could not be extended for a
// while only.
func TestDefaultKeepsALeaseThatRecovers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var down atomic.Bool
		a := &maker{make: func(_ context.Context, n int64) (workerassign.Lease, error) {
			l := &made{id: n, reserve: func(_ context.Context, until time.Time) (time.Time, error) {
				if n == 1 && down.Load() {
					return time.Time{}, errEnded
				}
				return until, nil
			}}
			if n > 1 {
				l.from = time.Now().Add(time.Hour)
			}
			return l, nil
		}}
		d := newDefault(t, a, small(t)...)
		next(t, d)
		down.Store(true)
		time.Sleep(time.Minute)
		time.AfterFunc(5*time.Second, func() { down.Store(false) })
		begin := time.Now()
		p := d.Parse(next(t, d))
		if took := time.Since(begin); p.WorkerID != 1 || took < 5*time.Second || took > 5*time.Second+leasing.MaxRetryPause {
			t.Errorf("%v, after %v", p, took)
		}
		// If it does not, the next one's time comes.
		down.Store(true)
		time.Sleep(30 * time.Minute)
		if p := d.Parse(next(t, d)); p.WorkerID != 2 || p.Time.After(time.Now()) {
			t.Errorf("%v at %v", p, time.Now())
		}
	})
}

// However many wait, the assigner is asked one thing at a time, and with growing pauses where it
// grants nothing.
func TestDefaultWaitersShareATry(t *testing.T) {
	for _, takers := range []int{1, 8, 200} {
		synctest.Test(t, func(t *testing.T) {
			var asked, together, asking atomic.Int64
			var granting atomic.Bool
			granting.Store(true)
			var mu sync.Mutex
			var granted time.Time
			d := newDefault(t, &maker{make: func(context.Context, int64) (workerassign.Lease, error) {
				return &made{id: 1, reserve: func(ctx context.Context, until time.Time) (time.Time, error) {
					if asking.Add(1) > 2 { // one lease is to be extended, and another one to be had
						together.Add(1)
					}
					defer asking.Add(-1)
					asked.Add(1)
					time.Sleep(time.Millisecond)
					mu.Lock()
					defer mu.Unlock()
					if granting.Load() {
						granted = until
					}
					return granted, nil
				}}, nil
			}}, small(t)...)
			next(t, d)
			granting.Store(false)
			time.Sleep(10 * time.Second)
			asked.Store(0)
			var all sync.WaitGroup
			for n := range takers {
				all.Go(func() {
					time.Sleep(time.Duration(n) * 137 * time.Microsecond)
					ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
					defer cancel()
					for ctx.Err() == nil {
						if id, err := d.NextContext(ctx); err == nil {
							t.Errorf("%v was not granted", d.Parse(id))
						}
						time.Sleep(20 * time.Millisecond)
					}
				})
			}
			all.Wait()
			if n := asked.Load(); n > 40 || together.Load() > 0 {
				t.Errorf("%d takers: the store was asked %d times in 10 s, %d times more than two things at once", takers, n, together.Load())
			}
			granting.Store(true)
			time.Sleep(leasing.MaxRetryPause + time.Second)
			next(t, d)
		})
	}
}

// Who waits for the next lease to be taken is woken when it is there, by the context and by Close.
func TestDefaultWaitsForTheNextLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		leaktest.Check(t)
		hang := make(chan struct{})
		a := expiring(false)
		working := a.make
		a.make = func(ctx context.Context, n int64) (workerassign.Lease, error) {
			if n > 1 {
				select {
				case <-hang:
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			}
			return working(ctx, n)
		}
		d := newDefault(t, a, small(t)...)
		time.Sleep(time.Hour)
		begin := time.Now()
		var all sync.WaitGroup
		var got atomic.Int64
		for range 200 {
			all.Go(func() {
				if _, err := d.Next(); err != nil {
					t.Errorf("Next() = %v", err)
				}
				got.Add(1)
			})
		}
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
		defer cancel()
		if id, err := d.NextContext(ctx); !errors.Is(err, context.DeadlineExceeded) || id != 0 || time.Since(begin) != 3*time.Second {
			t.Errorf("NextContext() = %d, %v, after %v", id, err, time.Since(begin))
		}
		time.Sleep(time.Second)
		if got.Load() != 0 {
			t.Errorf("%d UIDs, and no lease", got.Load())
		}
		close(hang)
		all.Wait()
		if n := a.asked.Load(); n != 2 {
			t.Errorf("%d leases were taken for 200 waiters, want 2", n)
		}
		hang = make(chan struct{})
		time.Sleep(time.Hour)
		for range 3 {
			all.Go(func() {
				if id, err := d.Next(); err != ErrClosed || id != 0 {
					t.Errorf("Next() = %d, %v; want ErrClosed", id, err)
				}
			})
		}
		time.Sleep(time.Second)
		d.Close()
		all.Wait()
	})
}

// slots is a store of few worker IDs that are used again: a lease begins where the last grant of its
// worker ID ended, which Release brings forward to what was used. Leases are lost at random.
type slots struct {
	mu    sync.Mutex
	rnd   *rand.Rand
	slots [4]struct {
		until  time.Time
		holder *slot
	}
	lost, released int
}

type slot struct {
	*slots
	n    int
	from time.Time
	gone bool // lost, and who holds it was not told
}

var errNoSlot = errors.New("no slot is free")

func (s *slots) Assign(context.Context, workerassign.Request) (workerassign.Lease, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.rnd.Perm(len(s.slots)) {
		if s.slots[n].holder == nil {
			l := &slot{slots: s, n: n, from: s.slots[n].until}
			s.slots[n].holder = l
			return l, nil
		}
	}
	return nil, errNoSlot
}

func (l *slot) WorkerID() int64      { return int64(l.n) + 1 }
func (l *slot) NotBefore() time.Time { return l.from }

func (l *slot) Reserve(_ context.Context, until time.Time) (time.Time, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := &l.slots.slots[l.n]
	if !l.gone && l.rnd.IntN(3) == 0 {
		l.gone = true
		l.lost++
	}
	switch {
	case at.holder != l:
		return time.Time{}, errors.New("given back already")
	case l.gone && l.rnd.IntN(2) == 0:
		return time.Time{}, errEnded
	case l.gone:
		return at.until, nil
	}
	if until.After(at.until) {
		at.until = until
	}
	return at.until, nil
}

func (l *slot) Release(_ context.Context, used time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := &l.slots.slots[l.n]
	if at.holder == l {
		at.holder = nil
		at.until = l.from
		if used.After(l.from) {
			at.until = used
		}
		l.released++
	}
	return nil
}

// Invariants 1 to 4 with leases that are lost at random: three generators on few worker IDs, each with
// several takers, which are closed and made again; a worker ID that is given back goes on at once with
// the unit after the last one used.
func TestInvariant1DefaultLosesLeases(t *testing.T) {
	time.Sleep(time.Millisecond) // the runtime opens its poller with the first timer
	leaktest.Check(t)
	total := int64(60_000)
	if testing.Short() || raceEnabled {
		total = 15_000
	}
	store := &slots{rnd: rand.New(rand.NewPCG(1, 9))}
	var (
		seen    uniq.Set
		got     atomic.Int64
		changes atomic.Uint64
		all     sync.WaitGroup
	)
	for range 3 {
		all.Go(func() {
			for got.Load() < total && !t.Failed() {
				d, err := NewDefault(context.Background(), store, silent(), WithLayout(layout(t, 41, 10, 4)), WithTimeUnit(time.Millisecond),
					WithReserveAhead(3*time.Millisecond))
				if err != nil {
					time.Sleep(time.Millisecond)
					continue
				}
				// Leases are lost all the time.
				d.leases.SetHooks(leasing.Hooks{
					Delay: func(context.Context, time.Duration) bool { return true },
					Pause: func(ctx context.Context, _ time.Duration) bool { return leasing.Sleep(ctx, time.Millisecond) },
				})
				var takers sync.WaitGroup
				for n := range 4 {
					takers.Go(func() {
						w, last, lastWorker := seen.Writer(), ID(-1), int64(-1)
						for m := 0; m < 3_000; m++ {
							ctx, cancel := context.WithTimeout(context.Background(), time.Duration(1+n*m%7)*time.Millisecond)
							id, err := d.NextContext(ctx)
							cancel()
							if err == ErrClosed {
								return
							}
							if err != nil {
								if !errors.Is(err, ErrLease) && !errors.Is(err, context.DeadlineExceeded) {
									t.Errorf("Next() = %v", err)
									return
								}
								continue
							}
							p := d.Parse(id)
							if !w.Add(int64(id)) {
								t.Errorf("%v came twice", p)
								return
							}
							if p.WorkerID == lastWorker && id <= last {
								t.Errorf("%v came after %v", p, d.Parse(last))
								return
							}
							last, lastWorker = id, p.WorkerID
							got.Add(1)
						}
					})
				}
				if got.Load()%2 == 0 {
					takers.Wait()
				} else {
					time.Sleep(20 * time.Millisecond)
				}
				changes.Add(d.Stats().Rollovers)
				if err := d.Close(); err != nil {
					t.Errorf("Close() = %v", err)
				}
				takers.Wait()
			}
		})
	}
	all.Wait()
	if seen.Len() != got.Load() || changes.Load() == 0 || store.lost == 0 {
		t.Errorf("%d UIDs are distinct of %d; %d leases lost, %d changes", seen.Len(), got.Load(), store.lost, changes.Load())
	}
	t.Logf("%d UIDs; %d leases lost, %d changes, %d given back", got.Load(), store.lost, changes.Load(), store.released)
}

// Stats().Issued never falls, and never exceeds what was issued: units begin, leases change, and Close
// comes meanwhile.
func TestDefaultIssuedNeverFalls(t *testing.T) {
	rounds := 30
	if testing.Short() {
		rounds = 5
	}
	for range rounds {
		store := &slots{rnd: rand.New(rand.NewPCG(1, 9))}
		var d *Default
		for err := error(ErrLease); err != nil; { // the first lease may be lost too
			d, err = NewDefault(context.Background(), store, silent(), WithLayout(layout(t, 41, 10, 4)), WithTimeUnit(time.Millisecond),
				WithReserveAhead(3*time.Millisecond))
		}
		d.leases.SetHooks(leasing.Hooks{Delay: func(context.Context, time.Duration) bool { return true }})
		var begun, got atomic.Uint64 // calls that were begun, and UIDs that were had
		var all, readers sync.WaitGroup
		stop := make(chan struct{})
		for range 3 {
			all.Go(func() {
				for {
					begun.Add(1)
					_, err := d.Next()
					if err == ErrClosed {
						return
					}
					if err == nil {
						got.Add(1)
					} else {
						begun.Add(^uint64(0))
					}
				}
			})
		}
		for range 2 {
			readers.Go(func() {
				for last := uint64(0); ; {
					n := d.Stats().Issued
					if most := begun.Load(); n < last || n > most {
						t.Errorf("Issued went from %d to %d, of %d that were begun", last, n, most)
						return
					}
					last = n
					select {
					case <-stop:
						return
					default:
					}
				}
			})
		}
		time.Sleep(15 * time.Millisecond)
		d.Close()
		all.Wait()
		close(stop)
		readers.Wait()
		if n := d.Stats().Issued; n != got.Load() {
			t.Errorf("%d were issued, and Issued is %d", got.Load(), n)
		}
	}
}

// Close works, or returns an error in bounded time, wherever it is called from: Reserve, Release,
// Assign, and the log handler. Everything ends when the caller has returned.
func TestDefaultCloseFromWithin(t *testing.T) {
	for _, from := range []string{"Reserve", "Release", "Assign", "the log"} {
		synctest.Test(t, func(t *testing.T) {
			leaktest.Check(t)
			var d *Default
			var armed atomic.Bool
			var inner atomic.Bool
			release := make(chan struct{})
			call := func(where string) {
				if where == from && armed.Load() && !inner.Load() {
					begin := time.Now()
					err := d.Close()
					if err != nil && !errors.Is(err, ErrBusy) {
						t.Errorf("from %s Close() = %v", from, err)
					}
					if took := time.Since(begin); took > closeWait {
						t.Errorf("from %s Close took %v", from, took)
					}
					if !inner.Swap(true) {
						close(release)
					}
				}
			}
			a := &maker{make: func(_ context.Context, n int64) (workerassign.Lease, error) {
				if n > 1 {
					call("Assign")
				}
				return &made{id: n, reserve: func(_ context.Context, until time.Time) (time.Time, error) {
					if armed.Load() {
						call("Reserve")
						return time.Time{}, errEnded
					}
					return until, nil
				}, release: func(context.Context) error {
					call("Release")
					return nil
				}}, nil
			}}
			handler := handlerFunc(func(slog.Record) { call("the log") })
			d = newDefault(t, a, small(t, WithLogger(slog.New(handler)))...)
			next(t, d)
			time.Sleep(time.Minute)
			armed.Store(true)
			if from == "Release" {
				go d.Close()
			} else {
				d.Next()
				d.Next()
			}
			<-release
			synctest.Wait()
			if err := d.Close(); err != nil {
				t.Errorf("after it was called from %s Close() = %v", from, err)
			}
			if _, err := d.Next(); err != ErrClosed {
				t.Errorf("Next() = %v, want ErrClosed", err)
			}
		})
	}
}

// handlerFunc is a log handler that calls a function for each record, under no lock of its own.
type handlerFunc func(slog.Record)

func (f handlerFunc) Enabled(context.Context, slog.Level) bool { return true }
func (f handlerFunc) Handle(_ context.Context, r slog.Record) error {
	f(r)
	return nil
}
func (f handlerFunc) WithAttrs([]slog.Attr) slog.Handler { return f }
func (f handlerFunc) WithGroup(string) slog.Handler      { return f }

// A log handler may take UIDs, and may panic, in every record that a Default generator writes.
func TestDefaultLogHandlerThatTakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d *Default
		var taken, records atomic.Int64
		handler := handlerFunc(func(slog.Record) {
			records.Add(1)
			if _, err := d.Next(); err == nil {
				taken.Add(1)
			}
			d.Stats()
			panic("the disk is full")
		})
		clock := new(bubbleClock)
		a := expiring(false)
		d = newDefault(t, a, small(t, WithClock(clock), WithLayout(layout(t, 25, 20, 4)), WithLogger(slog.New(handler)))...)
		next(t, d)
		clock.set(-time.Hour)
		time.Sleep(2 * time.Second)
		next(t, d)
		time.Sleep(30 * 24 * time.Hour) // the lease is lost, and the end is a year ahead
		next(t, d)
		d.cfg.log.Flush(time.Minute)
		if taken.Load() < 3 || d.Stats().Rollbacks != 1 || d.Stats().Rollovers != 1 {
			t.Errorf("%d records, %d UIDs were taken by the handler; %+v", records.Load(), taken.Load(), d.Stats())
		}
	})
}

// The fast path ends with the unit, to the nanosecond.
func TestDefaultUnitsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(123456789)
		d := newDefault(t, new(numbers), WithEpoch(bubbleEpoch), WithTwitterLayout())
		if !d.useMonotonic {
			t.Fatal("the fast path is not used")
		}
		for range 2_000 {
			unit := time.Now().Truncate(time.Millisecond)
			for sequence := range int64(3) {
				if p := d.Parse(next(t, d)); !p.Time.Equal(unit) || p.Sequence != sequence {
					t.Fatalf("%v at %v", p, time.Now())
				}
				if sequence == 1 {
					time.Sleep(time.Until(unit.Add(time.Millisecond - 1)))
				}
			}
			time.Sleep(time.Nanosecond)
		}
		if n := d.Stats().Issued; n != 6_000 {
			t.Errorf("%d were issued, want 6000", n)
		}
	})
}

// A lease that is sealed gives no UID any more, and says what was used of it.
func TestSealedDefaultLease(t *testing.T) {
	layout := layout(t, 31, 20, 4)
	for _, tt := range []struct{ worker, begin, last, used, issued int64 }{
		{1, 5, 0, 5, 0},                // nothing was stamped
		{1, 0, 0, 0, 0},                // from the first unit on
		{0, 0, 0, 0, 0},                // where 0 is no UID
		{1, 5, 5 << 4, 6, 1},           // one
		{1, 5, 5<<4 + 15, 6, 16},       // a whole unit
		{0, 0, 15, 1, 15},              // a whole unit, but for 0
		{0, 0, 1 << 4, 2, 1},           // the unit after it
		{1, 5, 1<<35 - 1, 1 << 31, 16}, // the last of all
	} {
		l := newDefaultLease(layout, leasing.NewHeldLease(tt.worker, tt.begin), tt.begin, 0)
		if tt.last != 0 {
			l.last.Store(tt.last)
		}
		d := &Default{seqMask: layout.MaxSequence()}
		d.lease.Store(l)
		d.leaseChanger.lease = &d.lease
		l.unitEnd.Store(1 << 62)
		for range 2 {
			if used, past := d.leaseChanger.seal().used(), d.leaseChanger.past.Load(); used != tt.used || past != tt.issued {
				t.Errorf("%+v: used up to %d, %d issued", tt, used, past)
			}
		}
		if id, ok := d.take(); ok {
			t.Errorf("%+v: %d came of a sealed lease", tt, id)
		}
	}
}

package recycled_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/assigntest"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// A full pool is an error that says how many worker IDs are held, which one is the greatest of the layout, and when
// the next one becomes free. If that is before the deadline, Assign waits for it.
func TestPoolFull(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.max = 9
		var leases []workerassign.Lease
		for n := range 10 {
			l := f.assign(f.assigner())
			f.reserve(l, time.Duration(30+n)*time.Second)
			leases = append(leases, l)
		}
		first := f.slot(leases[0].WorkerID()).FreeAt
		started := time.Now()
		ctx, cancel := withTimeout(f, 20*time.Second)
		defer cancel()
		_, err := f.assigner().Assign(ctx, f.request())
		var full *recycled.PoolFullError
		if !errors.As(err, &full) || !errors.Is(err, recycled.ErrPoolFull) {
			f.Fatalf("Assign from a full pool returned %v, want a *PoolFullError", err)
		}
		want := "10 are held, and the greatest worker ID of the layout is 9; the next one becomes free at " + first.UTC().Format(time.RFC3339Nano)
		if full.Held != 10 || full.MaxWorkerID != 9 || !full.NextFree.Equal(first) || !strings.Contains(err.Error(), want) {
			f.Errorf("the error is %v, with %+v; want %q", err, full, want)
		}
		if waited := time.Since(started); waited > time.Second {
			f.Errorf("Assign returned after %v; must return at once, because none becomes free within the deadline", waited)
		}
		ctx, cancel = withTimeout(f, time.Minute)
		defer cancel()
		l, err := f.assigner().Assign(ctx, f.request())
		if err != nil || l.WorkerID() != leases[0].WorkerID() {
			f.Fatalf("Assign that waits returned %v, %v; want worker ID %d", l, err, leases[0].WorkerID())
		}
		if late := time.Since(first); late < 0 || late > 2*time.Second {
			f.Errorf("Assign returned %v after the slot became free, want at most 2 s", late)
		}
		// One that is released meanwhile is taken too.
		f.reserve(l, 70*time.Second)
		for _, l := range leases[1:] {
			l.Reserve(f.Context(), time.Now().Add(70*time.Second)) // some are lost
		}
		for {
			ctx, cancel := withTimeout(f, time.Millisecond)
			l, err := f.assigner().Assign(ctx, f.request())
			cancel()
			if err != nil {
				break
			}
			f.reserve(l, 70*time.Second)
			leases = append(leases, l)
		}
		last := leases[len(leases)-1]
		go func() {
			time.Sleep(5 * time.Second)
			f.release(last)
		}()
		started = time.Now()
		ctx, cancel = withTimeout(f, 100*time.Second)
		defer cancel()
		if l, err := f.assigner().Assign(ctx, f.request()); err != nil || l.WorkerID() != last.WorkerID() || time.Since(started) > 7*time.Second {
			f.Errorf("Assign returned %v, %v after %v; want worker ID %d, which was released after 5 s", l, err, time.Since(started), last.WorkerID())
		}
	})
}

// When all slots are held and nobody gives one up, Assign waits up to its deadline without many reads.
func TestPoolFullWaits(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.max = 3
		var leases []workerassign.Lease
		for range 4 {
			leases = append(leases, f.assign(f.assigner()))
		}
		stop := make(chan struct{})
		go func() { // the holders live on
			for {
				select {
				case <-stop:
					return
				case <-time.After(3 * time.Second):
					for _, l := range leases {
						f.reserve(l, 5*time.Second)
					}
				}
			}
		}()
		before := f.Counts()
		ctx, cancel := withTimeout(f, time.Minute)
		defer cancel()
		started := time.Now()
		_, err := f.assigner().Assign(ctx, f.request())
		if !errors.Is(err, recycled.ErrPoolFull) {
			f.Errorf("Assign returned %v, want ErrPoolFull", err)
		}
		reads := f.Counts().Reads - before.Reads
		f.Logf("Assign waited %v and read %d times", time.Since(started), reads)
		if waited := time.Since(started); waited < 30*time.Second || reads > 250 {
			f.Errorf("Assign returned after %v and %d reads; want about a minute and at most 250", waited, reads)
		}
		close(stop)
	})
}

// After a restart of the store, what was not released is free one grace later; the error says so.
func TestPoolFullAfterStart(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.max = 3
		for range 4 {
			f.assign(f.assigner())
		}
		time.Sleep(time.Hour)
		f.Failover(0)
		ctx, cancel := withTimeout(f, poolGrace/2)
		defer cancel()
		_, err := f.assigner().Assign(ctx, f.request())
		var full *recycled.PoolFullError
		if !errors.As(err, &full) {
			f.Fatalf("Assign returned %v, want a *PoolFullError", err)
		}
		f.wantTime("the time when the next one becomes free", full.NextFree, f.Dump().Pool.Since.Add(poolGrace))
		_, err = f.assigner(recycled.WithWorkerID(1)).Assign(ctx, f.request())
		var held *recycled.SlotHeldError
		if !errors.As(err, &held) {
			f.Fatalf("Assign of a worker ID returned %v, want a *SlotHeldError", err)
		}
		ctx, cancel = withTimeout(f, 2*poolGrace)
		defer cancel()
		if _, err := f.assigner().Assign(ctx, f.request()); err != nil {
			f.Errorf("Assign that waits for the grace: %v", err)
		}
	})
}

// A paused holder, whose slot another has taken, uses nothing beyond its grant and takes another slot.
func TestPausedHolder(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.max = 1
		paused, other := f.assign(f.assigner()), f.assign(f.assigner())
		granted := f.reserve(paused, 30*time.Second)
		f.reserve(other, 70*time.Second)
		time.Sleep(10 * time.Minute)
		thief := f.assign(f.assigner(recycled.WithWorkerID(paused.WorkerID())))
		f.reserve(thief, time.Minute)
		before := f.slot(paused.WorkerID())
		for range 3 {
			until, err := paused.Reserve(f.Context(), time.Now().Add(time.Minute))
			if !errors.Is(err, workerassign.ErrLeaseLost) || until.Until.After(granted) {
				f.Fatalf("Reserve of the paused holder returned %v, %v; want ErrLeaseLost", until.Until, err)
			}
			for _, part := range []string{before.Holder.Host, before.Holder.Process, fmt.Sprint("worker ID ", paused.WorkerID())} {
				if !strings.Contains(err.Error(), part) {
					f.Errorf("the error %q does not say who has taken the slot (%q)", err, part)
				}
			}
		}
		if err := paused.Release(f.Context(), granted); err != nil || f.slot(paused.WorkerID()) != before {
			f.Errorf("Release of the paused holder returned %v and left %+v; must change nothing", err, f.slot(paused.WorkerID()))
		}
		if thief.NotBefore().Before(granted) {
			f.Errorf("the next lease begins at %v, before the end of the paused holder's grant %v", thief.NotBefore(), granted)
		}
		next := f.assign(f.assigner())
		if next.WorkerID() == paused.WorkerID() {
			f.Errorf("the paused holder's next lease has its former worker ID, which is held")
		}
	})
}

// The store is down for some time: Assign tries again until it is up, or its context ends.
func TestStoreDown(t *testing.T) {
	inFleet(t, func(f *fleet) {
		l := f.assign(f.assigner())
		f.Kill()
		ctx, cancel := withTimeout(f, 10*time.Second)
		defer cancel()
		_, err := f.assigner().Assign(ctx, f.request())
		var retry *workerassign.RetryError
		if !errors.As(err, &retry) || !errors.Is(err, assigntest.ErrDown) || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "memory store") {
			f.Errorf("Assign while the store is down returned %v; want a *RetryError with the store's error and its name", err)
		}
		if _, err := l.Reserve(f.Context(), time.Now().Add(time.Second)); !errors.Is(err, assigntest.ErrDown) {
			f.Errorf("Reserve while the store is down returned %v", err)
		}
		go func() {
			time.Sleep(5 * time.Second)
			f.Start()
		}()
		f.assign(f.assigner())
	}, assigntest.WithNoLoss())
}

// A store that is a moment behind makes Assign, Reserve and Release try again, with pauses.
func TestStaleReads(t *testing.T) {
	inFleet(t, func(f *fleet) {
		a := f.assigner()
		l := f.assign(a)
		f.reserve(l, time.Second)
		reads := func(what string, call func()) {
			before := f.Counts().Reads
			f.SetLag(1)
			go func() {
				time.Sleep(time.Second)
				f.SetLag(0)
			}()
			call()
			f.SetLag(0)
			if n := f.Counts().Reads - before; n > 200 {
				f.Errorf("%s read %d times within a second; must pause", what, n)
			}
			time.Sleep(2 * time.Second)
		}
		reads("Reserve", func() { f.reserve(l, 30*time.Second) })
		reads("Release", func() { f.release(l) })
		reads("Assign", func() { l = f.assign(a) })
		reads("RaiseFloor", func() {
			if err := a.RaiseFloor(f.Context(), time.Now()); err != nil {
				f.Error(err)
			}
		})
		// Without an end, they end with the context.
		l = f.assign(a)
		f.reserve(l, time.Second)
		f.SetLag(1)
		ctx, cancel := withTimeout(f, time.Second)
		defer cancel()
		if _, err := l.Reserve(ctx, time.Now().Add(20*time.Second)); !errors.Is(err, context.DeadlineExceeded) {
			f.Errorf("Reserve from a store that stays behind returned %v, want the error of its context", err)
		}
		if err := l.Release(ctx, time.Now()); !errors.Is(err, context.DeadlineExceeded) {
			f.Errorf("Release to a store that stays behind returned %v, want the error of its context", err)
		}
	})
}

// A store that is a moment behind does not cost a lease that was just taken.
func TestStaleReadAfterAssign(t *testing.T) {
	for _, free := range []bool{false, true} {
		inFleet(t, func(f *fleet) {
			f.assign(f.assigner())
			if free {
				f.fill(2)
			}
			l := f.assign(f.assigner())
			f.SetLag(1)
			go func() {
				time.Sleep(20 * time.Millisecond)
				f.SetLag(0)
			}()
			f.reserve(l, time.Second)
			// If it stays behind, the lease is lost, because a backup may have been restored.
			f.SetLag(2)
			ctx, cancel := withTimeout(f, 10*time.Second)
			defer cancel()
			if _, err := l.Reserve(ctx, time.Now().Add(time.Minute)); !errors.Is(err, workerassign.ErrLeaseLost) || errors.Is(err, workerassign.ErrVoid) {
				f.Errorf("Reserve from a store that stays behind returned %v, want ErrLeaseLost, and not ErrVoid", err)
			}
		})
	}
}

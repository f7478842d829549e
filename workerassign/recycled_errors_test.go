package workerassign_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/bitsalloc"
	"github.com/ringuid/ringuid/internal/fakeclock"
	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/assigntest"
)

// wantError fails the test if err does not match target, or does not contain all texts.
func wantError(t *testing.T, what string, err, target error, texts ...string) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Errorf("%s: the error is %v; want one that matches %v", what, err, target)
		return
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("%s: the error is\n%v\nand does not contain\n%s", what, err, text)
		}
	}
}

// newGenerators constructs a generator of each kind, ends it, and returns the error of the last one.
func newGenerators(f *fleet, a func() workerassign.Assigner, opts ...uid.Option) error {
	opts = append([]uid.Option{uid.WithLogger(slog.New(slog.DiscardHandler)), uid.WithEpoch(time.Date(1999, 12, 31, 0, 0, 0, 0, time.UTC))}, opts...)
	c, err := uid.NewCached(f.Context(), a(), opts...)
	if err == nil {
		c.Close()
	}
	d, errOfDefault := uid.NewDefault(f.Context(), a(), opts...)
	if errOfDefault == nil {
		d.Close()
	}
	if (err == nil) != (errOfDefault == nil) {
		f.Errorf("NewCached returned %v, and NewDefault %v", err, errOfDefault)
	}
	return errors.Join(err, errOfDefault)
}

// Two fleets whose generators have different formats are on one pool. The constructor of the second fleet's
// generators returns an error that names both formats, in whatever they differ.
func TestTwoFleets(t *testing.T) {
	layout, err := bitsalloc.New(30, 20, 13)
	if err != nil {
		t.Fatal(err)
	}
	plain := func(a workerassign.Assigner) workerassign.Assigner { return a }
	for name, second := range map[string]struct {
		wrap func(workerassign.Assigner) workerassign.Assigner
		opts []uid.Option
	}{
		"layout": {plain, []uid.Option{uid.WithLayout(layout)}},
		"epoch":  {plain, []uid.Option{uid.WithEpoch(time.Date(1998, 1, 1, 0, 0, 0, 0, time.UTC))}},
		"unit":   {plain, []uid.Option{uid.WithTwitterLayout(), uid.WithMaxBorrow(time.Second)}},
		"prefix": {func(a workerassign.Assigner) workerassign.Assigner { return workerassign.Prefix(a, 3, 2) }, nil},
		"divide": {func(a workerassign.Assigner) workerassign.Assigner { return workerassign.Divide(a, 2) }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			inFleet(t, func(f *fleet) {
				assigner := func(wrap func(workerassign.Assigner) workerassign.Assigner) func() workerassign.Assigner {
					return func() workerassign.Assigner { return wrap(f.assigner()) }
				}
				if err := newGenerators(f, assigner(second.wrap), second.opts...); err != nil {
					f.Fatal(err)
				}
				other := f.Dump().Pool.Format
				f.Memory = assigntest.NewMemory()
				if err := newGenerators(f, assigner(plain)); err != nil {
					f.Fatal(err)
				}
				first := f.Dump().Pool.Format
				if first == other {
					f.Fatalf("both formats are %q", first)
				}
				err := newGenerators(f, assigner(second.wrap), second.opts...)
				wantError(t, name, err, workerassign.ErrPoolFormat,
					fmt.Sprintf("workerassign: the pool has another format: the pool's format is %q, and this generator's is %q; use another pool for another format", first, other))
				wantError(t, name, err, uid.ErrLease)
			})
		})
	}
}

// Hosts whose clocks are a day off: the constructors of their generators return an error with both times.
func TestHostADayOff(t *testing.T) {
	for _, off := range []time.Duration{24 * time.Hour, -24 * time.Hour} {
		inFleet(t, func(f *fleet) {
			host := time.Now().Add(off)
			err := newGenerators(f, func() workerassign.Assigner { return f.assigner() }, uid.WithClock(fakeclock.New(host)))
			wantError(t, off.String(), err, workerassign.ErrClockSkew, fmt.Sprintf(
				"workerassign: this host's clock and the store's clock differ: this host's clock shows %s, and the store's %s; must not differ by more than 5s: set the clock of the host or of the store",
				host.UTC().Format(time.RFC3339Nano), f.Dump().Now.UTC().Format(time.RFC3339Nano)))
			wantError(t, off.String(), err, uid.ErrLease)
			if f.Dump().Pool.Slots != 0 {
				f.Error("a host that was refused has taken a worker ID")
			}
		})
	}
}

// The whole texts of the errors of Recycled: each names the values that differ, and what to do.
func TestRecycledErrorTexts(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.max = 3
		assign := func(opts ...workerassign.RecycledOption) error {
			ctx, cancel := withTimeout(f, time.Second)
			defer cancel()
			_, err := f.assigner(opts...).Assign(ctx, f.request())
			return err
		}
		wantError(t, "no pool", f.assigner().RaiseFloor(f.Context(), time.Now()), workerassign.ErrPool,
			"workerassign: the pool is damaged: there is no pool in memory store whose floor could be raised")
		l := f.assign(f.assigner(workerassign.WithWorkerID(1), workerassign.WithName("orders-1")))
		until := f.reserve(l, time.Minute)
		h := f.slot(1).Holder
		holder := fmt.Sprintf(`"orders-1" (host %q, process %q)`, h.Host, h.Process)
		wantError(t, "first worker ID", assign(workerassign.WithFirstWorkerID(2)), workerassign.ErrPoolFormat,
			"workerassign: the pool has another format: the pool's first worker ID is 0, and this assigner's is 2; must be equal (WithFirstWorkerID)")
		wantError(t, "clock bound", assign(workerassign.WithClockBound(80*time.Second), workerassign.WithHorizon(81*time.Second)), workerassign.ErrOption,
			"the clock bound is 1m20s; must be less than the horizon of the pool, 1m15s")
		wantError(t, "beyond the layout", assign(workerassign.WithWorkerID(4)), workerassign.ErrWidth,
			"workerassign: worker ID too wide: the worker ID is 4; must be at most 3, the greatest of the layout")
		wantError(t, "held", assign(workerassign.WithWorkerID(1)), workerassign.ErrSlotHeld, fmt.Sprintf(
			"workerassign: the worker ID is held by another: worker ID 1 is held by %s since %s, and is granted until %s; it becomes free at %s: end that process, or wait",
			holder, h.Since.UTC().Format(time.RFC3339), until.UTC().Format(time.RFC3339Nano), until.Add(poolGrace).UTC().Format(time.RFC3339Nano)))
		f.Delete(0)
		wantError(t, "missing slot", assign(workerassign.WithWorkerID(0)), workerassign.ErrPool,
			"workerassign: the pool is damaged: the slot of worker ID 0 is missing, although slots 0 to 1 were added; slots must never be deleted: see doc/fleet.md")
	}, assigntest.WithNoLoss())
	inFleet(t, func(f *fleet) {
		f.assign(f.assigner())
		f.DeletePool()
		_, err := f.assigner(workerassign.WithWorkerID(0)).Assign(f.Context(), f.request())
		wantError(t, "missing pool", err, workerassign.ErrPool,
			"workerassign: the pool is damaged: the slot of worker ID 0 exists, although the pool has 0 slots: somebody deleted the pool's record; see doc/fleet.md")
	}, assigntest.WithNoLoss())
}

// A worker ID that nobody holds, but that cannot be used yet, is not said to be held: after RaiseFloor, and after a release
// of time in the future.
func TestSlotNotHeldText(t *testing.T) {
	wantNotHeld := func(f *fleet, err error, workerID int64, begin time.Time) {
		f.Helper()
		want := fmt.Sprintf("workerassign: worker ID %d is not held, but cannot be used before %s, which is the pool's floor or the end of an earlier grant: "+
			"wait until the store's clock and this host's clock show that time", workerID, begin.UTC().Format(time.RFC3339Nano))
		if !errors.Is(err, workerassign.ErrSlotHeld) || err.Error() != want {
			f.Errorf("the error is\n%v\nwant one that matches ErrSlotHeld:\n%s", err, want)
		}
	}
	inFleet(t, func(f *fleet) {
		f.assign(f.assigner(workerassign.WithWorkerID(3)))
		floor := time.Now().Add(time.Minute).Truncate(time.Millisecond)
		if err := f.assigner().RaiseFloor(f.Context(), floor); err != nil {
			f.Fatal(err)
		}
		for _, workerID := range []int64{1, 3} { // one that nobody has held, and one whose lease was ended
			ctx, cancel := withTimeout(f, time.Second)
			_, err := f.assigner(workerassign.WithWorkerID(workerID)).Assign(ctx, f.request())
			cancel()
			wantNotHeld(f, err, workerID, floor)
		}
	})
	inFleet(t, func(f *fleet) {
		a := f.assigner(workerassign.WithWorkerID(3))
		l := f.assign(a)
		until := f.reserve(l, time.Minute)
		if err := l.Release(f.Context(), until); err != nil {
			f.Fatal(err)
		}
		ctx, cancel := withTimeout(f, time.Second)
		defer cancel()
		_, err := a.Assign(ctx, f.request())
		wantNotHeld(f, err, 3, until)
	})
}

// A lease that is lost says why: who has its slot, or which two histories there are.
func TestLostLeaseTexts(t *testing.T) {
	inFleet(t, func(f *fleet) {
		l := f.assign(f.assigner())
		f.reserve(l, time.Second)
		time.Sleep(time.Minute)
		f.assign(f.assigner(workerassign.WithWorkerID(0), workerassign.WithName("orders-3")))
		h := f.slot(0).Holder
		_, err := l.Reserve(f.Context(), time.Now())
		wantError(t, "taken", err, workerassign.ErrLeaseLost, fmt.Sprintf("workerassign: the lease is lost: worker ID 0 was taken by %q (host %q, process %q) at %s",
			"orders-3", h.Host, h.Process, h.Since.UTC().Format(time.RFC3339Nano)))
		l = f.assign(f.assigner())
		before := f.slot(l.WorkerID()).History
		f.Failover(0)
		_, err = l.Reserve(f.Context(), time.Now())
		wantError(t, "history", err, workerassign.ErrLeaseLost, fmt.Sprintf(
			"workerassign: the lease is lost: worker ID %d was leased under the history %q of the store, which has now %q: another may have held it in between",
			l.WorkerID(), before, f.Dump().History))
		f.Flush()
		_, err = l.Reserve(f.Context(), time.Now())
		wantError(t, "flush", err, workerassign.ErrLeaseLost, fmt.Sprintf("the slot of worker ID %d is missing, and the pool has 0 slots", l.WorkerID()))
		wantError(t, "flush", err, workerassign.ErrPool)
	})
}

// A store that is down: the error says which one, how often Assign tried, and what to check.
func TestStoreDownTexts(t *testing.T) {
	inFleet(t, func(f *fleet) {
		l := f.assign(f.assigner())
		f.Kill()
		ctx, cancel := withTimeout(f, 10*time.Second)
		defer cancel()
		_, err := f.assigner().Assign(ctx, f.request())
		wantError(t, "Assign", err, workerassign.ErrGaveUp, "workerassign: gave up: take a slot of the pool in memory store: ", " attempts in 10s: "+context.DeadlineExceeded.Error(),
			"; the last attempt: "+assigntest.ErrDown.Error()+"; check whether the store is up and accepts writes")
		_, err = l.Reserve(f.Context(), time.Now().Add(time.Second))
		wantError(t, "Reserve", err, assigntest.ErrDown, "workerassign: cannot read the slot of worker ID 0 in memory store: ")
		wantError(t, "Release", l.Release(f.Context(), time.Now()), assigntest.ErrDown, "workerassign: cannot release the slot of worker ID 0 in memory store: ")
	})
}

// The errors of Saved name the file, and both values.
func TestSavedErrorTexts(t *testing.T) {
	inFleet(t, func(f *fleet) {
		path := filepath.Join(f.TempDir(), "lease")
		quiet := workerassign.WithLogger(slog.New(slog.DiscardHandler))
		saved := func(opts ...workerassign.RecycledOption) workerassign.Assigner {
			opts = append([]workerassign.RecycledOption{workerassign.WithHorizon(25 * time.Hour)}, opts...)
			return workerassign.Saved(f.assigner(opts...), path, quiet)
		}
		assign := func(a workerassign.Assigner, r workerassign.Request) error {
			l, err := a.Assign(f.Context(), r)
			if err == nil {
				f.Fatalf("Assign returned %+v", l)
			}
			return err
		}
		lease := func() workerassign.Lease {
			l, err := saved().Assign(f.Context(), f.request())
			if err != nil {
				f.Fatal(err)
			}
			return l
		}
		l := lease()
		wantError(t, "in use", assign(saved(), f.request()), workerassign.ErrInUse,
			"workerassign: worker ID in use: another process, or another assigner of this process, has "+path+": end it first, or use another file and another worker ID")
		until, err := l.Reserve(f.Context(), time.Now().Add(48*time.Hour))
		if err != nil {
			f.Fatal(err)
		}
		f.release(l) // used up to now; the file has that as the mark
		r := f.request()
		r.Format = "1-30-20-13"
		wantError(t, "format", assign(saved(), r), workerassign.ErrPoolFormat,
			fmt.Sprintf("workerassign: the pool has another format: the format in %s is %q, and this generator's is %q; use another file and another pool for another format",
				path, "1-28-22-13", "1-30-20-13"))
		wantError(t, "worker ID", assign(saved(workerassign.WithWorkerID(7)), f.request()), workerassign.ErrOption,
			path+" has a lease on worker ID 0, and this assigner's is 7 (WithWorkerID); use a file of its own for each worker ID")
		host := time.Now().Add(24 * time.Hour)
		r = f.request()
		r.Now = func() time.Time { return host }
		wantError(t, "clock", assign(saved(), r), workerassign.ErrClockSkew, fmt.Sprintf("this host's clock shows %s, and the store's %s; must not differ by more than 5s",
			host.UTC().Format(time.RFC3339Nano), f.Dump().Now.UTC().Format(time.RFC3339Nano)))
		// A generator has used the whole span, and the clocks have not moved on.
		l = lease()
		if until, err = l.Reserve(f.Context(), until); err != nil {
			f.Fatal(err)
		}
		if err := l.Release(f.Context(), until); err != nil {
			f.Fatal(err)
		}
		end := until.UTC().Format(time.RFC3339Nano)
		wantError(t, "used up", assign(saved(), f.request()), workerassign.ErrClockSkew,
			fmt.Sprintf("worker ID 0 is leased until %s, and must not be used before %s: set the clock of the host or of the store", end, end))
		if err := os.Remove(path); err != nil {
			f.Fatal(err)
		}
		wantError(t, "missing", assign(saved(), f.request()), workerassign.ErrCorrupt, path+" is missing, but its lock file shows that it existed: restore its latest content on this machine; "+
			"or make sure that no process uses the worker ID, and delete the file and its lock file")
	}, assigntest.WithNoLoss())
	inFleet(t, func(f *fleet) { // a horizon that is less than the span, for which both are named
		path := filepath.Join(f.TempDir(), "lease")
		_, err := workerassign.Saved(f.assigner(), path).Assign(f.Context(), f.request())
		wantError(t, "span", err, workerassign.ErrOption,
			"the span is 24h0m0s; must be at most the horizon of the pool in memory store, 1m15s: create the pool with WithHorizon of at least the span")
	})
}

// The errors of StaticFile name the file and both worker IDs.
func TestStaticFileErrorTexts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "static")
	l, err := workerassign.StaticFile(5, path, workerassign.WithNewFile()).Assign(t.Context(), workerassign.Request{})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Release(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	_, err = workerassign.StaticFile(6, path).Assign(t.Context(), workerassign.Request{})
	wantError(t, "another worker ID", err, workerassign.ErrOption, path+" belongs to worker ID 5, and this assigner's is 6; use a file of its own for each worker ID")
	_, err = l.Reserve(t.Context(), time.Now())
	wantError(t, "released", err, workerassign.ErrReleased, "workerassign: lease was released: static worker ID 5 may be in use by another generator")
}

package recycled_test

import (
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/ringuid/ringuid/bitsalloc"
	"github.com/ringuid/ringuid/internal/testkit/fakeclock"
	"github.com/ringuid/ringuid/internal/testkit/fleettest"
	"github.com/ringuid/ringuid/internal/testkit/leasetest"
	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/assigntest"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// newGenerators constructs a generator of each kind, ends it, and returns the error of the last one.
func newGenerators(f *fleet, a func() workerassign.Assigner, opts ...any) error {
	opts = append([]any{uid.WithLogger(slog.New(slog.DiscardHandler)), uid.WithEpoch(time.Date(1999, 12, 31, 0, 0, 0, 0, time.UTC))}, opts...)
	var errs [2]error
	for i, cached := range []bool{true, false} {
		g, err := fleettest.NewKind(f.Context(), a(), cached, opts...)
		if errs[i] = err; err == nil {
			g.Close()
		}
	}
	if (errs[0] == nil) != (errs[1] == nil) {
		f.Errorf("NewCached returned %v, and NewDefault %v", errs[0], errs[1])
	}
	return errors.Join(errs[:]...)
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
		opts []any
	}{
		"layout": {plain, []any{uid.WithLayout(layout)}},
		"epoch":  {plain, []any{uid.WithEpoch(time.Date(1998, 1, 1, 0, 0, 0, 0, time.UTC))}},
		"unit":   {plain, []any{uid.WithTwitterLayout(), uid.WithMaxBorrow(time.Second)}},
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
				leasetest.WantError(t, name, err, recycled.ErrPoolFormat,
					fmt.Sprintf("recycled: the pool has another format: the pool's format is %q, and this generator's is %q; for another format, use another pool as doc/time.md says", first, other))
				leasetest.WantError(t, name, err, uid.ErrLease)
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
			leasetest.WantError(t, off.String(), err, recycled.ErrClockSkew, fmt.Sprintf(
				"recycled: this host's clock and the store's clock differ: this host's clock shows %s, and the store's %s; must not differ by more than 5s: set the clock of the host or of the store; if both are right, restart this process, whose clock was ahead",
				host.UTC().Format(time.RFC3339Nano), f.Dump().Now.UTC().Format(time.RFC3339Nano)))
			leasetest.WantError(t, off.String(), err, uid.ErrLease)
			if f.Dump().Pool.Slots != 0 {
				f.Error("a host that was refused has taken a worker ID")
			}
		})
	}
}

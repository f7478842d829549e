package uid

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/fakeclock"
	"github.com/ringuid/ringuid/workerassign"
)

// If the clock is far beyond the end of the time bits, the shift into their place must not lose bits
// and return an early UID.
func TestInvariant5ClockFarBeyondTheEnd(t *testing.T) {
	testkit.WithoutRace(t)
	l := layout(t, 1, 1, 61)
	epoch := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for _, mode := range modes {
		fake := fakeclock.New(epoch)
		g, err := mode.make(context.Background(), new(disposableAssigner), WithLayout(l), WithEpoch(epoch.Add(-time.Second)), WithClock(fake),
			WithTakePolicy(Fail), WithRollover(false))
		if err != nil {
			t.Fatal(err)
		}
		fake.Advance(1 << 33 * time.Second / 8)
		testkit.Eventually(t, mode.name+" returns ErrTimeExhausted", func() bool {
			id, err := g.Next()
			for ; err == nil; id, err = g.Next() {
				if id < 0 || g.Parse(id).Delta > 1 {
					t.Fatalf("%s: Next() = %d", mode.name, id)
				}
			}
			return errors.Is(err, ErrTimeExhausted) && id == 0
		})
		g.Close()
	}
}

// The times of a lease do not overflow, however far away they are.
func TestInvariant5FarLeases(t *testing.T) {
	far := []time.Time{time.Unix(1<<62, 0), time.Unix(math.MaxInt64, 0), time.Unix(1<<63-62135596801, 999999999), workerassign.Unbounded()}
	for _, opts := range [][]any{{}, {WithTwitterLayout()}, {WithLayout(layout(t, 28, 2, 33))}} {
		for _, at := range far {
			for _, mode := range modes {
				g, err := mode.make(context.Background(), &fakeAssigner{assign: func(context.Context, int64) (workerassign.Lease, error) {
					return &fakeLease{id: 1, reserve: func(context.Context, time.Time) (time.Time, error) { return at, nil }}, nil
				}}, opts...)
				if err != nil {
					t.Fatal(err)
				}
				next(t, g)
				g.Close()
				if at == workerassign.Unbounded() && len(opts) == 0 {
					continue
				}
				expectConstructorError(t, mode.name, mode.make, &fakeAssigner{assign: func(context.Context, int64) (workerassign.Lease, error) {
					return &fakeLease{id: 1, notBefore: at}, nil
				}}, ErrTimeExhausted, "must not be used before", opts...)
			}
		}
	}
	// A lease that begins before the epoch begins with the epoch.
	for _, mode := range modes {
		g, err := mode.make(context.Background(), &fakeAssigner{assign: func(context.Context, int64) (workerassign.Lease, error) {
			return &fakeLease{id: 1, notBefore: time.Unix(math.MinInt64/2, 0)}, nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		next(t, g)
		g.Close()
	}
}

// UIDs are positive: worker ID 0 in the first unit of the epoch has one UID fewer.
func TestInvariant5NoUIDIsZero(t *testing.T) {
	for _, mode := range modes {
		fake := fakeclock.New(noon.Truncate(time.Second))
		g, err := mode.make(context.Background(), &fakeAssigner{assign: func(context.Context, int64) (workerassign.Lease, error) {
			return &fakeLease{id: 0}, nil
		}}, WithClock(fake), WithEpoch(fake.Now()), WithLayout(layout(t, 31, 2, 4)))
		if err != nil {
			t.Fatal(err)
		}
		for want := ID(1); want < 16; want++ {
			if id := next(t, g); id != want {
				t.Errorf("%s: %d, want %d", mode.name, id, want)
			}
		}
		if n := g.Stats().Issued; n != 15 {
			t.Errorf("%s: Stats().Issued = %d, want 15", mode.name, n)
		}
		fake.Advance(time.Second)
		if p := g.Parse(next(t, g)); p.Delta != 1 || p.Sequence != 0 || g.Stats().Issued != 16 {
			t.Errorf("%s: %v, %d UIDs issued", mode.name, p, g.Stats().Issued)
		}
		g.Close()
	}
}

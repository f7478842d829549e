package workerassign

import (
	"context"
	"testing"
	"time"
)

// boundedTestLease is a lease with a horizon.
type boundedTestLease struct {
	disposableLease
	horizon time.Duration
}

func (l boundedTestLease) Reserve(ctx context.Context, until time.Time) (Grant, error) {
	g, err := l.disposableLease.Reserve(ctx, until)
	g.Horizon = l.horizon
	return g, err
}

// leaseSource is an assigner that always returns the same lease.
type leaseSource struct{ lease Lease }

func (s leaseSource) Assign(context.Context, Request) (Lease, error) { return s.lease, nil }

// R6: the horizon of a lease is visible through Prefix and Divide, so that a generator reduces its borrow
// limit. A lease that is not bounded has the horizon 0 there.
func TestR6HorizonThroughWrappers(t *testing.T) {
	for _, inner := range []struct {
		lease Lease
		want  time.Duration
	}{{boundedTestLease{disposableLease{workerID: 3}, 70 * time.Second}, 70 * time.Second}, {disposableLease{workerID: 3}, 0}} {
		for name, wrap := range map[string]func(Assigner) Assigner{
			"Prefix":           func(a Assigner) Assigner { return Prefix(a, 1, 2) },
			"Divide":           func(a Assigner) Assigner { return Divide(a, 2) },
			"Prefix of Divide": func(a Assigner) Assigner { return Prefix(Divide(a, 2), 1, 2) },
		} {
			lease, err := wrap(leaseSource{inner.lease}).Assign(context.Background(), Request{MaxWorkerID: 1<<10 - 1})
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if g, err := lease.Reserve(t.Context(), time.Now()); err != nil || g.Horizon != inner.want {
				t.Errorf("%s: Reserve() of %T = %+v, %v; want a horizon of %v", name, lease, g, err, inner.want)
			}
		}
	}
}

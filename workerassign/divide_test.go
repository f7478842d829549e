package workerassign

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/uniq"
)

func TestDivide(t *testing.T) {
	ctx := context.Background()
	inner := from(3)
	a := Divide(inner, 2)
	var leases []Lease
	// A part is the upper bits, so part 0 is the other's worker ID itself.
	for _, want := range []int64{3, 256 + 3, 512 + 3, 768 + 3, 4, 256 + 4, 512 + 4, 768 + 4} {
		l, err := a.Assign(ctx, of10Bits)
		if err != nil || l.WorkerID() != want {
			t.Fatalf("worker ID %v, %v; want %d", l, err, want)
		}
		if until, err := l.Reserve(ctx, time.Now()); err != nil || !until.Equal(Unbounded()) || !l.NotBefore().IsZero() {
			t.Errorf("until %v, %v", until, err)
		}
		leases = append(leases, l)
	}
	if n := inner.assigned.Load(); n != 2 {
		t.Errorf("8 worker IDs of %d", n)
	}
	for i, l := range leases {
		for range 2 { // twice is harmless
			if err := l.Release(ctx, time.Time{}); err != nil {
				t.Error(err)
			}
		}
		if n := inner.released.Load(); n != int64(i+1)/4 {
			t.Errorf("%d were given back after %d parts", n, i+1)
		}
	}
	// The last that fits, and the first that does not.
	last := from(255)
	a = Divide(last, 2)
	for _, want := range []int64{255, 511, 767, 1023} {
		if l, err := a.Assign(ctx, of10Bits); err != nil || l.WorkerID() != want {
			t.Fatalf("worker ID %v, %v; want %d", l, err, want)
		}
	}
	if _, err := a.Assign(ctx, of10Bits); !errors.Is(err, ErrWidth) || last.released.Load() != 1 {
		t.Errorf("%v; %d leases were given back", err, last.released.Load())
	}
}

// A worker ID that cannot be extended any more is not divided further, and is given back when its
// parts are.
func TestDivideALostLease(t *testing.T) {
	ctx, gone := context.Background(), errors.New("gone")
	inner := from(1)
	a := Divide(assignerFunc(func(ctx context.Context, r Request) (Lease, error) {
		l, err := inner.Assign(ctx, Request{})
		if l.WorkerID() == 1 {
			return failing{Lease: l, err: gone}, err
		}
		return l, err
	}), 2)
	lost, err := a.Assign(ctx, of10Bits)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lost.Reserve(ctx, time.Now()); !errors.Is(err, gone) {
		t.Fatal(err)
	}
	next, err := a.Assign(ctx, of10Bits)
	if err != nil || next.WorkerID() != 2 {
		t.Fatalf("%v, %v; want a part of another", next, err)
	}
	if _, err := next.Reserve(ctx, time.Now()); err != nil || inner.released.Load() != 0 {
		t.Errorf("%v; %d were given back", err, inner.released.Load())
	}
	if err := lost.Release(ctx, time.Time{}); err != nil || inner.released.Load() != 1 {
		t.Errorf("%v; %d were given back", err, inner.released.Load())
	}
}

// failing is a lease that cannot be extended.
type failing struct {
	Lease
	err error
}

func (l failing) Reserve(context.Context, time.Time) (time.Time, error) { return time.Time{}, l.err }

// Invariant 1: however many ask at a time, no worker ID is given out twice.
func TestInvariant1Divide(t *testing.T) {
	a := Prefix(Divide(Divide(from(0), 3), 2), 1, 8)
	var seen uniq.Set
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			w := seen.Writer()
			for range 1_000 {
				l, err := a.Assign(context.Background(), Request{MaxWorkerID: 1<<40 - 1})
				if err != nil || !w.Add(l.WorkerID()) {
					t.Errorf("%v, %v", l, err)
					return
				}
			}
		})
	}
	all.Wait()
	if n := seen.Len(); n != 16_000 {
		t.Errorf("%d worker IDs", n)
	}
}

func TestDivideWaitsWithItsContext(t *testing.T) {
	blocked := make(chan struct{})
	defer close(blocked)
	asked := make(chan struct{}, 1)
	a := Divide(assignerFunc(func(context.Context, Request) (Lease, error) {
		asked <- struct{}{}
		<-blocked
		return disposableLease(1), nil
	}), 2)
	go a.Assign(context.Background(), of10Bits)
	<-asked
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := a.Assign(ctx, of10Bits); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

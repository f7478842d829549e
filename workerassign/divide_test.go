package workerassign

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/uniq"
)

func TestDivide(t *testing.T) {
	ctx := context.Background()
	inner := countFrom(3)
	a := Divide(inner, 2)
	var leases []Lease
	// A part is the upper bits, so part 0 is the other's worker ID itself.
	for _, want := range []int64{3, 256 + 3, 512 + 3, 768 + 3, 4, 256 + 4, 512 + 4, 768 + 4} {
		l, err := a.Assign(ctx, request10Bits)
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
	last := countFrom(255)
	a = Divide(last, 2)
	for _, want := range []int64{255, 511, 767, 1023} {
		if l, err := a.Assign(ctx, request10Bits); err != nil || l.WorkerID() != want {
			t.Fatalf("worker ID %v, %v; want %d", l, err, want)
		}
	}
	if _, err := a.Assign(ctx, request10Bits); !errors.Is(err, ErrWidth) || last.released.Load() != 1 {
		t.Errorf("%v; %d leases were given back", err, last.released.Load())
	}
}

// Invariant 1: however many ask at a time, no worker ID is given out twice.
func TestInvariant1Divide(t *testing.T) {
	a := Prefix(Divide(Divide(countFrom(0), 3), 2), 1, 8)
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
	go a.Assign(context.Background(), request10Bits)
	<-asked
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := a.Assign(ctx, request10Bits); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// The parts of one Divide are worker IDs of one width. Another width is refused: part 0 of a
// greater one may be a part of the smaller.
func TestInvariant1DivideOfTwoWidths(t *testing.T) {
	ctx := context.Background()
	inner := countFrom(255)
	a := Divide(inner, 2)
	seen := map[int64]bool{}
	widths := []int64{1023, 4095, 1023, 511, 1023, 1 << 40, 1023}
	for range 4 {
		for _, most := range widths {
			l, err := a.Assign(ctx, Request{MaxWorkerID: most})
			if err != nil {
				if most == widths[0] && !errors.Is(err, ErrWidth) || most != widths[0] && !errors.Is(err, ErrOption) {
					t.Errorf("of %d: %v", most, err)
				}
				continue
			}
			if id := l.WorkerID(); seen[id] || id > most || id < 0 {
				t.Errorf("of %d: worker ID %d was given out twice, or does not fit", most, id)
			}
			seen[l.WorkerID()] = true
		}
	}
	if len(seen) != 4 || inner.assigned.Load() != 13 { // one that fits, and one for each of the 12 that did not
		t.Errorf("%d worker IDs of %d", len(seen), inner.assigned.Load())
	}
}

// A store is asked once for each format, so that it can refuse the second one; the parts are
// apart all the same.
func TestDivideAsksForEachFormat(t *testing.T) {
	ctx := context.Background()
	inner, formats := countFrom(1), []string{}
	a := Divide(assignerFunc(func(ctx context.Context, r Request) (Lease, error) {
		formats = append(formats, r.Format)
		return inner.Assign(ctx, r)
	}), 1)
	for i, want := range []int64{1, 2, 513, 514, 3, 4} {
		l, err := a.Assign(ctx, Request{MaxWorkerID: 1023, Format: []string{"a", "b"}[i%2]})
		if err != nil || l.WorkerID() != want {
			t.Errorf("%v, %v; want %d", l, err, want)
		}
	}
	const x, y = "a; divided by 1 bits", "b; divided by 1 bits"
	if want := []string{x, y, x, y}; !slices.Equal(formats, want) {
		t.Errorf("asked for %q, want %q", formats, want)
	}
}

package workerassign

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit/uniq"
)

// Each worker ID of the store is leased in 2^bits parts, and released after the last part.
func TestDivide(t *testing.T) {
	ctx := context.Background()
	inner := countFrom(3)
	a := Divide(inner, 2)
	var leases []Lease
	// The upper bits hold the number of the part, so part 0 is the store's worker ID itself.
	for _, want := range []int64{3, 256 + 3, 512 + 3, 768 + 3, 4, 256 + 4, 512 + 4, 768 + 4} {
		l, err := a.Assign(ctx, request10Bits)
		if err != nil || l.WorkerID() != want {
			t.Fatalf("worker ID %v, %v; want %d", l, err, want)
		}
		if until, err := l.Reserve(ctx, time.Now()); err != nil || !until.Until.Equal(Unbounded()) || !l.NotBefore().IsZero() {
			t.Errorf("Reserve() = %v, %v; want Unbounded", until.Until, err)
		}
		leases = append(leases, l)
	}
	if n := inner.assigned.Load(); n != 2 {
		t.Errorf("8 parts are of %d worker IDs, want 2", n)
	}
	for i, l := range leases {
		for range 2 { // a second call has no effect
			if err := l.Release(ctx, time.Time{}); err != nil {
				t.Error(err)
			}
		}
		if n := inner.released.Load(); n != int64(i+1)/4 {
			t.Errorf("%d leases were released after %d parts", n, i+1)
		}
	}
	// The last worker ID that fits, and the first that does not.
	last := countFrom(255)
	a = Divide(last, 2)
	for _, want := range []int64{255, 511, 767, 1023} {
		if l, err := a.Assign(ctx, request10Bits); err != nil || l.WorkerID() != want {
			t.Fatalf("worker ID %v, %v; want %d", l, err, want)
		}
	}
	if _, err := a.Assign(ctx, request10Bits); !errors.Is(err, ErrWidth) || last.released.Load() != 1 {
		t.Errorf("Assign() = %v; %d leases were released; want ErrWidth and 1", err, last.released.Load())
	}
}

// Invariant 1: no worker ID is assigned twice, however many goroutines call Assign concurrently.
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
					t.Errorf("Assign() = %v, %v; want a new worker ID", l, err)
					return
				}
			}
		})
	}
	all.Wait()
	if n := seen.Len(); n != 16_000 {
		t.Errorf("%d worker IDs, want 16000", n)
	}
}

// An Assign that waits for another Assign returns when its context ends.
func TestDivideWaitEndsWithContext(t *testing.T) {
	blocked := make(chan struct{})
	defer close(blocked)
	asked := make(chan struct{}, 1)
	a := Divide(assignerFunc(func(context.Context, Request) (Lease, error) {
		asked <- struct{}{}
		<-blocked
		return disposableLease{workerID: 1}, nil
	}), 2)
	go a.Assign(context.Background(), request10Bits)
	<-asked
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := a.Assign(ctx, request10Bits); !errors.Is(err, context.Canceled) {
		t.Errorf("Assign() = %v, want context.Canceled", err)
	}
}

// All layouts of one Divide must have the same number of worker bits. With more bits, part 0 could be
// equal to another part with fewer bits.
func TestInvariant1DivideOfTwoWidths(t *testing.T) {
	ctx := context.Background()
	inner := countFrom(255)
	a := Divide(inner, 2)
	seen := map[int64]bool{}
	widths := []int64{1023, 4095, 1023, 511, 1023, 1 << 40, 1023}
	for range 4 {
		for _, maxID := range widths {
			l, err := a.Assign(ctx, Request{MaxWorkerID: maxID})
			if err != nil {
				if maxID == widths[0] && !errors.Is(err, ErrWidth) || maxID != widths[0] && !errors.Is(err, ErrOption) {
					t.Errorf("MaxWorkerID %d: Assign() = %v", maxID, err)
				}
				continue
			}
			if id := l.WorkerID(); seen[id] || id > maxID || id < 0 {
				t.Errorf("MaxWorkerID %d: worker ID %d was assigned twice, or does not fit", maxID, id)
			}
			seen[l.WorkerID()] = true
		}
	}
	if len(seen) != 4 || inner.assigned.Load() != 13 { // one that fits, and 12 that do not
		t.Errorf("%d parts of %d worker IDs, want 4 of 13", len(seen), inner.assigned.Load())
	}
}

// Divide takes a separate lease for each format, so that the store can refuse the second format. The
// worker IDs of both formats differ nevertheless.
func TestDivideLeasePerFormat(t *testing.T) {
	ctx := context.Background()
	inner, formats := countFrom(1), []string{}
	a := Divide(assignerFunc(func(ctx context.Context, r Request) (Lease, error) {
		formats = append(formats, r.Format)
		return inner.Assign(ctx, r)
	}), 1)
	for i, want := range []int64{1, 2, 513, 514, 3, 4} {
		l, err := a.Assign(ctx, Request{MaxWorkerID: 1023, Format: []string{"a", "b"}[i%2]})
		if err != nil || l.WorkerID() != want {
			t.Errorf("Assign() = %v, %v; want %d", l, err, want)
		}
	}
	const x, y = "a; divided by 1 bits", "b; divided by 1 bits"
	if want := []string{x, y, x, y}; !slices.Equal(formats, want) {
		t.Errorf("the store received the formats %q, want %q", formats, want)
	}
}

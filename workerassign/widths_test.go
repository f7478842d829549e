package workerassign

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/uniq"
)

// counted is an assigner of the numbers from a first one on, which counts its leases.
type counted struct {
	next, assigned, released atomic.Int64
	fail                     error
}

func (a *counted) Assign(context.Context) (Lease, error) {
	if a.fail != nil {
		return nil, a.fail
	}
	a.assigned.Add(1)
	return &countedLease{disposableLease: disposableLease(a.next.Add(1) - 1), counted: a}, nil
}

type countedLease struct {
	disposableLease
	*counted
}

func (l *countedLease) Release(context.Context) error {
	l.released.Add(1)
	return l.fail
}

func from(first int64) *counted {
	a := new(counted)
	a.next.Store(first)
	return a
}

func TestPrefix(t *testing.T) {
	ctx := context.Background()
	a := Prefix(from(7), 5, 5, 10) // Twitter's: five bits of data centre, five of worker
	for want := int64(5<<5 | 7); want < 6<<5; want++ {
		l, err := a.Assign(ctx)
		if err != nil || l.WorkerID() != want {
			t.Fatalf("worker ID %v, %v; want %d", l, err, want)
		}
	}
	inner := from(32)
	_, err := Prefix(inner, 5, 5, 10).Assign(ctx)
	if !errors.Is(err, ErrWidth) || !strings.Contains(err.Error(), "32 is not from 0 to 31") || inner.released.Load() != 1 {
		t.Errorf("%v; %d leases were given back", err, inner.released.Load())
	}
	broken := from(32)
	broken.fail = errors.New("broken")
	if _, err := Prefix(broken, 5, 5, 10).Assign(ctx); !errors.Is(err, broken.fail) {
		t.Errorf("%v", err)
	}
}

func TestDivide(t *testing.T) {
	ctx := context.Background()
	inner := from(3)
	a := Divide(inner, 2, 10)
	var leases []Lease
	for want := int64(3 << 2); want < 20; want++ {
		l, err := a.Assign(ctx)
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
			if err := l.Release(ctx); err != nil {
				t.Error(err)
			}
		}
		if n := inner.released.Load(); n != int64(i+1)/4 {
			t.Errorf("%d were given back after %d parts", n, i+1)
		}
	}
	// The last that fits, and the first that does not.
	last := from(255)
	a = Divide(last, 2, 10)
	for want := int64(1020); want < 1024; want++ {
		if l, err := a.Assign(ctx); err != nil || l.WorkerID() != want {
			t.Fatalf("worker ID %v, %v; want %d", l, err, want)
		}
	}
	if _, err := a.Assign(ctx); !errors.Is(err, ErrWidth) || last.released.Load() != 1 {
		t.Errorf("%v; %d leases were given back", err, last.released.Load())
	}
}

// Invariant 1: however many ask at a time, no worker ID is given out twice.
func TestInvariant1Divide(t *testing.T) {
	a := Prefix(Divide(Divide(from(0), 3, 30), 2, 32), 1, 8, 40)
	var seen uniq.Set
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			w := seen.Writer()
			for range 1_000 {
				l, err := a.Assign(context.Background())
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

// A lease that depends on the generator's clock does so through both.
func TestWrappedClockedAssigner(t *testing.T) {
	at := time.Date(2026, 11, 21, 1, 2, 3, 0, time.UTC)
	a, ok := Prefix(Divide(Static(1), 1, 4), 1, 1, 5).(ClockedAssigner)
	if !ok {
		t.Fatal("it hides that the assigner beneath is a ClockedAssigner")
	}
	l, err := a.AssignAt(context.Background(), func() time.Time { return at })
	if err != nil || l.WorkerID() != 1<<4|1<<1 || !l.NotBefore().Equal(at) {
		t.Fatalf("%v, %v", l, err)
	}
	if until, err := l.Reserve(context.Background(), at.Add(time.Hour)); err != nil || !until.Equal(at) {
		t.Errorf("granted until %v, %v", until, err)
	}
}

func TestDivideWaitsWithItsContext(t *testing.T) {
	blocked := make(chan struct{})
	defer close(blocked)
	asked := make(chan struct{}, 1)
	a := Divide(assignerFunc(func(context.Context) (Lease, error) {
		asked <- struct{}{}
		<-blocked
		return disposableLease(1), nil
	}), 2, 10)
	go a.Assign(context.Background())
	<-asked
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := a.Assign(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

type assignerFunc func(context.Context) (Lease, error)

func (f assignerFunc) Assign(ctx context.Context) (Lease, error) { return f(ctx) }

func TestD11Widths(t *testing.T) {
	inner := from(1)
	for name, a := range map[string]Assigner{
		"no bits":             Divide(inner, 0, 10),
		"all bits":            Divide(inner, 10, 10),
		"fewer than none":     Divide(inner, -1, 10),
		"too many":            Divide(inner, 2, 63),
		"no assigner":         Divide(nil, 2, 10),
		"no prefix bits":      Prefix(inner, 0, 0, 10),
		"all prefix bits":     Prefix(inner, 0, 10, 10),
		"negative widths":     Prefix(inner, 0, -5, -1),
		"prefix too great":    Prefix(inner, 32, 5, 10),
		"prefix below 0":      Prefix(inner, -1, 5, 10),
		"prefix, no assigner": Prefix(nil, 1, 5, 10),
	} {
		if l, err := a.Assign(context.Background()); !errors.Is(err, ErrOption) || l != nil {
			t.Errorf("%s: %v, %v", name, l, err)
		}
	}
	if n := inner.assigned.Load(); n != 0 {
		t.Errorf("%d worker IDs were spent", n)
	}
}

// Two data centres with a store each: the upper bits of the ten tell them apart.
func ExamplePrefix() {
	const dataCentre = 3
	lease, err := Prefix(Static(7), dataCentre, 5, 10).Assign(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(lease.WorkerID(), 3<<5|7)
	// Output: 103 103
}

// Four worker IDs of each of the store's, for a generator that rolls over often.
func ExampleDivide() {
	workers := Divide(Static(7), 2, 10)
	for range 4 {
		lease, err := workers.Assign(context.Background())
		if err != nil {
			log.Fatal(err)
		}
		fmt.Print(lease.WorkerID(), " ")
	}
	// Output: 28 29 30 31
}

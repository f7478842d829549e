package workerassign

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// countingAssigner assigns consecutive worker IDs, and counts its leases and releases.
type countingAssigner struct {
	next, assigned, released atomic.Int64
	err                      error
}

func (a *countingAssigner) Assign(_ context.Context, r Request) (Lease, error) {
	if a.err != nil {
		return nil, a.err
	}
	a.assigned.Add(1)
	return &countedLease{disposableLease: disposableLease{a.next.Add(1) - 1, r.MaxWorkerID}, countingAssigner: a}, nil
}

type countedLease struct {
	disposableLease
	*countingAssigner
}

func (l *countedLease) Release(context.Context, time.Time) error {
	l.released.Add(1)
	return l.err
}

// countFrom returns a countingAssigner that begins with a worker ID.
func countFrom(first int64) *countingAssigner {
	a := new(countingAssigner)
	a.next.Store(first)
	return a
}

type assignerFunc func(context.Context, Request) (Lease, error)

func (f assignerFunc) Assign(ctx context.Context, r Request) (Lease, error) { return f(ctx, r) }

// request10Bits is the request of a generator whose layout has ten worker bits.
var request10Bits = Request{MaxWorkerID: 1023}

// The wrapped assigner receives the request of the generator, with its own MaxWorkerID and Format.
func TestNestedRequest(t *testing.T) {
	at := time.Date(2026, 11, 21, 1, 2, 3, 0, time.UTC)
	r := Request{Now: func() time.Time { return at }, MaxWorkerID: 31, Format: "format", ReserveAhead: time.Minute, Logger: slog.New(slog.DiscardHandler)}
	var got Request
	a := Prefix(Divide(assignerFunc(func(ctx context.Context, r Request) (Lease, error) {
		got = r
		return Static(1).Assign(ctx, r)
	}), 2), 1, 1)
	l, err := a.Assign(context.Background(), r)
	if err != nil || l.WorkerID() != 1<<4|1 || !l.NotBefore().Equal(at.Add(1)) {
		t.Fatalf("Assign() = %v, %v", l, err)
	}
	if got.MaxWorkerID != 3 || got.ReserveAhead != r.ReserveAhead || got.Logger != r.Logger || !got.Time().Equal(at) || got.Format != "format; prefix 1 in 1 bits; divided by 2 bits" {
		t.Errorf("the wrapped assigner received %+v", got)
	}
	if until, err := l.Reserve(context.Background(), at.Add(time.Hour)); err != nil || !until.Until.Equal(at.Add(1)) {
		t.Errorf("Reserve() = %v, %v", until.Until, err)
	}
}

// D11: invalid numbers of bits and prefixes are errors, and use up no worker ID.
func TestD11Widths(t *testing.T) {
	inner := countFrom(1)
	for name, a := range map[string]Assigner{
		"no bits":              Divide(inner, 0),
		"all bits":             Divide(inner, 10),
		"negative bits":        Divide(inner, -1),
		"too many":             Divide(inner, 62),
		"no assigner":          Divide(nil, 2),
		"no prefix bits":       Prefix(inner, 0, 0),
		"all prefix bits":      Prefix(inner, 0, 10),
		"negative prefix bits": Prefix(inner, 0, -5),
		"prefix too great":     Prefix(inner, 32, 5),
		"negative prefix":      Prefix(inner, -1, 5),
		"no prefixed assigner": Prefix(nil, 1, 5),
	} {
		if l, err := a.Assign(context.Background(), request10Bits); !errors.Is(err, ErrOption) || l != nil {
			t.Errorf("%s: Assign() = %v, %v; want ErrOption", name, l, err)
		}
	}
	if n := inner.assigned.Load(); n != 0 {
		t.Errorf("%d worker IDs were used up, want 0", n)
	}
}

// The errors name the number of worker bits, and what is required.
func TestNestedErrorTexts(t *testing.T) {
	const releasing = "releasing its lease failed"
	failing := assignerFunc(func(context.Context, Request) (Lease, error) {
		l := &countedLease{disposableLease: disposableLease{workerID: 1 << 20}, countingAssigner: new(countingAssigner)}
		l.err = errLeaseGone
		return l, nil
	})
	divided := Divide(countFrom(1), 2)
	mustAssign(t, divided)
	for _, c := range []struct {
		a       Assigner
		max     int64
		want    string
		without string
	}{
		{Divide(countFrom(1), 2), 0, "Request.MaxWorkerID is 0; must be the greatest worker ID of the layout, at least 1", "worker bits"},
		{Divide(countFrom(1), 2), 1, "divided by 2 bits: the layout has 1 worker bits; must have at least 3", "at least 1"},
		{Prefix(countFrom(1), 3, 4), 15, "prefix 3 in 4 bits: the layout has 4 worker bits; must have at least 5", "at least 1"},
		{divided, 4095, "the layout has 12 worker bits; must have 10, as the layout of the first generator", "at least"},
		{Divide(countFrom(256), 2), 1023, "worker ID is 256; must be 0 to 255, to fit into the remaining 8 bits", releasing},
		{Divide(failing, 2), 1023, "(" + releasing + ": " + errLeaseGone.Error() + ")", "at least"},
	} {
		l, err := c.a.Assign(context.Background(), Request{MaxWorkerID: c.max})
		if l != nil || err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), c.without) {
			t.Errorf("Assign() = %v, %v; want %q", l, err, c.want)
		}
	}
	if l, err := Divide(countFrom(1), 1).Assign(context.Background(), Request{MaxWorkerID: 3}); err != nil || l.WorkerID() != 1 {
		t.Errorf("Assign() with 2 worker bits, divided by 1 = %v, %v", l, err)
	}
}

// An allLeft is an assigner, and the lease of its worker ID 0, whose grants say that all numbers are left.
type allLeft struct{ Lease }

func (allLeft) Assign(ctx context.Context, r Request) (Lease, error) {
	l, err := Static(0).Assign(ctx, r)
	return allLeft{l}, err
}

func (a allLeft) Reserve(ctx context.Context, until time.Time) (Grant, error) {
	g, err := a.Lease.Reserve(ctx, until)
	g.Remaining, g.Total = math.MaxInt64, math.MaxInt64
	return g, err
}

// A grant says how many worker IDs are left, also with Prefix and Divide, if the assigner counts them.
func TestRemaining(t *testing.T) {
	for name, tt := range map[string]struct {
		a         Assigner
		left, all int64 // of 10 worker bits
	}{
		"disposable":             {countFrom(1000), 23, 1023},
		"divided":                {Divide(countFrom(100), 2), 4*155 + 3, 1023},
		"prefixed":               {Prefix(countFrom(30), 0, 5), 1, 31},
		"the greatest prefix":    {Prefix(countFrom(1), 31, 5), 30, 31},
		"divided, then prefixed": {Prefix(Divide(countFrom(3), 2), 7, 5), 4*4 + 3, 31},
		"a user's, divided":      {Divide(allLeft{}, 2), 1023, 1023},
		"a user's, prefixed":     {Prefix(allLeft{}, 31, 5), 31, 31},
		"static":                 {Static(1000), 0, 0},
		"static, prefixed":       {Prefix(Static(3), 31, 5), 0, 0},
		"static, divided":        {Divide(Static(255), 2), 0, 0},
	} {
		l, err := tt.a.Assign(context.Background(), request10Bits)
		if err != nil {
			t.Fatal(err)
		}
		if g, err := l.Reserve(t.Context(), time.Now()); err != nil || g.Remaining != tt.left || g.Total != tt.all {
			t.Errorf("%s: %d left of %d, %v; want %d of %d", name, g.Remaining, g.Total, err, tt.left, tt.all)
		}
	}
}

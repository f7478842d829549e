package assigntest

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit/recordtest"
	"github.com/ringuid/ringuid/internal/testkit/slottest"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// brokenAssigner changes the leases of another assigner. A function that is nil changes nothing.
type brokenAssigner struct {
	workerassign.Assigner
	request func(*workerassign.Request)
	lease   func(workerassign.Lease) workerassign.Lease
}

func (b brokenAssigner) Assign(ctx context.Context, r workerassign.Request) (workerassign.Lease, error) {
	if b.request != nil {
		b.request(&r)
	}
	l, err := b.Assigner.Assign(ctx, r)
	if err == nil && b.lease != nil {
		l = b.lease(l)
	}
	return l, err
}

// brokenLease changes what a lease says. A function that is nil changes nothing.
type brokenLease struct {
	workerassign.Lease
	workerID  func() int64
	notBefore func() time.Time
	reserve   func(l workerassign.Lease, ctx context.Context, until time.Time) (workerassign.Grant, error)
	release   func(l workerassign.Lease, ctx context.Context, used time.Time) error
}

func (b brokenLease) WorkerID() int64 {
	if b.workerID != nil {
		return b.workerID()
	}
	return b.Lease.WorkerID()
}

func (b brokenLease) NotBefore() time.Time {
	if b.notBefore != nil {
		return b.notBefore()
	}
	return b.Lease.NotBefore()
}

func (b brokenLease) Reserve(ctx context.Context, until time.Time) (workerassign.Grant, error) {
	if b.reserve != nil {
		return b.reserve(b.Lease, ctx, until)
	}
	return b.Lease.Reserve(ctx, until)
}

func (b brokenLease) Release(ctx context.Context, used time.Time) error {
	if b.release != nil {
		return b.release(b.Lease, ctx, used)
	}
	return b.Lease.Release(ctx, used)
}

// beginAtNow makes leases begin when they were taken, by the host's clock, instead of where the last
// grant ended.
func beginAtNow(l workerassign.Lease) workerassign.Lease {
	now := time.Now()
	return brokenLease{Lease: l, notBefore: func() time.Time { return now }}
}

// slowly makes a Write take some milliseconds before it does anything.
func slowly(write func(*Memory, context.Context, recycled.Write) (bool, error)) func(*Memory, context.Context, recycled.Write) (bool, error) {
	return func(m *Memory, ctx context.Context, w recycled.Write) (bool, error) {
		time.Sleep(rand.N(5 * time.Millisecond))
		return write(m, ctx, w)
	}
}

// Each broken store or assigner fails the test that is for its defect.
func TestBrokenAssigners(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		store    brokenStore
		assigner brokenAssigner
		harness  func(h *AssignerHarness, s *memoryServer)
		test     string
		message  string
	}{
		{name: "no revision check", store: brokenStore{onWrite: slowly(unchecked(true, true))}, test: "Generators", message: "is broken"},
		{name: "until falls", store: brokenStore{onWrite: changeSlots(func(s *recycled.Slot) {
			if s.Token != "" {
				s.Until = s.From
			}
		})}, test: "WithoutRelease", message: "invariant 1 is broken"},
		{name: "until falls, of one lease", store: brokenStore{onRead: changeRead(func(_ recycled.Query, s *recycled.State) {
			for n := range s.Slots {
				s.Slots[n].Until = s.Slots[n].From
			}
		})}, harness: func(h *AssignerHarness, _ *memoryServer) { h.patience = 10 * time.Second }, test: "OneLease", message: "cannot extend the slot"}, // each write compares the until that was read
		{name: "failover without a new history", harness: func(h *AssignerHarness, s *memoryServer) {
			h.LoseWrites = func(_ testing.TB, write func()) { s.loseWrites(write, (*Memory).LoseWrites) }
		}, test: "WritesLost", message: "invariant 1 is broken"},
		{name: "failover without a floor", store: brokenStore{onRead: changeRead(func(_ recycled.Query, s *recycled.State) {
			s.Pool.Floor = time.Time{}
		})}, test: "WritesLost", message: "invariant 1 is broken"},
		{name: "an ambiguous reply taken for success", store: brokenStore{onWrite: func(m *Memory, ctx context.Context, w recycled.Write) (bool, error) {
			ok, err := m.Write(ctx, w)
			return ok || err != nil, nil
		}, onRead: func(m *Memory, ctx context.Context, q recycled.Query) (recycled.State, error) {
			m.mu.Lock()
			defer m.mu.Unlock()
			return m.read(q, 0), nil
		}}, test: "RequestsLost", message: "although all requests were lost"},
		{name: "one worker ID for all", assigner: brokenAssigner{lease: func(l workerassign.Lease) workerassign.Lease {
			return brokenLease{Lease: l, workerID: func() int64 { return 0 }}
		}}, test: "Generators", message: "invariant 1 is broken"},
		{name: "a worker ID beyond the layout", assigner: brokenAssigner{lease: func(l workerassign.Lease) workerassign.Lease {
			return brokenLease{Lease: l, workerID: func() int64 { return 16 }}
		}}, test: "OneLease", message: "must be 0 to 15"},
		{name: "leases without a start", assigner: brokenAssigner{lease: func(l workerassign.Lease) workerassign.Lease {
			return brokenLease{Lease: l, notBefore: func() time.Time { return time.Time{} }}
		}}, test: "Successor", message: "invariant 1 is broken"},
		{name: "leases that begin at the host's clock", assigner: brokenAssigner{lease: func(l workerassign.Lease) workerassign.Lease {
			early := time.Now().Add(-time.Second)
			return brokenLease{Lease: l, notBefore: func() time.Time { return early }}
		}}, test: "Successor", message: "invariant 1 is broken"},
		{name: "leases that begin now after a failover", assigner: brokenAssigner{lease: beginAtNow}, test: "WritesLost", message: "invariant 1 is broken"},
		{name: "grants without a horizon", assigner: brokenAssigner{lease: func(l workerassign.Lease) workerassign.Lease {
			return brokenLease{Lease: l, reserve: func(l workerassign.Lease, ctx context.Context, until time.Time) (workerassign.Grant, error) {
				g, err := l.Reserve(ctx, until)
				g.Until = until
				return g, err
			}}
		}}, test: "Horizon", message: "rule R6 is broken"},
		{name: "grants that fall", assigner: brokenAssigner{lease: func(l workerassign.Lease) workerassign.Lease {
			return brokenLease{Lease: l, reserve: func(l workerassign.Lease, ctx context.Context, until time.Time) (workerassign.Grant, error) {
				g, err := l.Reserve(ctx, until)
				g.Until = until
				return g, err
			}}
		}}, test: "OneLease", message: "rule R1 is broken"},
		{name: "grants that are not written", assigner: brokenAssigner{lease: func(l workerassign.Lease) workerassign.Lease {
			return brokenLease{Lease: l, reserve: func(_ workerassign.Lease, _ context.Context, until time.Time) (workerassign.Grant, error) {
				return workerassign.Grant{Until: until}, nil
			}}
		}}, harness: func(h *AssignerHarness, _ *memoryServer) { h.Horizon = 0 }, test: "Generators", message: "is broken"},
		{name: "a release of more than is unused", assigner: brokenAssigner{lease: func(l workerassign.Lease) workerassign.Lease {
			return brokenLease{Lease: l, release: func(l workerassign.Lease, ctx context.Context, _ time.Time) error {
				return l.Release(ctx, time.Time{})
			}}
		}}, test: "Successor", message: "invariant 1 is broken"},
		{name: "hosts' clocks not compared", assigner: brokenAssigner{request: func(r *workerassign.Request) { r.Now = time.Now }}, test: "ClockSkew", message: "rule R8 is broken"},
		{name: "worker IDs not recycled", assigner: brokenAssigner{lease: func(l workerassign.Lease) workerassign.Lease {
			return brokenLease{Lease: l, release: func(workerassign.Lease, context.Context, time.Time) error { return nil }}
		}}, test: "Successor", message: "needs no more than 3"},
		{name: "neither a lease nor an error", assigner: brokenAssigner{lease: func(l workerassign.Lease) workerassign.Lease { return nil }}, test: "OneLease", message: "neither a lease nor an error"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newMemoryServer()
			h := recycledHarness(s)
			h.NewAssigner = func(_ testing.TB, pool string) workerassign.Assigner {
				store, assigner := tt.store, tt.assigner
				store.Memory = s.pool(pool)
				assigner.Assigner = slottest.New(t, store, recycled.WithClockBound(200*time.Millisecond), recycled.WithSkew(0))
				return assigner
			}
			if tt.harness != nil {
				tt.harness(&h, s)
			}
			r := runAssignerCase(t, tt.test, h)
			if !r.Failed() || !strings.Contains(strings.Join(r.Failures, "\n"), tt.message) {
				t.Errorf("%s reported %q, skipped %q; want a failure with %q", tt.test, r.Failures, r.SkipReason, tt.message)
			} else {
				t.Log(r.Failures[0])
			}
		})
	}
}

// runAssignerCase runs one test of an assigner.
func runAssignerCase(tb testing.TB, name string, h AssignerHarness) *recordtest.Recorder {
	for _, c := range assignerCases {
		if c.name == name {
			return recordtest.Run(tb, func(tb testing.TB) { c.test(tb, h) })
		}
	}
	tb.Fatalf("there is no test %s", name)
	return nil
}

package assigntest

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/ringuid/ringuid/workerassign"
)

// An AssignerHarness gives RunAssignerTests assigners to test, and faults.
type AssignerHarness struct {
	// NewAssigner returns a new assigner on the pool of the given name, as another process would have it.
	// The first assigner of a name finds an empty store. Names are those of Harness.New. NewAssigner may use
	// tb.Cleanup.
	//
	// An assigner on a new pool must not have a floor: for a recycled.Assigner, use recycled.CreatePool. To test leases
	// that were not released too, let their worker IDs become free soon: for a recycled.Assigner, use
	// recycled.WithClockBound and WithSkew with some tenths of a second, if the clocks allow that.
	NewAssigner func(tb testing.TB, pool string) workerassign.Assigner

	// Faults are those of the store.
	Faults

	// Horizon is how far beyond the store's clock a grant may reach. 0 means that it is not known: then
	// the tests of rule R6 are skipped.
	Horizon time.Duration

	// HostBound is by how much a host's clock may differ from the store's (recycled.WithClockBound).
	// 0 means that the assigner does not compare them: then the test of rule R8 is skipped.
	HostBound time.Duration

	// Recycles is whether the assigner uses worker IDs again after their release, so that a few are enough.
	Recycles bool

	// Request is what generators say about themselves. The tests set Now, and Logger if it is nil. The
	// defaults of MaxWorkerID and Format are 63 and "assigntest".
	Request workerassign.Request
}

// assignerCase is one test of an assigner.
type assignerCase struct {
	name   string
	faults []string
	run    func(t *assignerTest)
}

// assignerCases are the tests of RunAssignerTests, in their order.
var assignerCases = []assignerCase{
	{"OneLease", nil, testOneLease},
	{"Successor", nil, testSuccessor},
	{"WithoutRelease", nil, testWithoutRelease},
	{"Generators", nil, testGenerators},
	{"Horizon", nil, testHorizon},
	{"ClockSkew", nil, testClockSkew},
	{"ContextEnded", nil, testAssignContextEnded},
	{"Restart", []string{"Kill", "Start"}, testAssignerRestart},
	{"WritesLost", []string{"LoseWrites"}, testAssignerWritesLost},
	{"RequestsLost", []string{"LoseRequests"}, testAssignerRequestsLost},
	{"RepliesLost", []string{"LoseReplies"}, testAssignerRepliesLost},
	{"ClockStep", []string{"StepClock"}, testAssignerClockStep},
}

// RunAssignerTests tests whether an assigner keeps invariant 1: a worker ID and a time unit belong to at
// most one lease. Each test is a subtest with a pool of its own. They do not run in parallel.
func RunAssignerTests(t *testing.T, h AssignerHarness) {
	for _, c := range assignerCases {
		t.Run(c.name, func(t *testing.T) { c.test(t, h) })
	}
}

// test runs one test, and compares all spans at its end.
func (c assignerCase) test(tb testing.TB, h AssignerHarness) {
	if h.NewAssigner == nil {
		tb.Fatal("AssignerHarness.NewAssigner is nil; must be set")
	}
	h.Faults.require(tb, c.faults...)
	h.Faults = h.Faults.withDefaults()
	if h.Request.MaxWorkerID == 0 {
		h.Request.MaxWorkerID = 63
	}
	if h.Request.Format == "" {
		h.Request.Format = "assigntest"
	}
	if h.Request.Logger == nil {
		h.Request.Logger = slog.New(slog.DiscardHandler)
	}
	t := &assignerTest{TB: tb, h: h, pool: newPoolName()}
	c.run(t)
	t.checkSpans()
}

// assignerTest is one test of an assigner.
type assignerTest struct {
	testing.TB
	h     AssignerHarness
	pool  string
	spans spans
}

// open returns another assigner of the pool.
func (t *assignerTest) open() workerassign.Assigner {
	t.Helper()
	a := t.h.NewAssigner(t.TB, t.pool)
	if a == nil {
		t.Fatal("NewAssigner returned nil")
	}
	return a
}

// request returns the request of a generator whose clock is ahead by some time.
func (t *assignerTest) request(ahead time.Duration) workerassign.Request {
	r := t.h.Request
	r.Now = func() time.Time { return time.Now().Add(ahead) }
	return r
}

// assign takes a lease that must be granted.
func (t *assignerTest) assign(a workerassign.Assigner, name string) *lease {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), t.h.Recovery)
	defer cancel()
	l, err := a.Assign(ctx, t.request(0))
	if err != nil {
		t.Fatalf("%s: Assign: %v", name, err)
	}
	held := t.newLease(l, name)
	if held == nil {
		t.FailNow()
	}
	return held
}

// checkSpans fails the test if two leases share a worker ID and a time.
func (t *assignerTest) checkSpans() {
	t.Helper()
	problems, count, workerIDs := t.spans.overlaps()
	for n, problem := range problems {
		if n == 5 {
			t.Errorf("and %d more", len(problems)-n)
			break
		}
		t.Errorf("invariant 1 is broken: %s", problem)
	}
	t.Logf("%d spans of %d worker IDs are disjoint", count, workerIDs)
}

// lease is a lease with what it was granted.
type lease struct {
	workerassign.Lease
	t       *assignerTest
	name    string
	granted time.Time // the end of the grant
}

func (t *assignerTest) newLease(l workerassign.Lease, name string) *lease {
	if l == nil {
		t.Errorf("%s: Assign returned neither a lease nor an error", name)
		return nil
	}
	if id := l.WorkerID(); id < 0 || id > t.h.Request.MaxWorkerID {
		t.Errorf("%s: the worker ID is %d; must be 0 to %d", name, id, t.h.Request.MaxWorkerID)
	}
	return &lease{Lease: l, t: t, name: name, granted: l.NotBefore()}
}

// reserve reserves time. It returns an error of Reserve.
func (l *lease) reserve(ahead time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), l.t.h.patience)
	defer cancel()
	sent := time.Now()
	until, err := l.Reserve(ctx, sent.Add(ahead))
	if err != nil {
		return err
	}
	if until.Until.Before(l.granted) {
		l.t.Errorf("rule R1 is broken: %s with worker ID %d was granted the time before %s, and later only the time before %s",
			l.name, l.WorkerID(), stamp(l.granted), stamp(until.Until))
	}
	if limit := time.Now().Add(l.t.h.Horizon + l.t.h.ClockBound); l.t.h.Horizon > 0 && until.Until.After(limit) && until.Until.After(l.NotBefore()) {
		l.t.Errorf("rule R6 is broken: %s with worker ID %d was granted the time before %s, which is more than the horizon %v beyond %s",
			l.name, l.WorkerID(), stamp(until.Until), l.t.h.Horizon, stamp(sent))
	}
	l.granted = until.Until
	return nil
}

// mustReserve reserves time, which must not fail.
func (l *lease) mustReserve(ahead time.Duration) {
	l.t.Helper()
	if err := l.reserve(ahead); err != nil {
		l.t.Fatalf("%s: Reserve: %v", l.name, err)
	}
}

// passed returns the end of the time that a generator has used: what has passed, and not more than it was granted.
func (l *lease) passed() time.Time {
	if now := time.Now(); now.Before(l.granted) {
		return now
	}
	return l.granted
}

// release releases the lease; it has used the time before used. It returns the error of Release.
func (l *lease) release(used time.Time) error {
	l.used(used)
	ctx, cancel := context.WithTimeout(context.Background(), l.t.h.patience)
	defer cancel()
	return l.Release(ctx, used)
}

// abandon ends the use of the lease without a release, like a crash. It may have used all of its grant.
func (l *lease) abandon() { l.used(l.granted) }

func (l *lease) used(until time.Time) {
	l.t.spans.add(span{l.WorkerID(), l.NotBefore(), until, l.name})
}

package leasing

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/ringuid/ringuid/bitsalloc"
	"github.com/ringuid/ringuid/internal/safelog"
	"github.com/ringuid/ringuid/internal/testkit/fakeclock"
	"github.com/ringuid/ringuid/internal/unitclock"
	"github.com/ringuid/ringuid/workerassign"
)

// The time unit of the tests is a second. The clock starts in the unit startUnit.
const (
	startUnit    = 1_000_000
	reserveAhead = 30 * time.Second
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// at returns the start of a unit.
func at(unit int64) time.Time { return epoch.Add(time.Duration(unit) * time.Second) }

// errStore is an error of the store.
var errStore = errors.New("the store is down")

// fakeAssigner assigns fakeLeases with the worker IDs 1, 2, 3 and so on, and records its calls.
type fakeAssigner struct {
	assign func(l *fakeLease) error // if not nil, changes a lease before Assign returns it, or returns Assign's error

	mu       sync.Mutex
	contexts []context.Context
	requests []workerassign.Request
	leases   []*fakeLease // that were assigned
}

func (a *fakeAssigner) Assign(ctx context.Context, r workerassign.Request) (workerassign.Lease, error) {
	a.mu.Lock()
	a.contexts = append(a.contexts, ctx)
	a.requests = append(a.requests, r)
	l := &fakeLease{id: int64(len(a.requests))}
	a.mu.Unlock()
	if a.assign != nil {
		if err := a.assign(l); err != nil {
			return nil, err
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.leases = append(a.leases, l)
	return l, nil
}

// calls returns how often Assign was called.
func (a *fakeAssigner) calls() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.requests)
}

// fakeLease grants what is requested, and records its calls.
type fakeLease struct {
	id        int64
	notBefore time.Time
	grant     func(until time.Time) (time.Time, error) // if not nil, the result of Reserve
	onRelease func(ctx context.Context) error          // if not nil, the result of Release

	mu        sync.Mutex
	requested []time.Time // the arguments of Reserve
	released  []time.Time // the arguments of Release
}

func (l *fakeLease) WorkerID() int64 { return l.id }

func (l *fakeLease) NotBefore() time.Time { return l.notBefore }

func (l *fakeLease) Reserve(_ context.Context, until time.Time) (workerassign.Grant, error) {
	l.mu.Lock()
	l.requested = append(l.requested, until)
	l.mu.Unlock()
	if l.grant == nil {
		return workerassign.Grant{Until: until}, nil
	}
	until, err := l.grant(until)
	return workerassign.Grant{Until: until}, err
}

func (l *fakeLease) Release(ctx context.Context, used time.Time) error {
	l.mu.Lock()
	l.released = append(l.released, used)
	l.mu.Unlock()
	if l.onRelease == nil {
		return nil
	}
	return l.onRelease(ctx)
}

// reserveCalls returns how often Reserve was called.
func (l *fakeLease) reserveCalls() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.requested)
}

// wantReleased checks that Release was called once, with the given time.
func wantReleased(t *testing.T, l *fakeLease, used time.Time) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.released) != 1 || !l.released[0].Equal(used) {
		t.Errorf("worker ID %d was released with %v, want once with %v", l.id, l.released, used)
	}
}

// testManager is a Manager with a fake clock. Its background tasks run when the test says so, unless
// its hooks are replaced, and do not pause. It records the pauses, the log and the notifications.
type testManager struct {
	*Manager
	clock    *fakeclock.Clock
	assigner *fakeAssigner
	tasks    []func() // that were started and have not run
	notified int

	mu     sync.Mutex
	pauses []time.Duration
	delays []time.Duration
	log    []string // the messages, each with its level
}

// newTestManager returns a manager for a layout whose time bits end at unit 2^timeBits.
func newTestManager(t *testing.T, timeBits int) *testManager {
	t.Helper()
	layout, err := bitsalloc.New(timeBits, 10, 12)
	if err != nil {
		t.Fatal(err)
	}
	base, err := bitsalloc.NewTimeBase(epoch, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	m := &testManager{clock: fakeclock.New(at(startUnit)), assigner: new(fakeAssigner)}
	clock := unitclock.New(m.clock, base)
	logger := slog.New(slog.DiscardHandler)
	m.Manager = NewManager(Config{
		Layout:       layout,
		Format:       "the format",
		ReserveAhead: reserveAhead,
		Logger:       logger,
		Log:          safelog.NewQueue(slog.New(logRecorder{m})),
		Mask:         func(err error) error { return maskedError{err} },
		Hooks: Hooks{
			Go: func(task func()) { m.tasks = append(m.tasks, task) },
			Pause: func(_ context.Context, d time.Duration) bool {
				m.mu.Lock()
				defer m.mu.Unlock()
				m.pauses = append(m.pauses, d)
				return true
			},
			Delay: func(_ context.Context, d time.Duration) bool {
				m.mu.Lock()
				defer m.mu.Unlock()
				m.delays = append(m.delays, d)
				return true
			},
		},
	}, clock, m.assigner)
	m.OnChange(func() { m.notified++ })
	return m
}

// runTasks runs the background tasks that were started, and those that they start. It returns how many
// it ran.
func (m *testManager) runTasks() (n int) {
	for len(m.tasks) > 0 {
		task := m.tasks[0]
		m.tasks = m.tasks[1:]
		task()
		n++
	}
	return n
}

// acquire takes a lease, which must succeed.
func (m *testManager) acquire(t *testing.T) (*HeldLease, *fakeLease) {
	t.Helper()
	h, err := m.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return h, h.lease.(*fakeLease)
}

// wantLog checks that a text was logged n times.
func (m *testManager) wantLog(t *testing.T, n int, text string) {
	t.Helper()
	if !m.cfg.Log.Flush(time.Minute) {
		t.Fatal("the log was not written within a minute")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	got := 0
	for _, message := range m.log {
		if message == text {
			got++
		}
	}
	if got != n {
		t.Errorf("%q was logged %d times, want %d; the log is %q", text, got, n, m.log)
	}
}

// maskedError hides all errors that its error wraps except for errStore.
type maskedError struct{ err error }

func (e maskedError) Error() string { return e.err.Error() }

func (e maskedError) Is(target error) bool { return target == errStore && errors.Is(e.err, errStore) }

// logRecorder is a log handler that records the messages.
type logRecorder struct{ m *testManager }

func (logRecorder) Enabled(context.Context, slog.Level) bool { return true }

func (r logRecorder) Handle(_ context.Context, record slog.Record) error {
	r.m.mu.Lock()
	defer r.m.mu.Unlock()
	r.m.log = append(r.m.log, record.Level.String()+" "+record.Message)
	return nil
}

func (r logRecorder) WithAttrs([]slog.Attr) slog.Handler { return r }

func (r logRecorder) WithGroup(string) slog.Handler { return r }

// change replaces the lease's grant by a changed one.
func (h *HeldLease) change(f func(*grant)) {
	g := h.lastGrant()
	f(&g)
	h.grant.Store(&g)
}

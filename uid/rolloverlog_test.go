package uid

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit/fakeclock"
	"github.com/ringuid/ringuid/workerassign"
)

// Rollovers are logged at most once in a minute, with their rate and with how long the worker IDs last
// at that rate.
func TestRolloversAreLogged(t *testing.T) {
	var log bytes.Buffer
	fake := fakeclock.New(noon)
	a := new(disposableAssigner)
	a.lastID.Store(1_000)
	c := newCached(t, a, WithLayout(layout(t, 31, 11, 4)), WithBoostPower(0), WithMaxBorrow(10*time.Second), WithClock(fake),
		WithScheduleInterval(0), logInto(&log))
	const perLease = 11 * 16 // the current unit and ten units ahead of it
	useUp := func(leases int) {
		t.Helper()
		for range leases * perLease {
			next(t, c)
		}
		flushLog(t, c)
	}
	fake.Advance(20 * time.Second) // which is how long the first lease lasts
	useUp(2)
	const first = "worker_id=1002 borrow_limit=10s rollovers=1 per_lease=20s remaining=1045 remaining_last=5h48m20s"
	if got := log.String(); !strings.Contains(got, first) {
		t.Errorf("logged %q, want %q", got, first)
	}
	useUp(10)
	if n := strings.Count(log.String(), "reached the borrow limit"); n != 1 {
		t.Errorf("logged %d times within a minute", n)
	}
	fake.Advance(time.Minute)
	useUp(3)
	if n := strings.Count(log.String(), "reached the borrow limit"); n != 2 {
		t.Errorf("logged %d times in two minutes:\n%s", n, log.String())
	}
}

// A minute after a lost lease was logged, the next one is logged again.
func TestLostLeasesAreLoggedOnceAMinute(t *testing.T) {
	var log bytes.Buffer
	fake := fakeclock.New(noon)
	c := newCached(t, new(disposableAssigner), WithClock(fake), logInto(&log), WithScheduleInterval(0))
	d := newDefault(t, new(disposableAssigner), WithClock(fake), logInto(&log))
	for name, lost := range map[string]func(){
		"Cached":  func() { c.runs.log.lost(c.runs.current.Load().held, fake.Now(), 1, errLeaseEnded) },
		"Default": func() { d.leaseChanger.logLost(1, errLeaseEnded) },
	} {
		for n, passed := range []time.Duration{0, time.Second, 58 * time.Second, time.Second, time.Second} {
			fake.Advance(passed)
			log.Reset()
			lost()
			flushLog(t, c)
			if !d.cfg.log.Flush(time.Minute) {
				t.Fatal("the log was not written within a minute")
			}
			if logged, want := strings.Count(log.String(), "changed to another one"), map[int]int{0: 1, 3: 1}[n]; logged != want {
				t.Errorf("%s, after loss %d: logged %d times, want %d", name, n, logged, want)
			}
		}
		fake.Advance(time.Hour)
	}
}

// The rate of rollovers is logged for the time since the last record, and how long the worker IDs last only if it is known.
func TestRolloverRates(t *testing.T) {
	for name, tt := range map[string]struct {
		assigner func() workerassign.Assigner
		want     []string
	}{
		"counted": {func() workerassign.Assigner {
			a := new(disposableAssigner)
			a.lastID.Store(2_039)
			return a
		}, []string{"worker_id=2041 borrow_limit=10s rollovers=1 per_lease=30s remaining=6 remaining_last=3m0s",
			"worker_id=2047 borrow_limit=10s rollovers=7 per_lease=20s remaining=0 remaining_last=0s"}},
		"not counted": {func() workerassign.Assigner {
			return &fakeAssigner{assign: func(_ context.Context, n int64) (workerassign.Lease, error) { return &fakeLease{id: n}, nil }}
		}, []string{"worker_id=2 borrow_limit=10s rollovers=1 per_lease=30s\n", "worker_id=8 borrow_limit=10s rollovers=7 per_lease=20s\n"}},
	} {
		var log bytes.Buffer
		fake := fakeclock.New(noon)
		c := newCached(t, tt.assigner(), WithLayout(layout(t, 31, 11, 4)), WithBoostPower(0), WithMaxBorrow(10*time.Second), WithClock(fake),
			WithScheduleInterval(0), logInto(&log))
		worker := c.Stats().WorkerID
		rollOver := func() { // until there is a UID of the next lease: then the change was logged
			for before := worker; worker == before; {
				worker = c.Parse(next(t, c)).WorkerID
			}
		}
		fake.Advance(30 * time.Second)
		rollOver()
		for range 5 {
			rollOver() // not logged
		}
		fake.Advance(2 * time.Minute)
		rollOver()
		flushLog(t, c)
		for _, want := range tt.want {
			if !strings.Contains(log.String(), want) {
				t.Errorf("%s: logged %q, want %q", name, log.String(), want)
			}
		}
	}
}

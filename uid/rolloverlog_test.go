package uid

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/fakeclock"
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

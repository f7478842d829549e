package uid

import (
	"fmt"
	"strings"
	"time"
)

// simTrace is the latest events of a simulation. They are formatted only when they are printed, which few seeds need.
type simTrace struct{ events []simEvent }

// simEvent is something that happened on a host. The arguments must not change afterwards.
type simEvent struct {
	at     time.Time
	host   int
	format string
	args   []any
}

// maxTrace is how many events a trace keeps at least.
const maxTrace = 5000

func (t *simTrace) add(at time.Time, host int, format string, args []any) {
	if len(t.events) == 2*maxTrace {
		t.events = append(t.events[:0], t.events[maxTrace:]...)
	}
	t.events = append(t.events, simEvent{at, host, format, args})
}

// last returns the last n events, a line each.
func (t *simTrace) last(n int) string {
	var b strings.Builder
	for _, e := range t.events[max(0, len(t.events)-n):] {
		fmt.Fprintf(&b, "%s host %d: %s\n", e.at.Format("01-02 15:04:05.000"), e.host, fmt.Sprintf(e.format, e.args...))
	}
	return b.String()
}

// String returns all events.
func (t *simTrace) String() string { return t.last(len(t.events)) }

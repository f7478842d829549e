package fleettest

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/slottest"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// MeasureEnv is the name of an environment variable with the path of a file. If it is set, Measure runs in the
// size of a measurement, and appends its results to the file. `make measure-fleet` sets it, and prints the
// results as the table of doc/internals/fleet.md. HostsEnv and SecondsEnv change the size.
const (
	MeasureEnv = "RINGUID_MEASURE"
	HostsEnv   = "RINGUID_MEASURE_HOSTS"   // how many hosts; the default is 10,000
	SecondsEnv = "RINGUID_MEASURE_SECONDS" // how long Sustained runs; the default is 600
)

// isMeasuring reports whether MeasureEnv is set.
func isMeasuring() bool { return os.Getenv(MeasureEnv) != "" }

// size returns a number of the measurement: that of an environment variable, or full. In a test, it returns small.
func size(t *testing.T, env string, full, small int) int {
	t.Helper()
	if !isMeasuring() {
		return small
	}
	text := os.Getenv(env)
	if text == "" {
		return full
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s is %q; must be a number of at least 1", env, text)
	}
	return n
}

// Target is a slot store to measure.
type Target struct {
	Name string // of the server, with its version

	// Open returns another client of the pool of the given name. A client uses few connections, because the
	// simulated hosts share several clients.
	Open func(pool string) recycled.Store

	// Statements returns how many statements, or what corresponds to them, the server has executed.
	Statements func() int64
	Statement  string // what it counts, in the plural

	Load   int // how many UIDs per second Sustained takes; 0: ten times the layout's rate
	Leases int // how many Assigns takes; 0: 1,000. The cost of a write to a file grows with the number of slots
}

// leases returns how many leases Assigns takes.
func (target Target) leases() int {
	switch {
	case !isMeasuring():
		return 64
	case target.Leases > 0:
		return target.Leases
	}
	return 1000
}

// A Part is a measurement.
type Part struct {
	name   string
	run    func(*testing.T, Target)
	isLong bool // it takes minutes, and has no short form
}

// NeedsMeasure skips the test, unless it measures or the tests run in full size: the calls of a store are counted on a store
// in memory too.
func NeedsMeasure(t *testing.T) {
	t.Helper()
	if !isMeasuring() {
		testkit.Full(t, "it measures a store")
	}
}

// Measure measures a store: see the parts. Without MeasureEnv it is a test of a few seconds, without the long parts.
func Measure(t *testing.T, target Target, parts ...Part) {
	for _, p := range parts {
		if p.isLong && !isMeasuring() {
			continue
		}
		t.Run(p.name, func(t *testing.T) { p.run(t, target) })
	}
}

// report logs a result and, if this is a measurement, appends it to the file. The rows of the table are in the
// order of the parts, which is a number, and then of the stores.
func (target Target) report(t *testing.T, part int, what, expected, format string, args ...any) {
	t.Helper()
	measured := fmt.Sprintf(format, args...)
	t.Logf("%s, %s: %s (%s)", target.Name, what, measured, expected)
	if !isMeasuring() || t.Failed() {
		return
	}
	file, err := os.OpenFile(os.Getenv(MeasureEnv), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := fmt.Fprintf(file, "%02d\t| %s | %s | %s | %s |\n", part, what, target.Name, measured, expected); err != nil {
		t.Fatal(err)
	}
}

// clients is the number of clients of the store that all simulated hosts share.
const clients = 8

// meter is clients of one pool, whose calls are counted.
type meter struct {
	target              Target
	stores              []recycled.Store
	reads, writes, lost atomic.Int64 // lost: writes that returned false, or failed
}

// newMeter returns clients of a pool.
func newMeter(target Target, pool string) *meter {
	m := &meter{target: target}
	for range clients {
		m.stores = append(m.stores, counted{target.Open(pool), m})
	}
	return m
}

// store returns the client of a host.
func (m *meter) store(host int) recycled.Store { return m.stores[host%clients] }

// counts is how often a store was called.
type counts struct{ reads, writes, lost, statements int64 }

// counts returns how often the store was called since newMeter, and the server's number of statements.
func (m *meter) counts() counts {
	c := counts{reads: m.reads.Load(), writes: m.writes.Load(), lost: m.lost.Load()}
	if m.target.Statements != nil {
		c.statements = m.target.Statements()
	}
	return c
}

// since returns the difference of two counts.
func (c counts) since(before counts) counts {
	return counts{c.reads - before.reads, c.writes - before.writes, c.lost - before.lost, c.statements - before.statements}
}

// counted counts the calls of a store.
type counted struct {
	recycled.Store
	meter *meter
}

// Read implements recycled.Store.
func (c counted) Read(ctx context.Context, q recycled.Query) (recycled.State, error) {
	c.meter.reads.Add(1)
	return c.Store.Read(ctx, q)
}

// Write implements recycled.Store.
func (c counted) Write(ctx context.Context, w recycled.Write) (bool, error) {
	c.meter.writes.Add(1)
	ok, err := c.Store.Write(ctx, w)
	if !ok {
		c.meter.lost.Add(1)
	}
	return ok, err
}

// pool reads the pool.
func (m *meter) pool(t *testing.T) recycled.Pool {
	t.Helper()
	state, err := m.stores[0].Read(t.Context(), recycled.Query{})
	if err != nil {
		t.Fatal(err)
	}
	return state.Pool
}

// grow creates the pool by an assigner, and adds released slots up to a number, without races.
func (m *meter) grow(t *testing.T, a *recycled.Assigner, req workerassign.Request, slots int64) {
	t.Helper()
	l, err := a.Assign(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Release(t.Context(), time.Time{}); err != nil {
		t.Fatal(err)
	}
	for {
		state, err := m.stores[0].Read(t.Context(), recycled.Query{})
		if err != nil {
			t.Fatal(err)
		}
		p := state.Pool
		if p.Slots >= slots {
			return
		}
		p.Revision++
		var added []recycled.Slot
		for range min(32, slots-p.Slots) {
			added = append(added, recycled.Slot{WorkerID: p.Slots, Revision: 1, History: p.History,
				From: p.Since, Until: p.Since, Written: p.Since, FreeAt: p.Since})
			p.Slots++
		}
		if ok, err := m.stores[0].Write(t.Context(), slottest.Swap(state, &p, added...)); !ok || err != nil {
			t.Fatal(ok, err)
		}
	}
}

// short returns a number as text, with few digits.
func short(f float64) string {
	if f < 100 {
		return fmt.Sprintf("%.1f", f)
	}
	return fmt.Sprintf("%.0f", f)
}

// each returns n divided by the number of hosts.
func each(n int64, hosts int) float64 { return float64(n) / float64(hosts) }

package fleettest

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringuid/ringuid/bitsalloc"
	"github.com/ringuid/ringuid/internal/testkit/slottest"
	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// Upkeep measures how many reads and writes the generators of a fleet cost while they run, idle and busy, at the
// default time that is reserved ahead and at a longer one, and compares that with the cost model of doc/internals/fleet.md.
// It takes minutes, so it only runs as a measurement. TestUpkeep runs the same code in simulated time.
var Upkeep = Part{name: "upkeep", isLong: true, run: func(t *testing.T, target Target) {
	for _, reserve := range []time.Duration{uid.DefaultReserveAhead, 5 * time.Minute} {
		t.Run(reserve.String(), func(t *testing.T) {
			u := startUpkeep(t, target, size(t, HostsEnv, 10_000, 0), reserve, true)
			defer u.close(t)
			window := Interval(reserve, time.Second)
			if window < 30*time.Second {
				window *= 3
			}
			for _, busy := range []bool{false, true} {
				u.busy.Store(busy)
				u.measure(t, window)
			}
		})
	}
}}

// Interval returns after how much UID time a generator extends its lease, by the cost model of doc/internals/fleet.md: it
// requests one unit and one and a half times the time to reserve ahead, and requests more when a quarter of that,
// rounded up to whole units, is used.
func Interval(reserve, unit time.Duration) time.Duration {
	ahead := reserve / unit
	requested := ahead + (ahead+1)/2 + 1
	return (requested + 3) / 4 * unit
}

// upkeep is generators that run.
type upkeep struct {
	meter      *meter
	reserve    time.Duration
	generators []uid.Generator
	busy       atomic.Bool  // whether they are used at the layout's rate
	failures   atomic.Int64 // of takes
	stop       context.CancelFunc
	running    sync.WaitGroup
}

const (
	upkeepRate   = 2 // UIDs a second and worker ID, so that few takes make a generator busy
	upkeepBorrow = 24 * time.Second
)

// upkeepOptions returns the options of the generators.
func upkeepOptions(reserve time.Duration) []any {
	layout, err := bitsalloc.New(31, 20, 1)
	if err != nil {
		panic(err)
	}
	return []any{uid.WithLayout(layout), uid.WithEpoch(time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC)), uid.WithReserveAhead(reserve),
		uid.WithMaxBorrow(upkeepBorrow), uid.WithLogger(discard())}
}

// startsPerSecond is how many generators startUpkeep starts, so that a store on a small machine also serves those that
// run already.
const startsPerSecond = 100

// startUpkeep starts generators, spread over the time between two extensions, or half a minute, or more if there are
// many.
func startUpkeep(t *testing.T, target Target, hosts int, reserve time.Duration, cached bool) *upkeep {
	t.Helper()
	u := &upkeep{meter: newMeter(target, fmt.Sprintf("upkeep%d", reserve/time.Second)), reserve: reserve, generators: make([]uid.Generator, hosts)}
	ctx, stop := context.WithCancel(context.Background())
	u.stop = stop
	opts := upkeepOptions(reserve)
	format, err := uid.NewFormat(accepted[uid.FormatOption](opts)...)
	if err != nil {
		t.Fatal(err)
	}
	// The horizon suffices for what is reserved, see doc/internals/fleet.md.
	horizon := workerassign.DefaultClockBound + upkeepBorrow + reserve*3/2 + time.Second
	assigner := func(n int) *recycled.Assigner {
		return slottest.New(t, u.meter.store(n), recycled.WithHorizon(horizon))
	}
	request := workerassign.Request{Format: format.String(), MaxWorkerID: format.Layout().MaxWorkerID(), Logger: discard()}
	u.meter.grow(t, assigner(0), request, int64(hosts+hosts/4))
	begin, spread := time.Now(), max(min(Interval(reserve, time.Second), 30*time.Second), time.Duration(hosts)*time.Second/startsPerSecond)
	inParallel(clients*clients, hosts, func(n int) {
		time.Sleep(time.Until(begin.Add(spread * time.Duration(n) / time.Duration(hosts))))
		startCtx, cancel := context.WithTimeout(ctx, 2*time.Minute)
		defer cancel()
		g, err := NewKind(startCtx, assigner(n), cached, opts...)
		if err != nil {
			stop()
			t.Error(err)
			return
		}
		u.generators[n] = g
		u.running.Go(func() { u.use(ctx, g) })
	})
	if t.Failed() {
		u.close(t)
		t.FailNow()
	}
	return u
}

// use uses a generator at the layout's rate while the fleet is busy.
func (u *upkeep) use(ctx context.Context, g uid.Generator) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for range upkeepRate {
			if !u.busy.Load() {
				break
			}
			if _, err := g.NextContext(ctx); err != nil && ctx.Err() == nil {
				u.failures.Add(1)
			}
		}
	}
}

// run returns how often the store is called in a time.
func (u *upkeep) run(d time.Duration) counts {
	before := u.meter.counts()
	time.Sleep(d)
	return u.meter.counts().since(before)
}

// measure compares the calls in a time with the cost model.
func (u *upkeep) measure(t *testing.T, window time.Duration) {
	t.Helper()
	hosts, what := len(u.generators), "idle"
	if u.busy.Load() {
		what = "busy"
	}
	c := u.run(window)
	rate := func(n int64) float64 { return float64(n) / window.Seconds() }
	text := func(n int64) string { return short(rate(n)) }
	want := float64(hosts) / Interval(u.reserve, time.Second).Seconds()
	statements := ""
	if u.meter.target.Statements != nil {
		statements = fmt.Sprintf(", %s %s", text(c.statements), u.meter.target.Statement)
	}
	u.meter.target.report(t, 30, fmt.Sprintf("%d %s generators, R = %.0f s", hosts, what, u.reserve.Seconds()), fmt.Sprintf("%s reads, %s writes per second", short(want), short(want)),
		"%s reads, %s writes%s per second", text(c.reads), text(c.writes), statements)
	if rate(c.reads) > 1.1*want || rate(c.writes) > 1.1*want || rate(c.writes) < 0.9*want {
		t.Errorf("%d %s generators make %.1f reads and %.1f writes per second; want %.1f of each", hosts, what, rate(c.reads), rate(c.writes), want)
	}
	if n := u.failures.Load(); n > 0 {
		t.Errorf("%d takes failed", n)
	}
}

// close ends the generators.
func (u *upkeep) close(t *testing.T) {
	u.stop()
	u.running.Wait()
	inParallel(clients*clients, len(u.generators), func(n int) {
		if g := u.generators[n]; g != nil {
			if err := g.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}

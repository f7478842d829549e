package fleettest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/ringuid/ringuid/bitsalloc"
	"github.com/ringuid/ringuid/internal/uniq"
	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign"
)

// overload is how many times the layout's rate Sustained takes.
const overload = 10

// Sustained takes UIDs from one generator at ten times the layout's rate for a minute, with the default times and
// the default layout, and compares each UID with all others. The number of worker IDs that are used is bounded: load
// divided by rate, and one that is prepared. As a test, it takes 6 seconds, and all times are a tenth.
var Sustained = Part{name: "sustained", run: func(t *testing.T, target Target) {
	s := sustained{meter: newMeter(target, "sustained"), scale: 1, layout: bitsalloc.Default()}
	if !isMeasuring() {
		s.scale = 10
		var err error
		if s.layout, err = bitsalloc.New(32, 22, 9); err != nil { // fewer UIDs in a unit, of which there are more
			t.Fatal(err)
		}
	}
	s.run(t, size(t, SecondsEnv, 60, 60))
}}

// sustained is one call of Sustained.
type sustained struct {
	meter  *meter
	layout bitsalloc.Layout
	scale  time.Duration // by what all times are divided
}

// run takes UIDs for so many units.
func (s *sustained) run(t *testing.T, units int) {
	t.Helper()
	unit := time.Second / s.scale
	a := workerassign.NewRecycled(s.meter.store(0), workerassign.WithNewPool(), workerassign.WithHorizon(workerassign.DefaultHorizon/s.scale),
		workerassign.WithClockBound(workerassign.DefaultClockBound/s.scale), workerassign.WithSkew(workerassign.DefaultSkew/s.scale))
	borrow := 24 * unit // all that the horizon allows, see doc/fleet.md
	g, err := uid.NewCached(t.Context(), a, uid.WithLayout(s.layout), uid.WithTimeUnit(unit), uid.WithReserveAhead(uid.DefaultReserveAhead/s.scale),
		uid.WithEpoch(time.Now().Add(-time.Hour).Truncate(time.Second)), uid.WithMaxBorrow(borrow), uid.WithLogger(discard()))
	if err != nil {
		t.Fatal(err)
	}
	var set uniq.Set
	writer, workers := set.Writer(), map[int64]bool{}
	perUnit := overload * (s.layout.MaxSequence() + 1)
	want, got, duplicates, late := int64(units)*perUnit, int64(0), 0, time.Duration(0)
	batch := make([]uid.ID, perUnit/50)
	before, begin := s.meter.counts(), time.Now()
	for got < want {
		// If this machine or the store was slow, all that follows is later: a burst would be a greater load.
		due := begin.Add(late + time.Duration(float64(got)/float64(perUnit)*float64(unit)))
		if behind := time.Since(due); behind > unit/10 {
			late += behind
		}
		time.Sleep(time.Until(due))
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		n, err := g.NextNContext(ctx, batch[:min(int64(len(batch)), want-got)])
		cancel()
		if err != nil {
			t.Fatalf("after %d UIDs: %v", got+int64(n), err)
		}
		for _, id := range batch[:n] {
			if !writer.Add(int64(id)) {
				duplicates++
			}
			_, worker, _ := s.layout.Split(int64(id))
			workers[worker] = true
		}
		got += int64(n)
	}
	took, c, stats := time.Since(begin), s.meter.counts().since(before), g.Stats()
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	slots, most := s.meter.pool(t).Slots, int64(overload+2)
	if duplicates > 0 || set.Len() != want || int64(len(workers)) > most || slots > most || len(workers) < 2 || stats.LostLeases > 0 {
		t.Errorf("%d UIDs, %d of them twice, of %d worker IDs in a pool of %d slots, with %d leases lost; want %d, 0, at most %d of both, and 0",
			set.Len(), duplicates, len(workers), slots, stats.LostLeases, want, most)
	}
	perSecond := func(n int64) float64 { return float64(n) / took.Seconds() }
	s.meter.target.report(t, 40, fmt.Sprintf("%d times the layout's rate for %v", overload, time.Duration(units)*unit),
		fmt.Sprintf("at most %d worker IDs, no duplicate; %.2f reads and writes per second", most, s.calls(borrow/unit)/unit.Seconds()),
		"%d UIDs in %.1f s, %d of them twice; %d worker IDs, %d slots, %d changes of the lease; %.2f reads and %.2f writes per second",
		got, took.Seconds(), duplicates, len(workers), slots, stats.Rollovers, perSecond(c.reads), perSecond(c.writes))
	if full := time.Duration(units) * unit; isMeasuring() && took > full+full/50 {
		t.Errorf("the load took %v, want %v: the rate was too low", took, full)
	}
}

// calls returns the reads per unit, and as many writes, by the cost model of doc/fleet.md: an extension after each
// interval of UID time, and an Assign, a Reserve and a Release for each lease, which lasts until the borrow limit.
func (s *sustained) calls(borrow time.Duration) float64 {
	interval := Interval(uid.DefaultReserveAhead/s.scale, time.Second/s.scale)
	return overload/float64(interval/(time.Second/s.scale)) + 3*(overload-1)/float64(borrow)
}

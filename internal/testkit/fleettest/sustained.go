package fleettest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/ringuid/ringuid/bitsalloc"
	"github.com/ringuid/ringuid/internal/testkit/slottest"
	"github.com/ringuid/ringuid/internal/testkit/uniq"
	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// Sustained takes UIDs from one generator for ten minutes, at the load of the target, with the default times and the default
// layout, and compares each UID with all others. The number of worker IDs that are used is bounded: load divided by rate,
// a twentieth more, because the first unit of a lease may be the next one, and two. As a test, it takes 6 seconds at 50 times the
// layout's rate at most, and all times are a tenth.
var Sustained = Part{name: "sustained", run: func(t *testing.T, target Target) {
	s := sustained{meter: newMeter(target, "sustained"), scale: 1, layout: bitsalloc.Default()}
	rate := s.layout.MaxSequence() + 1
	s.overload = max(float64(target.Load)/float64(rate), 10)
	if !isMeasuring() {
		s.scale, s.overload = 10, min(s.overload, 50)
		var err error
		if s.layout, err = bitsalloc.New(32, 22, 9); err != nil { // fewer UIDs in a unit, of which there are more
			t.Fatal(err)
		}
	}
	s.run(t, size(t, SecondsEnv, 600, 60))
}}

// sustained is one call of Sustained.
type sustained struct {
	meter    *meter
	layout   bitsalloc.Layout
	scale    time.Duration // by what all times are divided
	overload float64       // the load, in layout's rates
}

// run takes UIDs for so many units.
func (s *sustained) run(t *testing.T, units int) {
	t.Helper()
	unit := time.Second / s.scale
	a := slottest.New(t, s.meter.store(0), recycled.WithHorizon(workerassign.DefaultHorizon/s.scale),
		recycled.WithClockBound(workerassign.DefaultClockBound/s.scale), recycled.WithSkew(workerassign.DefaultSkew/s.scale))
	g, err := uid.NewCached(t.Context(), a, uid.WithLayout(s.layout), uid.WithTimeUnit(unit), uid.WithReserveAhead(uid.DefaultReserveAhead/s.scale),
		uid.WithEpoch(time.Now().Add(-time.Hour).Truncate(time.Second)), uid.WithLogger(discard()))
	if err != nil {
		t.Fatal(err)
	}
	var set uniq.Set
	writer, workers, lastWorker := set.Writer(), map[int64]bool{}, int64(-1)
	perUnit := s.overload * float64(s.layout.MaxSequence()+1)
	want, got, duplicates, late := int64(float64(units)*perUnit), int64(0), 0, time.Duration(0)
	batch, took := make([]uid.ID, 1000), []time.Duration(nil)
	before, begin := s.meter.counts(), time.Now()
	for got < want {
		// If this machine or the store was slow, all that follows is later: a burst would be a greater load.
		due := begin.Add(late + time.Duration(float64(got)/perUnit*float64(unit)))
		if behind := time.Since(due); behind > unit/10 {
			late += behind
		} else if behind < -time.Millisecond {
			time.Sleep(-behind)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		called := time.Now()
		n, err := g.NextNContext(ctx, batch[:min(int64(len(batch)), want-got)])
		took = append(took, time.Since(called))
		cancel()
		if err != nil {
			t.Fatalf("after %d UIDs: %v", got+int64(n), err)
		}
		for _, id := range batch[:n] {
			if !writer.Add(int64(id)) {
				duplicates++
			}
			if _, worker, _ := s.layout.Split(int64(id)); worker != lastWorker {
				workers[worker], lastWorker = true, worker
			}
		}
		got += int64(n)
	}
	elapsed, c, stats := time.Since(begin), s.meter.counts().since(before), g.Stats()
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	slices.Sort(took)
	slots, most := s.meter.pool(t).Slots, int64(s.overload*1.05+2)
	if duplicates > 0 || set.Len() != want || int64(len(workers)) > most || slots > most || len(workers) < 2 || stats.LostLeases > 0 {
		t.Errorf("%d UIDs, %d of them twice, of %d worker IDs in a pool of %d slots, with %d leases lost; want %d, 0, at most %d of both, and 0",
			set.Len(), duplicates, len(workers), slots, stats.LostLeases, want, most)
	}
	perSecond := func(n float64) float64 { return n / elapsed.Seconds() }
	s.meter.target.report(t, 40, fmt.Sprintf("%s UIDs per second for %v", short(perUnit/unit.Seconds()), time.Duration(units)*unit),
		fmt.Sprintf("at most %d worker IDs, no duplicate; %s reads and writes per second", most, short(s.calls(float64(stats.BorrowLimit/unit))/unit.Seconds())),
		"%d UIDs in %.1f s, %d of them twice; %d worker IDs, %d slots, %d changes of the lease; %s reads and %s writes per second; a batch of %d takes %v (p99), %v at most",
		got, elapsed.Seconds(), duplicates, len(workers), slots, stats.Rollovers, short(perSecond(float64(c.reads))), short(perSecond(float64(c.writes))),
		len(batch), took[len(took)*99/100], took[len(took)-1].Round(time.Microsecond))
	if full := time.Duration(units) * unit; isMeasuring() && elapsed > full+full/50 {
		t.Errorf("the load took %v, want %v: the rate was too low", elapsed, full)
	}
}

// calls returns the reads per unit, and as many writes, by the cost model of doc/internals/fleet.md: an extension after each
// interval of UID time, and an Assign, a Reserve and a Release for each lease, which lasts until the borrow limit.
func (s *sustained) calls(borrow float64) float64 {
	interval := Interval(uid.DefaultReserveAhead/s.scale, time.Second/s.scale)
	return s.overload/float64(interval/(time.Second/s.scale)) + 3*(s.overload-1)/borrow
}

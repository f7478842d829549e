package uid

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/bitsalloc"
	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/assigntest"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// A generator that is OK returns a UID when the next time unit starts, and one that is not returns none at once,
// whatever happens to the store, to its clock and to the load. No call waits for longer than its context. Health cannot
// know about a store that hangs since the last extension, or about one that is down while the generator is idle.
func TestHealthRandom(t *testing.T) {
	testkit.WithoutRace(t)
	for seed := range testkit.Amount[uint64](1, 1, 8) {
		for _, mode := range []string{"Cached", "Default"} {
			t.Run(fmt.Sprint(mode, seed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { healthRandom(t, mode, seed) })
			})
		}
	}
}

func healthRandom(t *testing.T, mode string, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 7))
	quiet := slog.New(slog.DiscardHandler)
	var mopts []assigntest.MemoryOption
	if r.IntN(2) == 0 {
		mopts = append(mopts, assigntest.WithNoLoss())
	}
	m := assigntest.NewMemory(mopts...)
	rec := func() workerassign.Assigner {
		return recycled.New(m, recycled.WithLogger(quiet), recycled.WithName("x"))
	}
	a := rec()
	switch r.IntN(4) {
	case 0:
		a = workerassign.Divide(a, 2)
	case 1:
		a = workerassign.Prefix(a, 1, 2)
	}
	l, _ := bitsalloc.New(35, 10, 3)
	opts := []any{WithLogger(quiet), WithEpoch(recycledEpoch), WithLayout(l), WithBoostPower(1)}
	if mode == "Cached" && r.IntN(2) == 0 {
		opts = append(opts, WithScheduleInterval(0))
	}
	if r.IntN(3) == 0 {
		opts = append(opts, WithReserveAhead(2*time.Second))
	}
	construct := func() Generator {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var g Generator
		var err error
		if mode == "Cached" {
			var c *Cached
			c, err = NewCached(ctx, a, accepted[Option](opts)...)
			g = c
		} else {
			var d *Default
			d, err = NewDefault(ctx, a, accepted[DefaultOption](opts)...)
			g = d
		}
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	gens := []Generator{construct()}
	if r.IntN(2) == 0 {
		gens = append(gens, construct())
	}
	defer func() {
		m.SetFaults(nil)
		m.Resume()
		for _, g := range gens {
			b := time.Now()
			g.Close()
			if took := time.Since(b); took > 6*time.Second {
				t.Errorf("Close took %v", took)
			}
		}
		synctest.Wait()
	}()
	seen := map[ID]bool{}
	down, paused := false, false
	begin := time.Now()
	var trace []string
	for step := range 250 {
		event := r.IntN(12)
		switch event {
		case 0, 1:
			down = !down
			d := down
			m.SetFaults(func(assigntest.Op) assigntest.Fault {
				if d {
					return assigntest.LoseRequest
				}
				return assigntest.NoFault
			})
		case 2:
			if paused = !paused; paused {
				m.Pause()
			} else {
				m.Resume()
			}
		case 3:
			if r.IntN(4) == 0 && !paused {
				m.Failover(r.IntN(3))
			}
		case 4:
			if r.IntN(5) == 0 {
				m.StepClock(time.Duration(r.IntN(9)-4) * time.Second)
			}
		}
		var d time.Duration
		switch r.IntN(4) {
		case 0:
			d = time.Duration(r.IntN(900)) * time.Millisecond
		case 1:
			d = time.Duration(r.IntN(10_000)) * time.Millisecond
		case 2:
			d = time.Duration(r.IntN(100_000)) * time.Millisecond
		case 3:
			if r.IntN(10) == 0 {
				d = time.Hour
			}
		}
		time.Sleep(d)
		g := gens[r.IntN(len(gens))]
		for range r.IntN(30) {
			id, err := timedNext(t, g, time.Duration(r.IntN(100))*time.Millisecond)
			if err == nil {
				if seen[id] {
					t.Fatal("twice")
				}
				seen[id] = true
			}
		}
		trace = append(trace, fmt.Sprintf("step %d at %v event %d down %v paused %v slept %v", step, time.Since(begin), event, down, paused, d))
		h0 := g.Health()
		synctest.Wait()
		h := g.Health()
		st := g.Stats()
		fail := func(text string, err error) {
			n := max(0, len(trace)-4)
			t.Errorf("%s: %v\nhealth0 %+v err %v\nhealth %+v err %v\nstats %+v\n%q", text, err, h0, h0.Err, h, h.Err, st, trace[n:])
		}
		if h.OK() {
			id, err := timedNext(t, g, 1010*time.Millisecond)
			if err != nil && !paused && !(h.For == 0 && down) {
				fail("OK but Next fails", err)
				return
			}
			if err == nil {
				if seen[id] {
					t.Fatal("twice")
				}
				seen[id] = true
			}
		} else if id, err := timedNext(t, g, 0); err == nil {
			if seen[id] {
				t.Fatal("twice")
			}
			seen[id] = true
			fail("not OK but Next works", nil)
			return
		}
	}
}

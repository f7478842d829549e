package recycled_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/ledger"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/assigntest"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// history is a random history of generators on one store, with faults. One goroutine makes all calls. A seed
// repeats the faults, but not the choices of Recycled, which are random too.
type history struct {
	*testing.T
	*assigntest.Memory
	seed   uint64
	rand   *rand.Rand
	faulty bool
	step   time.Duration // how far the store's clock is set forward
	leases []*randomLease
	events []string
	found  string // which leases overlap; "" if none do
	log    *ledger.Log

	copies        bool // whether processes are copied while they run
	tokensAreKept bool // a copy takes the tokens of the other one for its own, as if extensions had no fresh ones (R4)
	voids         int  // how many leases were void
}

// randomLease is a lease of a random history, and what its generator may have stamped.
type randomLease struct {
	workerassign.Lease
	name  string
	begin time.Time // NotBefore, or the end of the grant when the process was copied: what comes before, both have
	until time.Time // the end of the grant, or what was used
	ended bool
}

func (h *history) note(format string, args ...any) {
	h.events = append(h.events, time.Now().UTC().Format("15:04:05.000 ")+fmt.Sprintf(format, args...))
}

// fault injects a fault into about an eighth of the calls.
func (h *history) fault(op assigntest.Op) assigntest.Fault {
	if !h.faulty || h.rand.IntN(8) > 0 {
		return assigntest.NoFault
	}
	f := []assigntest.Fault{assigntest.LoseRequest, assigntest.LoseReply, assigntest.LoseReply, assigntest.Delay, assigntest.Delay}[h.rand.IntN(5)]
	if op.Write != nil {
		h.note("fault %d in a write of %d slots", f, len(op.Write.Slots))
	}
	return f
}

// check compares the span of a lease with all others.
func (h *history) check(l *randomLease) {
	for _, other := range h.leases {
		if other == l || other.WorkerID() != l.WorkerID() {
			continue
		}
		begin, end := l.begin, l.until
		if other.begin.After(begin) {
			begin = other.begin
		}
		if other.until.Before(end) {
			end = other.until
		}
		if begin.Before(end) {
			h.found = fmt.Sprintf("seed %d: worker ID %d: lease %s has the time from %v to %v, and lease %s from %v to %v", h.seed, l.WorkerID(),
				l.name, l.begin, l.until, other.name, other.begin, other.until)
		}
	}
}

// act makes one random step.
func (h *history) act(assigners []workerassign.Assigner, lossy bool) {
	ctx, cancel := context.WithTimeout(context.Background(), h.upTo(3*time.Second))
	defer cancel()
	h.faulty = true
	defer func() { h.faulty = false }()
	var l *randomLease
	if len(h.leases) > 0 {
		l = h.leases[max(len(h.leases)-1-h.rand.IntN(6), 0)]
	}
	switch n := h.rand.IntN(20); {
	case n < 6:
		granted, err := assigners[h.rand.IntN(len(assigners))].Assign(ctx, workerassign.Request{MaxWorkerID: 2, Format: "f", Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			h.note("assign: %v", err)
			return
		}
		l = &randomLease{Lease: granted, name: fmt.Sprint(len(h.leases)), begin: granted.NotBefore(), until: granted.NotBefore()}
		h.note("lease %s of worker ID %d begins at %v", l.name, l.WorkerID(), l.NotBefore())
		h.leases = append(h.leases, l)
	case n < 11 && l != nil && !l.ended: // also leases whose generators were paused
		if h.tokensAreKept {
			for _, slot := range h.Dump().Slots {
				if slot.WorkerID == l.WorkerID() {
					recycled.AdoptToken(l.Lease, slot.Token)
				}
			}
		}
		until, err := l.Reserve(ctx, time.Now().Add(h.upTo(25*time.Second)))
		h.note("lease %s: Reserve: %v, %v", l.name, until.Until, err)
		if err == nil {
			l.until = until.Until
			h.check(l)
		}
		if errors.Is(err, workerassign.ErrVoid) {
			l.ended = true
			h.voids++
		}
	case n < 14 && l != nil && !l.ended:
		l.ended = true
		used := l.begin
		if length := l.until.Sub(used); length > 0 {
			used = used.Add(h.upTo(length + 1))
			if h.rand.IntN(2) == 0 && used.After(time.Now()) && time.Now().After(l.begin) {
				used = time.Now()
			}
		}
		l.until = used
		h.note("lease %s: Release(%v): %v", l.name, used, l.Release(ctx, used))
	case n == 17 && h.copies && l != nil && !l.ended && h.rand.IntN(2) == 0:
		l.begin = l.until
		twin := &randomLease{Lease: recycled.CopyLease(l.Lease), name: l.name + " copied", begin: l.until, until: l.until}
		h.note("lease %s: its process is copied", l.name)
		h.leases = append(h.leases, twin)
	case n == 14 && lossy && h.rand.IntN(3) == 0:
		lost := h.rand.IntN(6)
		h.note("failover, %d writes are lost", lost)
		h.Failover(lost)
	case n == 15:
		h.note("%d delayed writes are made", h.Deliver())
	case n == 16:
		step := h.upTo(4*time.Second) - 2*time.Second
		h.StepClock(step - h.step)
		h.step = step
		h.note("the store's clock is %v ahead", step)
	default:
		d := h.upTo(2 * time.Second)
		if h.rand.IntN(4) == 0 {
			d = h.upTo(30 * time.Second)
		}
		time.Sleep(d)
	}
}

// newHistory returns a history that a seed determines.
func newHistory(t *testing.T, seed uint64) *history {
	var opts []assigntest.MemoryOption
	if seed%3 == 0 {
		opts = append(opts, assigntest.WithNoLoss())
	}
	h := &history{T: t, Memory: assigntest.NewMemory(opts...), seed: seed, rand: rand.New(rand.NewPCG(seed, 0))}
	h.SetFaults(h.fault)
	return h
}

// run makes random steps until leases overlap.
func (h *history) run() {
	var assigners []workerassign.Assigner
	begin, calls := time.Now(), time.Duration(0)
	h.log = ledger.New(func() time.Duration {
		calls++ // no two calls are at the same time
		return time.Since(begin) + calls
	})
	for n := range 4 {
		o := []recycled.Option{recycled.WithHorizon(20 * time.Second), recycled.WithFencing(0),
			recycled.WithSkew(5 * time.Second), recycled.WithClockBound(4 * time.Second)}
		if n < 2 {
			o = append(o, recycled.WithName(fmt.Sprint("name-", n)))
		}
		if h.copies { // of which the ledger knows nothing
			assigners = append(assigners, recycled.New(h.Memory, o...))
			continue
		}
		c := h.log.Client(h.Memory, 4*time.Second)
		assigners = append(assigners, c.Assigner(recycled.New(c, o...)))
	}
	for step := 0; step < 300 && h.found == ""; step++ {
		h.act(assigners, h.seed%3 > 0)
	}
}

// mustRun is run, and fails the test if leases overlap.
func (h *history) mustRun() {
	h.Helper()
	h.run()
	if report := h.log.Check(); len(report.Violations) > 0 {
		h.found = fmt.Sprintf("seed %d: the ledger: %v", h.seed, report)
	}
	if h.found != "" {
		for _, e := range h.events[max(len(h.events)-60, 0):] {
			h.Log(e)
		}
		h.Fatal(h.found)
	}
}

func randomSeeds() uint64 { return testkit.Amount[uint64](100, 200, 400) }

// Random histories keep invariant 1: with lost, late and ambiguous replies, failovers that lose writes, steps
// of the store's clock, and generators that wake up after another has taken their slots.
func TestRandomHistories(t *testing.T) {
	testkit.WithoutRace(t)
	leases := 0
	for seed := range randomSeeds() {
		synctest.Test(t, func(t *testing.T) {
			h := newHistory(t, seed+1)
			h.mustRun()
			leases += len(h.leases)
			if h.voids > 0 {
				t.Errorf("seed %d: %d leases were void, although no process was copied and the store has lost nothing without another history", seed+1, h.voids)
			}
		})
	}
	if leases < int(randomSeeds())*20 {
		t.Errorf("%d histories had only %d leases", randomSeeds(), leases)
	}
	t.Logf("%d histories had %d leases", randomSeeds(), leases)
}

// R4: the same with processes that are copied while they run. Only what was granted before, both of them may stamp.
func TestR4RandomCopies(t *testing.T) {
	testkit.WithoutRace(t)
	voids := 0
	for seed := range randomSeeds() {
		synctest.Test(t, func(t *testing.T) {
			h := newHistory(t, seed+1)
			h.copies = true
			h.mustRun()
			voids += h.voids
		})
	}
	if voids < int(randomSeeds()/4) {
		t.Errorf("%d histories had only %d leases that were void", randomSeeds(), voids)
	}
	t.Logf("%d histories had %d leases that were void", randomSeeds(), voids)
}

// If an extension kept the token, the histories would show it.
func TestR4RandomCopiesFindKeptTokens(t *testing.T) {
	for seed := range randomSeeds() {
		var h *history
		synctest.Test(t, func(t *testing.T) {
			h = newHistory(t, seed+1)
			h.copies, h.tokensAreKept = true, true
			h.run()
		})
		if h.found != "" {
			t.Logf("%d seeds: %s", seed+1, h.found)
			return
		}
	}
	t.Errorf("%d seeds do not show it", randomSeeds())
}

// upTo returns a random duration from 0 to less than d.
func (h *history) upTo(d time.Duration) time.Duration { return time.Duration(h.rand.Int64N(int64(d))) }

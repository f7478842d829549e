package workerassign_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/assigntest"
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
}

// randomLease is a lease of a random history, and what its generator may have stamped.
type randomLease struct {
	workerassign.Lease
	name  string
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
		begin, end := l.NotBefore(), l.until
		if other.NotBefore().After(begin) {
			begin = other.NotBefore()
		}
		if other.until.Before(end) {
			end = other.until
		}
		if begin.Before(end) {
			for _, e := range h.events[max(len(h.events)-60, 0):] {
				h.Log(e)
			}
			h.Fatalf("seed %d: worker ID %d: lease %s has the time from %v to %v, and lease %s from %v to %v", h.seed, l.WorkerID(),
				l.name, l.NotBefore(), l.until, other.name, other.NotBefore(), other.until)
		}
	}
}

// act makes one random step.
func (h *history) act(assigners []*workerassign.Recycled, lossy bool) {
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
		l = &randomLease{Lease: granted, name: fmt.Sprint(len(h.leases)), until: granted.NotBefore()}
		h.note("lease %s of worker ID %d begins at %v", l.name, l.WorkerID(), l.NotBefore())
		h.leases = append(h.leases, l)
	case n < 11 && l != nil && !l.ended: // also leases whose generators were paused
		until, err := l.Reserve(ctx, time.Now().Add(h.upTo(25*time.Second)))
		h.note("lease %s: Reserve: %v, %v", l.name, until, err)
		if err == nil {
			l.until = until
			h.check(l)
		}
	case n < 14 && l != nil && !l.ended:
		l.ended = true
		used := l.NotBefore()
		if length := l.until.Sub(used); length > 0 {
			used = used.Add(h.upTo(length + 1))
			if h.rand.IntN(2) == 0 && used.After(time.Now()) && time.Now().After(l.NotBefore()) {
				used = time.Now()
			}
		}
		l.until = used
		h.note("lease %s: Release(%v): %v", l.name, used, l.Release(ctx, used))
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

// Random histories keep invariant 1: with lost, late and ambiguous replies, failovers that lose writes, steps
// of the store's clock, and generators that wake up after another has taken their slots.
func TestRandomHistories(t *testing.T) {
	seeds, base := uint64(400), uint64(1)
	if testing.Short() || testkit.Race {
		seeds = 100
	}
	leases := 0
	for seed := base; seed < base+seeds; seed++ {
		synctest.Test(t, func(t *testing.T) {
			var opts []assigntest.MemoryOption
			lossy := seed%3 > 0
			if !lossy {
				opts = append(opts, assigntest.WithNoLoss())
			}
			h := &history{T: t, Memory: assigntest.NewMemory(opts...), seed: seed, rand: rand.New(rand.NewPCG(seed, 0))}
			h.SetFaults(h.fault)
			var assigners []*workerassign.Recycled
			for n := range 4 {
				o := []workerassign.RecycledOption{workerassign.WithHorizon(20 * time.Second), workerassign.WithFencing(0),
					workerassign.WithSkew(5 * time.Second), workerassign.WithClockBound(4 * time.Second)}
				if n < 2 {
					o = append(o, workerassign.WithName(fmt.Sprint("name-", n)))
				}
				assigners = append(assigners, workerassign.NewRecycled(h.Memory, o...))
			}
			for range 300 {
				h.act(assigners, lossy)
			}
			leases += len(h.leases)
		})
	}
	if leases < int(seeds)*20 {
		t.Errorf("%d histories had only %d leases", seeds, leases)
	}
	t.Logf("%d histories had %d leases", seeds, leases)
}

// upTo returns a random duration from 0 to less than d.
func (h *history) upTo(d time.Duration) time.Duration { return time.Duration(h.rand.Int64N(int64(d))) }

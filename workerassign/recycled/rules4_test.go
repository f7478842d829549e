package recycled_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/assigntest"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// R4: if the reply to a write is lost, the slot is read again, and its token decides.
func TestRule4AssignReplyLost(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.release(f.assign(f.assigner()))
		time.Sleep(2 * time.Millisecond)
		for _, what := range []string{"a free slot", "a new slot"} {
			f.faultWrites(slotWrite, assigntest.LoseReply)
			l := f.assign(f.assigner())
			f.reserve(l, time.Second)
			if s := f.Dump(); s.Pool.Slots > 2 {
				f.Errorf("%s: the pool has %d slots; a lost reply must not cost a slot", what, s.Pool.Slots)
			}
		}
	})
}

// R4: a claim of WithWorkerID whose reply was lost, and so the read after it, is found at the next try. It is no other process's.
func TestRule4FixedWorkerIDReplyLost(t *testing.T) {
	inFleet(t, func(f *fleet) {
		fixed := recycled.WithWorkerID(3)
		f.release(f.assign(f.assigner(fixed)))
		time.Sleep(2 * time.Millisecond)
		lost := 0
		f.SetFaults(func(op assigntest.Op) assigntest.Fault {
			switch isClaim := op.Write != nil && claimOf(op.Write); {
			case lost == 0 && isClaim, lost == 1 && op.Write == nil:
				lost++
				return assigntest.LoseReply
			}
			return assigntest.NoFault
		})
		ctx, cancel := withTimeout(f, time.Second)
		defer cancel()
		if l, err := f.assigner(fixed).Assign(ctx, f.request()); err != nil || lost != 2 {
			f.Errorf("Assign() = %v, %v, with %d lost replies; want a lease with two", l, err, lost)
		}
	})
}

// R4: a request that was lost is tried again, with another token.
func TestRule4AssignRequestLost(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.release(f.assign(f.assigner()))
		time.Sleep(2 * time.Millisecond)
		tokens := map[string]bool{}
		f.SetFaults(func(op assigntest.Op) assigntest.Fault {
			if op.Write == nil || len(tokens) == 3 {
				return assigntest.NoFault
			}
			tokens[op.Write.Slots[0].Token] = true
			return assigntest.LoseRequest
		})
		l := f.assign(f.assigner())
		if len(tokens) != 3 || tokens[f.slot(l.WorkerID()).Token] {
			f.Errorf("three tries had the tokens %v, and the slot has %q; each try must have a token of its own", tokens, f.slot(l.WorkerID()).Token)
		}
		f.reserve(l, time.Second)
	})
}

// R4: a write that arrives later does no harm: not that of an earlier try, and not one after the release.
func TestRule4LateWrites(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.release(f.assign(f.assigner()))
		time.Sleep(2 * time.Millisecond)
		// The first try is made just when the second one has been prepared.
		tries := 0
		f.SetFaults(func(op assigntest.Op) assigntest.Fault {
			if op.Write == nil {
				return assigntest.NoFault
			}
			tries++
			if tries == 1 {
				return assigntest.Delay
			}
			f.Deliver()
			return assigntest.NoFault
		})
		l := f.assign(f.assigner())
		f.SetFaults(nil)
		granted := f.reserve(l, 10*time.Second)

		f.faultWrites(anyWrite, assigntest.Delay, assigntest.Delay)
		if until, err := l.Reserve(f.Context(), time.Now().Add(20*time.Second)); err == nil {
			f.Fatalf("Reserve whose write has not been made granted %v", until.Until)
		}
		if err := l.Release(f.Context(), granted); err != nil {
			f.Fatal(err)
		}
		released := f.slot(l.WorkerID())
		if f.Deliver() != 0 || f.slot(l.WorkerID()) != released {
			f.Errorf("a Reserve that arrived after the release changed the slot from %+v to %+v", released, f.slot(l.WorkerID()))
		}
	})
}

// R4: after an error of its write, Reserve tries a second time. It grants nothing that was not acknowledged.
func TestRule4Reserve(t *testing.T) {
	inFleet(t, func(f *fleet) {
		l := f.assign(f.assigner())
		f.faultWrites(anyWrite, assigntest.LoseReply)
		f.wantTime("the grant whose reply was lost", f.reserve(l, 10*time.Second), time.Now().Add(10*time.Second))
		f.faultWrites(anyWrite, assigntest.LoseRequest, assigntest.LoseRequest)
		if until, err := l.Reserve(f.Context(), time.Now().Add(20*time.Second)); err == nil || errors.Is(err, workerassign.ErrLeaseLost) {
			f.Errorf("Reserve whose request was lost returned %v, %v; want an error of the store", until.Until, err)
		} else if !strings.Contains(err.Error(), "memory store") {
			f.Errorf("the error %q does not name the store", err)
		}
		f.faultWrites(anyWrite, assigntest.Delay, assigntest.Delay)
		if until, err := l.Reserve(f.Context(), time.Now().Add(30*time.Second)); err == nil {
			f.Errorf("Reserve whose request was delayed granted %v", until.Until)
		}
		f.Deliver()
		f.SetFaults(nil)
		f.wantTime("the grant that was made late", f.reserve(l, 0), time.Now().Add(30*time.Second))
	})
}

// R4: after an error of its write, Release looks whether it was made, and tries a second time.
func TestRule4Release(t *testing.T) {
	inFleet(t, func(f *fleet) {
		for _, faults := range [][]assigntest.Fault{{assigntest.LoseReply}, {assigntest.LoseRequest}} {
			l := f.assign(f.assigner())
			f.reserve(l, time.Minute)
			f.faultWrites(anyWrite, faults...)
			if err := l.Release(f.Context(), time.Now()); err != nil {
				f.Fatal(err)
			}
			if slot := f.slot(l.WorkerID()); slot.Token != "" {
				f.Errorf("after fault %v the slot is not released: %+v", faults, slot)
			}
		}
		l := f.assign(f.assigner())
		f.faultWrites(anyWrite, assigntest.LoseRequest, assigntest.LoseRequest, assigntest.LoseRequest)
		if err := l.Release(f.Context(), time.Now()); !errors.Is(err, assigntest.ErrFault) {
			f.Errorf("Release whose requests are lost returned %v, want the error of the store", err)
		}
	})
}

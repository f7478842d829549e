// Package linear tests whether a store is linearizable: whether each call has its effect at one instant between its call and its
// return. It lets several clients use a store at once, injects the faults of the store's harness, and gives the calls that were made to the
// checker Porcupine (github.com/anishathalye/porcupine), which knows nothing of stores:
//
//	func TestLinearizable(t *testing.T) {
//		linear.Run(t, storetest.Harness{…}) // the one of storetest.Run
//	}
//
// Each slot and the pool are registers with compare-and-swap, and each tag is a counter. A call that returned an error may have its effect at any time after
// its call, or never.
package linear

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/ringuid/ringuid/stores/storetest"
)

const (
	clients = 4
	pause   = 2 * time.Millisecond // between the calls of a client
	before  = 100                  // successful calls before a fault, and after it
	during  = 300 * time.Millisecond
	timeout = 2 * time.Second  // of a call
	patient = 10 * time.Minute // until a store works again, and of Porcupine
)

// Run tests the store of a harness. Each test is a subtest with a store of its own. They do not run in parallel.
func Run(t *testing.T, h storetest.Harness) {
	t.Run("slots", func(t *testing.T) {
		f := h.Slots
		inject(t, map[string]fault{
			"Kill": {f.Kill, f.Start}, "Pause": {f.Pause, f.Resume}, "LoseRequests": around(f.LoseRequests), "LoseReplies": around(f.LoseReplies),
		}, func(t *testing.T, disturb func()) { slots(t, h, disturb) })
	})
	t.Run("tags", func(t *testing.T) {
		f := h.Tags.Faults
		inject(t, map[string]fault{
			"Kill": {f.Kill, f.Start}, "Pause": {f.Pause, f.Resume}, "LoseReplies": around(f.LoseReplies), "LoseWrites": around(f.LoseWrites),
		}, func(t *testing.T, disturb func()) { tags(t, h, disturb) })
	})
}

// A fault begins and ends. It is nil if the harness does not have it.
type fault struct{ begin, end func(testing.TB) }

// around returns the fault of a function that injects it while it calls another.
func around(inject func(testing.TB, func())) fault {
	if inject == nil {
		return fault{}
	}
	return fault{func(tb testing.TB) { inject(tb, func() { time.Sleep(during) }) }, func(testing.TB) {}}
}

// inject runs a test without a fault, and with each fault that the harness has.
func inject(t *testing.T, faults map[string]fault, run func(t *testing.T, disturb func())) {
	t.Run("no fault", func(t *testing.T) { run(t, func() {}) })
	for name, f := range faults {
		if f.begin != nil && f.end != nil {
			t.Run(name, func(t *testing.T) {
				run(t, func() {
					f.begin(t)
					time.Sleep(during)
					f.end(t)
				})
			})
		}
	}
}

// A history is the calls of several clients, by the register that they use.
type history struct {
	begin time.Time
	mu    sync.Mutex
	calls map[any][]porcupine.Operation
	done  atomic.Int64 // calls that have succeeded
}

func newHistory() *history {
	return &history{begin: time.Now(), calls: map[any][]porcupine.Operation{}}
}

// now returns the time of a call or a return.
func (h *history) now() int64 { return int64(time.Since(h.begin)) }

// add adds a call.
func (h *history) add(register any, client int, call int64, input, output any) {
	end := h.now()
	if output == nil { // unknown: it may have its effect at any time
		end = math.MaxInt64
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls[register] = append(h.calls[register], porcupine.Operation{ClientId: client, Input: input, Call: call, Output: output, Return: end})
}

// run lets clients make calls, before, while and after the store is disturbed. call makes one call, and returns its error.
func (h *history) run(t *testing.T, disturb func(), call func(ctx context.Context, client int) error) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait() // also if the test ends here
	defer stop()
	for client := range clients {
		running.Go(func() {
			for ; ctx.Err() == nil; time.Sleep(pause) {
				attempt, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
				if err := call(attempt, client); err == nil {
					h.done.Add(1)
				} else if err != errRefused {
					time.Sleep(during / 20)
				}
				cancel()
			}
		})
	}
	h.await(t)
	disturb()
	h.await(t)
}

// await waits until the clients have made some more calls.
func (h *history) await(t *testing.T) {
	t.Helper()
	for want, end := h.done.Load()+before, time.Now().Add(patient); h.done.Load() < want; time.Sleep(pause) {
		if time.Now().After(end) {
			t.Fatalf("the store does not work: %d calls are missing after %v", want-h.done.Load(), patient)
		}
	}
}

// check fails the test unless the calls of each register are linearizable.
func (h *history) check(t *testing.T, m porcupine.Model) {
	t.Helper()
	for _, problem := range h.problems(m) {
		t.Error(problem)
	}
	calls, unknown := 0, 0
	for _, list := range h.calls {
		calls += len(list)
		for _, c := range list {
			if c.Output == nil {
				unknown++
			}
		}
	}
	t.Logf("%d calls of %d registers, %d of them without a result", calls, len(h.calls), unknown)
}

// problems returns the registers whose calls are not linearizable.
func (h *history) problems(m porcupine.Model) (problems []string) {
	for register, list := range h.calls {
		switch porcupine.CheckOperationsTimeout(m, list, patient) {
		case porcupine.Ok:
		case porcupine.Illegal:
			problems = append(problems, fmt.Sprintf("%v is not linearizable: no order of its %d calls explains all results:\n%s", register, len(list), describe(m, list)))
		default:
			problems = append(problems, fmt.Sprintf("Porcupine has not decided about the %d calls of %v within %v", len(list), register, patient))
		}
	}
	return problems
}

// describe returns the calls in the order of their begin, one in a line.
func describe(m porcupine.Model, calls []porcupine.Operation) (text string) {
	calls = slices.Clone(calls)
	slices.SortFunc(calls, func(a, b porcupine.Operation) int { return int(a.Call - b.Call) })
	for _, c := range calls {
		text += fmt.Sprintf("[%d, %d] client %d: %s\n", c.Call, c.Return, c.ClientId, m.DescribeOperation(c.Input, c.Output))
	}
	return text
}

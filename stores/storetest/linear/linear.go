// Package linear tests whether a store is linearizable: whether each call has its effect at one instant between its call and its
// return. It lets several clients use a store at once, injects the faults of the store's harness, and gives the calls that were made to the
// checker Porcupine (github.com/anishathalye/porcupine), which knows nothing of stores:
//
//	func TestLinearizable(t *testing.T) {
//		linear.Run(t, storetest.Harness{…}) // the one of storetest.Run
//	}
//
// Each slot and the pool are registers with compare-and-swap, and each tag is a counter. A call that returned an error may have
// its effect at any time after its call, or never. Calls must fail while the harness kills the store, loses requests or replies, or delays
// writes. A history of the store that has ended must not come back: so LoseWrites must make the former primary unreachable, and a Read must
// return the history and the records of one instant.
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
			"Kill": {disturb: around(f.Kill, f.Start), fails: true}, "Pause": {disturb: around(f.Pause, f.Resume)},
			"LoseRequests": {disturb: f.LoseRequests, fails: true}, "LoseReplies": {disturb: f.LoseReplies, fails: true},
			"LoseWrites": {disturb: f.LoseWrites, loses: true}, "DelayWrites": {disturb: delayed(f.DelayWrites), fails: true},
			"StepClock": {disturb: stepped(f.StepClock)},
		}, func(t *testing.T, f fault) { slots(t, h, f) })
	})
	t.Run("tags", func(t *testing.T) {
		f := h.Tags.Faults
		inject(t, map[string]fault{
			"Kill": {disturb: around(f.Kill, f.Start), fails: true}, "Pause": {disturb: around(f.Pause, f.Resume)},
			"LoseReplies": {disturb: f.LoseReplies, fails: true}, "LoseWrites": {disturb: f.LoseWrites, loses: true},
		}, func(t *testing.T, f fault) { tags(t, h, f) })
	})
}

// A fault disturbs the store while it calls a function.
type fault struct {
	disturb func(testing.TB, func()) // nil if the harness does not have it
	fails   bool                     // calls fail meanwhile; otherwise, they may wait for its end, fail or succeed
	loses   bool                     // what succeeds meanwhile is lost
}

// around returns how to disturb a store from a begin to an end.
func around(begin, end func(testing.TB)) func(testing.TB, func()) {
	if begin == nil || end == nil {
		return nil
	}
	return func(tb testing.TB, call func()) {
		begin(tb)
		call()
		end(tb)
	}
}

// delayed returns how to disturb a store by writes that arrive later than others that are sent after them.
func delayed(delay func(testing.TB, func()) func()) func(testing.TB, func()) {
	if delay == nil {
		return nil
	}
	return func(tb testing.TB, call func()) {
		deliver := delay(tb, call)
		time.Sleep(during)
		deliver()
	}
}

// stepped returns how to disturb a store by a clock that is set forward, and back.
func stepped(step func(testing.TB, time.Duration)) func(testing.TB, func()) {
	if step == nil {
		return nil
	}
	return around(func(tb testing.TB) { step(tb, time.Minute) }, func(tb testing.TB) { step(tb, -time.Minute) })
}

// inject runs a test without a fault, and with each fault that the harness has.
func inject(t *testing.T, faults map[string]fault, run func(t *testing.T, f fault)) {
	t.Run("no fault", func(t *testing.T) { run(t, fault{}) })
	for name, f := range faults {
		if f.disturb != nil {
			t.Run(name, func(t *testing.T) { run(t, f) })
		}
	}
}

// A history is the calls of several clients, by the register that they use.
type history struct {
	begin   time.Time
	mu      sync.Mutex
	calls   map[any][]porcupine.Operation
	done    atomic.Int64 // rounds of calls that have succeeded
	unknown atomic.Int64 // calls without a result
	wrong   []string     // what no register shows
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
		h.unknown.Add(1)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls[register] = append(h.calls[register], porcupine.Operation{ClientId: client, Input: input, Call: call, Output: output, Return: end})
}

// run lets clients make calls, before, while and after the store is disturbed. call makes a round of calls, and returns its error. If the
// fault makes calls fail, it lasts until one had no result.
func (h *history) run(t *testing.T, f fault, call func(ctx context.Context, client int) error) {
	t.Helper()
	var running sync.WaitGroup
	var stopped atomic.Bool
	defer running.Wait() // also if the test ends here
	defer stopped.Store(true)
	for client := range clients {
		running.Go(func() {
			for ; !stopped.Load(); time.Sleep(pause) {
				if err := call(context.Background(), client); err == nil {
					h.done.Add(1)
				} else if err != errRefused {
					time.Sleep(during / 20)
				}
			}
		})
	}
	await(t, "calls that succeed", &h.done, before)
	times := 0
	switch {
	case f.loses:
		times = 2 // the first time is not special
	case f.disturb != nil:
		times = 1
	}
	for range times {
		f.disturb(t, func() {
			if f.fails {
				await(t, "calls without a result", &h.unknown, 1)
			}
			time.Sleep(during)
			for want, end := h.done.Load()+clients, time.Now().Add(during+timeout); f.loses && h.done.Load() < want && time.Now().Before(end); {
				time.Sleep(pause)
			}
		})
		await(t, "calls that succeed", &h.done, before)
	}
	await(t, "calls that succeed", &h.done, before)
	if f.fails && h.unknown.Load() == 0 {
		t.Error("the store was not disturbed: each call had a result")
	}
}

// await waits until a number has grown.
func await(t *testing.T, what string, n *atomic.Int64, by int64) {
	t.Helper()
	for want, end := n.Load()+by, time.Now().Add(patient); n.Load() < want; time.Sleep(pause) {
		if time.Now().After(end) {
			t.Fatalf("%d %s are missing after %v", want-n.Load(), what, patient)
		}
	}
}

// check fails the test unless the calls of each register are linearizable.
func (h *history) check(t *testing.T, m porcupine.Model) {
	t.Helper()
	for _, problem := range h.problems(m) {
		t.Error(problem)
	}
	t.Logf("%d registers, %d rounds of calls that succeeded, %d calls without a result", len(h.calls), h.done.Load(), h.unknown.Load())
}

// problems returns what is wrong, and the registers whose calls are not linearizable.
func (h *history) problems(m porcupine.Model) []string {
	problems := slices.Clone(h.wrong)
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

package linear

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/stores/storetest"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// A swap is the input of a Write of a slot; nil is that of a Read.
type swap struct{ old, next string }

// any state: that of a register before its first call.
const anything = "?"

// slotModel is a register with compare-and-swap. The output of a Read is its value, that of a Write is true or false, and nil if
// it is not known.
var slotModel = porcupine.Model{
	Init: func() any { return anything },
	Step: func(state, input, output any) (bool, any) {
		w, isWrite := input.(swap)
		is := isWrite && (state == anything || state == w.old)
		switch {
		case !isWrite:
			return state == anything || state == output, output
		case output == nil && state == w.old: // it may be made now, or never
			return true, w.next
		case output == nil:
			return true, state
		case output == true:
			return is, w.next
		}
		return state != w.old, state
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%v -> %v", input, output) },
}

// A register is a slot, or the pool, in one history of the store, which may lose writes when the history changes.
type register struct {
	worker  int64
	history string
}

const pool = -1 // the worker of the pool's register

const slotCount = 2

// errRefused is the result of a call that was refused, because another was faster: that is no progress.
var errRefused = errors.New("refused")

// slots tests Read and Write.
func slots(t *testing.T, h storetest.Harness, f fault) {
	swaps(t, open(t, h), f).check(t, slotModel)
}

// comesBack notes if a history of the store was used before and after another one.
func (h *history) comesBack() {
	type span struct{ firstReturn, lastCall int64 }
	spans := map[string]span{}
	for r, calls := range h.calls {
		name := r.(register).history
		for _, c := range calls {
			if c.Output == nil || c.Output == false {
				continue // of a Write, which says nothing of the history
			}
			s, known := spans[name]
			if !known {
				s.firstReturn = c.Return
			}
			spans[name] = span{min(s.firstReturn, c.Return), max(s.lastCall, c.Call)}
		}
	}
	for a, x := range spans {
		for b, y := range spans {
			if x.firstReturn < y.lastCall && y.firstReturn < x.lastCall && a < b {
				h.wrong = append(h.wrong, fmt.Sprintf("the histories %q and %q of the store take turns", a, b))
			}
		}
	}
}

// invented notes values that were read, that nobody has written, in any history, and that were not there at first.
func (h *history) invented(first recycled.State) {
	written := map[any]bool{string(first.Pool.Encode()): true}
	for _, slot := range first.Slots {
		written[string(slot.Encode())] = true
	}
	for _, calls := range h.calls {
		for _, c := range calls {
			if w, isWrite := c.Input.(swap); isWrite {
				written[w.next] = true
			}
		}
	}
	for r, calls := range h.calls {
		for _, c := range calls {
			if c.Input == nil && !written[c.Output] {
				h.wrong = append(h.wrong, fmt.Sprintf("%v has a value that nobody has written: %v", r, c.Output))
			}
		}
	}
}

// open returns several clients of a store that no other test uses.
func open(t *testing.T, h storetest.Harness) (stores []storetest.Store) {
	name := "l" + strings.ToLower(rand.Text()[:15])
	for range clients {
		stores = append(stores, h.New(t, name))
	}
	return stores
}

// swaps lets each client read the pool and the slots, and swap one of them.
func swaps(t *testing.T, stores []storetest.Store, f fault) *history {
	t.Helper()
	create(t, stores[0])
	log := newHistory()
	first := log.readPatiently(t, stores[0])
	var last [clients]recycled.State
	var former [clients]string // the history before the last one
	log.run(t, f, func(ctx context.Context, client int) error {
		s := stores[client]
		state, err := log.read(ctx, s, client)
		switch {
		case err != nil && last[client].History == "":
			return err
		case err != nil: // a write may be made although its reply is lost
			state = last[client]
		case state.Pool.Revision == 0 || len(state.Slots) != slotCount:
			return fmt.Errorf("the store has lost records, and has %+v", state)
		default:
			if state.History != last[client].History {
				former[client] = last[client].History
			}
			last[client] = state
		}
		w, r, values := write(state)
		if old := spoil(&w, former[client]); old != "" {
			values.old = old
		}
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		call := log.now()
		made, err := s.Write(ctx, w)
		var output any
		if err == nil {
			output = made
		}
		log.add(r, client, call, values, output)
		if err == nil && !made {
			return errRefused
		}
		return err
	})
	log.readPatiently(t, stores[0])
	log.invented(first)
	log.comesBack()
	log.simplify()
	return log
}

// readPatiently reads the pool and all slots, before the first write and after the last one, which simplify needs. The store may still recover.
func (h *history) readPatiently(t *testing.T, s storetest.Store) recycled.State {
	t.Helper()
	for end := time.Now().Add(patient); ; time.Sleep(during / 20) {
		state, err := h.read(t.Context(), s, 0)
		if err == nil {
			return state
		}
		if time.Now().After(end) {
			t.Fatalf("the store cannot be read for %v: %v", patient, err)
		}
	}
}

// read reads the pool and all slots. The value of a slot that is missing is "".
func (h *history) read(ctx context.Context, s storetest.Store, client int) (recycled.State, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	call := h.now()
	state, err := s.Read(ctx, recycled.Query{WorkerIDs: []int64{0, 1}})
	if err != nil {
		return state, err
	}
	values := map[int64]string{pool: string(state.Pool.Encode()), 0: "", 1: ""}
	for _, slot := range state.Slots {
		values[slot.WorkerID] = string(slot.Encode())
	}
	for worker, value := range values {
		h.add(register{worker, state.History}, client, call, nil, value)
	}
	return state, nil
}

// write returns a write of the pool or of a slot of a state, whose value nobody else writes.
func write(state recycled.State) (recycled.Write, register, swap) {
	w := recycled.Write{History: state.History}
	n := mathrand.IntN(slotCount + 1)
	if n == slotCount {
		old, next := state.Pool, state.Pool
		next.Revision++
		next.Since = old.Since.Add(time.Duration(1+mathrand.IntN(1_000_000)) * time.Millisecond)
		w.Pool, w.ReplacedPool = &next, &old
		return w, register{pool, state.History}, swap{string(old.Encode()), string(next.Encode())}
	}
	old, next := state.Slots[n], state.Slots[n]
	next.Revision++
	next.Token = rand.Text()
	next.Until = old.Until.Add(time.Millisecond)
	w.Slots, w.Replaced = []recycled.Slot{next}, []recycled.Slot{old}
	return w, register{next.WorkerID, state.History}, swap{string(old.Encode()), string(next.Encode())}
}

// spoil makes some writes wrong, so that the store must refuse them: it returns what they replace, which is not there, or "".
func spoil(w *recycled.Write, former string) (old string) {
	switch n := mathrand.IntN(8); {
	case n == 0 && former != "":
		w.History = former
		return "what is of a former history"
	case n == 1 && w.Pool != nil:
		p := *w.ReplacedPool
		p.Since = p.Since.Add(-time.Millisecond)
		w.ReplacedPool = &p
		return "another pool"
	case n == 1:
		w.Replaced[0].Token += "x"
		return "a slot with another token"
	case n == 2 && w.Pool == nil:
		w.Replaced[0].Until = w.Replaced[0].Until.Add(-time.Millisecond)
		return "a slot with another end"
	}
	return ""
}

// simplify forgets calls that no order can contradict:
//   - A write that was refused, if no read of the register began after it: the store may have had another history. With one history there
//     is none of these, because of the last read. A server that has been replaced must not answer again with its former history.
//   - A write of unknown outcome that nobody has seen, because Porcupine would try each order of them. It explains no refusal that remains,
//     as it would be seen by the last read, or by the write that has replaced it.
func (h *history) simplify() {
	for r, calls := range h.calls {
		seen, lastRead := map[any]bool{}, int64(0)
		for _, c := range calls {
			if w, isWrite := c.Input.(swap); isWrite {
				seen[w.old] = true
			} else {
				seen[c.Output] = true
				lastRead = max(lastRead, c.Call)
			}
		}
		h.calls[r] = slices.DeleteFunc(calls, func(c porcupine.Operation) bool {
			w, isWrite := c.Input.(swap)
			return isWrite && (c.Output == nil && !seen[w.next] || c.Output == false && c.Return >= lastRead)
		})
	}
}

// create creates a pool with slots.
func create(t *testing.T, s storetest.Store) {
	t.Helper()
	state, err := s.Read(t.Context(), recycled.Query{All: true})
	if err != nil {
		t.Fatal(err)
	}
	now := state.Now.Truncate(time.Millisecond)
	w := recycled.Write{History: state.History, Pool: &recycled.Pool{Revision: 1, Format: "linear", Slots: slotCount, History: state.History, Since: now,
		Horizon: time.Minute, Fencing: time.Second, Skew: time.Second}, Replaced: make([]recycled.Slot, slotCount)}
	for n := range int64(slotCount) {
		w.Slots = append(w.Slots, recycled.Slot{WorkerID: n, Revision: 1, From: now, Until: now, Written: now, FreeAt: now})
	}
	if made, err := s.Write(t.Context(), w); !made || err != nil {
		t.Fatalf("the pool was not created: Write(%+v) = %v, %v", w, made, err)
	}
}

// counterModel is a counter that only rises. The input of a Take is its size, and the output its range. There may be gaps: of a Take
// without an answer, which needs no place in the order, and when a store has lost writes.
var counterModel = porcupine.Model{
	Init: func() any { return int64(0) },
	Step: func(state, size, output any) (bool, any) {
		r := output.(segment.Range)
		return r.First >= state.(int64) && r.First <= segment.MaxNumber && r.Length >= 1 && r.Length <= size.(int64), r.First + (r.Length-1)*max(r.Stride, 1) + 1
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("take %v -> %+v", input, output) },
}

// tags tests Take.
func tags(t *testing.T, h storetest.Harness, f fault) {
	takes(t, open(t, h), f).check(t, counterModel)
}

// takes lets each client take numbers of one tag.
func takes(t *testing.T, stores []storetest.Store, f fault) *history {
	t.Helper()
	const tag = "orders"
	if err := stores[0].CreateTag(t.Context(), tag, segment.TagConfig{}); err != nil {
		t.Fatal(err)
	}
	log := newHistory()
	log.run(t, f, func(ctx context.Context, client int) error {
		size := 1 + mathrand.Int64N(100)
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		call := log.now()
		r, err := stores[client].Take(ctx, segment.Request{Tag: tag, Size: size})
		if err != nil {
			log.unknown.Add(1)
			return err
		}
		log.add(tag, client, call, size, r)
		return nil
	})
	return log
}

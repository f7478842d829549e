package assigntest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/ringuid/ringuid/internal/testkit/leaktest"
	"github.com/ringuid/ringuid/internal/testkit/slottest"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// A call whose context has ended fails and writes nothing.
func testContextEnded(t *storeTest) {
	s := t.create(1, newSlot)
	for range 10 {
		t.inTime("a call with a context that has ended", 0, func(ctx context.Context) {
			<-ctx.Done()
			if _, err := t.store.Read(ctx, recycled.Query{All: true}); err == nil {
				t.Errorf("Read with a context that has ended returned no error")
			}
			w := slottest.Swap(s, nil, next(s.Slots[0], "x"))
			if written, err := t.store.Write(ctx, w); err == nil {
				t.Errorf("Write with a context that has ended returned %v and no error", written)
			}
		})
	}
	t.checkUnchanged(s, "writes with a context that had ended")
}

// If a context ends during a write, what Write returns is true nevertheless: true means made, false means
// not made, an error means either.
func testContextEndsDuringCalls(t *storeTest) {
	s := t.create(2, newSlot)
	slots := s.Slots
	failed, made, writes := 0, 0, 120
	var first []time.Duration // how long the first writes took
	for n := range writes {
		bound := t.h.patience
		if n > 10 {
			bound = rand.N(2*first[len(first)/2] + time.Microsecond) // one that took much longer than the others does not count
		}
		ctx, cancel := context.WithTimeout(context.Background(), bound)
		w := recycled.Write{History: s.History, Replaced: slots}
		for _, slot := range slots {
			w.Slots = append(w.Slots, next(slot, fmt.Sprint("token ", n)))
		}
		started := time.Now()
		written, err := t.store.Write(ctx, w)
		took := time.Since(started)
		cancel()
		if n <= 10 {
			first = append(first, took)
			slices.Sort(first)
		}
		if took > bound+t.h.patience {
			t.Fatalf("Write returned %v after its context ended", took-bound)
		}
		state := t.read(t.store, recycled.Query{WorkerIDs: []int64{0, 1}})
		all, none := isMade(state, w)
		switch {
		case !all && !none:
			t.Fatalf("a write that returned %v, %v was made in part", written, err)
		case err != nil:
			failed++
		case written && !all:
			t.Fatal("Write returned true when its context ended, but the write was not made")
		case !written:
			// The slots are those of the last read, unless an earlier write was made after it.
			if all {
				t.Fatal("Write returned false when its context ended, but the write was made")
			}
		default:
			made++
		}
		slots = state.Slots
	}
	if made < 10 {
		t.Errorf("%d of %d writes returned true, although 10 of them had time enough", made, writes)
	}
	t.Logf("%d writes returned true, and %d failed because their contexts ended", made, failed)
}

// Calls leave no goroutines behind, whether they succeed or fail. Goroutines inherit the labels of the one that
// starts them, so those of the calls are told from others of the process.
func testNoGoroutineLeak(t *storeTest) {
	t.create(1, newSlot)
	calls := func() {
		var running sync.WaitGroup
		for range 4 {
			running.Go(func() {
				for n := range 12 {
					bound := t.h.patience
					if n%2 == 1 {
						bound = rand.N(time.Millisecond)
					}
					ctx, cancel := context.WithTimeout(context.Background(), bound)
					state, err := t.store.Read(ctx, recycled.Query{WorkerIDs: []int64{0}})
					if err == nil && len(state.Slots) == 1 {
						t.store.Write(ctx, slottest.Swap(state, nil, next(state.Slots[0], "x")))
					}
					cancel()
				}
			})
		}
		running.Wait()
	}
	group := leaktest.NewGroup()
	group.Do(calls)      // opens connections, which may have goroutines
	const tolerated = 12 // connections that were opened again; the calls were 48
	time.Sleep(100 * time.Millisecond)
	before, _ := group.Count()
	group.Do(calls)
	var after int
	var profile string
	for deadline := time.Now().Add(t.h.patience); ; time.Sleep(20 * time.Millisecond) {
		if after, profile = group.Count(); after <= before+tolerated {
			return
		}
		if time.Now().After(deadline) {
			break
		}
	}
	t.Errorf("48 calls left %d goroutines, and as many calls before left %d: the store starts goroutines that do not end\n%s", after, before, profile)
}

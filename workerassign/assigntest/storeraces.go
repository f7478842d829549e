package assigntest

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringuid/ringuid/internal/testkit/slottest"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// attempt is a write and what Write returned.
type attempt struct {
	write   recycled.Write
	written bool
	err     error
}

// race makes writes concurrently, each with a client of its own.
func (t *storeTest) race(clients []recycled.Store, writes []recycled.Write) []attempt {
	attempts := make([]attempt, len(writes))
	start := make(chan struct{})
	var running sync.WaitGroup
	for n := range writes {
		a := &attempts[n]
		a.write = writes[n]
		running.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), t.h.patience)
			defer cancel()
			<-start
			a.written, a.err = clients[n%len(clients)].Write(ctx, a.write)
		})
	}
	close(start)
	running.Wait()
	return attempts
}

// isMade reports whether all records of a write are in the store, and whether none of them is. Each write
// must have records of its own.
func isMade(s recycled.State, w recycled.Write) (all, none bool) {
	all, none = true, true
	note := func(equal bool) {
		all = all && equal
		none = none && !equal
	}
	if w.Pool != nil {
		note(diffPool(s.Pool, *w.Pool) == "")
	}
	for _, slot := range w.Slots {
		found := false
		for _, f := range s.Slots {
			found = found || diffSlot(f, slot) == ""
		}
		note(found)
	}
	return all, none
}

// checkAttempts checks what concurrent writes returned against the state after them.
func (t *storeTest) checkAttempts(what string, attempts []attempt) {
	t.Helper()
	s := t.read(t.store, recycled.Query{All: true})
	unknown := 0
	wins := 0
	for _, a := range attempts {
		all, none := isMade(s, a.write)
		switch {
		case a.err != nil:
			unknown++
			if !all && !none {
				t.Fatalf("%s: a write that failed (%v) was made in part", what, a.err)
			}
			t.Logf("%s: a write failed: %v", what, a.err)
		case a.written && !all:
			t.Fatalf("%s: Write returned true, but the store has the records of another write of the same revision: several writes of one revision returned true, or a write was made in part", what)
		case !a.written && !none:
			t.Fatalf("%s: Write returned false, but the write was made, at least in part", what)
		case a.written:
			wins++
		}
	}
	if wins == 0 && unknown == 0 {
		t.Fatalf("%s: all of %d writes returned false, although one of them must succeed", what, len(attempts))
	}
}

// Of concurrent writes that replace one revision, exactly one returns true. The others must find that the revision is another
// one: everything else that they compare is as it was before.
func testConcurrentWriters(t *storeTest) {
	const writers, rounds = 12, 6
	clients := []recycled.Store{t.store}
	for range writers - 1 {
		clients = append(clients, t.open())
	}
	s := t.read(t.store, recycled.Query{})
	slot := func(id, revision int64, n int) recycled.Slot {
		slot := heldSlot(s, id)
		slot.Revision, slot.Holder.Process = revision, fmt.Sprint(n)
		return slot
	}
	for revision := int64(1); revision <= rounds; revision++ {
		round := func(what string, write func(before recycled.State, n int) recycled.Write) {
			before := t.read(t.store, recycled.Query{All: true})
			var writes []recycled.Write
			for n := range writers {
				writes = append(writes, write(before, n))
			}
			t.checkAttempts(fmt.Sprintf("%s, revision %d", what, revision), t.race(clients, writes))
		}
		pool := func(revision int64, n int) *recycled.Pool {
			p := newPool(s, 20)
			p.Revision, p.Format = revision, fmt.Sprint(n)
			return &p
		}
		round("the pool", func(before recycled.State, n int) recycled.Write {
			return slottest.Swap(before, pool(2*revision-1, n))
		})
		round("a slot", func(before recycled.State, n int) recycled.Write {
			return slottest.Swap(before, nil, slot(1, revision, n))
		})
		round("the pool and a slot", func(before recycled.State, n int) recycled.Write {
			return slottest.Swap(before, pool(2*revision, n), slot(2, revision, n))
		})
		// Each pair of neighbours shares a slot, in orders that could deadlock.
		round("pairs of slots", func(before recycled.State, n int) recycled.Write {
			a, b := slot(int64(10+n%4), revision, n), slot(int64(10+(n+1)%4), revision, n)
			return slottest.Swap(before, nil, a, b)
		})
		// The next round requires that all of these slots have this revision.
		for id := int64(10); id < 14; id++ {
			if before := t.readSlot(t.store, id); before.Revision < revision {
				t.mustWrite(recycled.Write{History: s.History, Slots: []recycled.Slot{slot(id, revision, writers)}, Replaced: []recycled.Slot{before}})
			}
		}
	}
}

// Clients that read a slot and replace it by an equal one lose no write: its revision is the number of writes that returned true.
func testConcurrentIncrements(t *storeTest) {
	const writers, each = 4, 15
	s := t.create(1, newSlot)
	var made, unknown atomic.Int64
	var running sync.WaitGroup
	deadline := time.Now().Add(10 * time.Minute)
	for range writers {
		client := t.open()
		running.Go(func() {
			for done := 0; done < each && time.Now().Before(deadline); {
				ctx, cancel := context.WithTimeout(context.Background(), t.h.patience)
				state, err := client.Read(ctx, recycled.Query{WorkerIDs: []int64{0}})
				if err == nil && len(state.Slots) == 1 {
					var written bool
					slot := next(state.Slots[0], "x")
					written, err = client.Write(ctx, recycled.Write{History: s.History, Slots: []recycled.Slot{slot}, Replaced: state.Slots})
					switch {
					case err != nil:
						unknown.Add(1)
					case written:
						made.Add(1)
						done++
					}
				}
				cancel()
			}
		})
	}
	running.Wait()
	if made.Load() < writers*each {
		t.Errorf("%d of %d writes returned true within 10 minutes", made.Load(), writers*each)
	}
	if got := t.readSlot(t.store, 0).Revision - 1; got < made.Load() || got > made.Load()+unknown.Load() {
		t.Errorf("the slot was written %d times, but %d writes returned true and %d an error", got, made.Load(), unknown.Load())
	}
}

// While slots are added, each state that is read has at least the slots that its pool counts.
func testReadWhileAdding(t *storeTest) {
	s := t.create(0, nil)
	const writes, batch = 40, 3
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	var running sync.WaitGroup
	problems := make(chan string, 4)
	reading, stop := context.WithCancel(ctx)
	for range 3 {
		client := t.open()
		running.Go(func() {
			for reading.Err() == nil {
				state, err := client.Read(reading, recycled.Query{All: true})
				if err == nil && int64(len(state.Slots)) < state.Pool.Slots {
					problems <- fmt.Sprintf("Read returned a pool that counts %d slots, and %d slots: it must read the pool before the slots", state.Pool.Slots, len(state.Slots))
					return
				}
			}
		})
	}
	for range writes {
		p := s.Pool
		p.Revision++
		p.Slots += batch
		var slots []recycled.Slot
		for n := range int64(batch) {
			slots = append(slots, newSlot(s, s.Pool.Slots+n))
		}
		ok, err := t.store.Write(ctx, slottest.Swap(s, &p, slots...))
		if !ok || err != nil {
			problems <- fmt.Sprintf("Write returned %v, %v, although the history and what is replaced match; want true", ok, err)
			break
		}
		s.Pool = p
	}
	stop()
	running.Wait()
	select {
	case problem := <-problems:
		t.Fatal(problem)
	default:
	}
}

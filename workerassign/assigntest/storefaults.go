package assigntest

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit/slottest"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// What was acknowledged before the server was killed is there when it has started again, or the store has
// another history.
func testKilledDuringWrites(t *storeTest) {
	const writers, total = 4, 100
	s := t.create(writers, newSlot)
	for round := range 2 {
		var acknowledged atomic.Int64
		killed := make(chan struct{})
		var running sync.WaitGroup
		logs := make([]writeLog, writers)
		for n, slot := range s.Slots {
			client := t.open()
			running.Go(func() { logs[n].writeUntil(t.TB, killed, client, s.History, slot, &acknowledged) })
		}
		for deadline := time.Now().Add(t.h.patience); acknowledged.Load() < total/2 && time.Now().Before(deadline); {
			time.Sleep(time.Millisecond)
		}
		t.h.Kill(t.TB)
		close(killed)
		running.Wait()
		t.h.Start(t.TB)

		after := t.recovered(t.open(), recycled.Query{All: true})
		t.Logf("round %d: the server was killed after %d acknowledged writes; the history was %q and is %q", round, acknowledged.Load(), s.History, after.History)
		if acknowledged.Load() < total/2 {
			t.Fatalf("only %d writes were acknowledged before the server was killed; want %d", acknowledged.Load(), total/2)
		}
		switch {
		case after.NoLoss && after.History != s.History:
			t.Errorf("the store says that it loses no writes (NoLoss), but a restart changed its history from %q to %q", s.History, after.History)
		case !after.NoLoss && after.History == s.History:
			t.Errorf("the history is still %q after a restart; must be another one, unless NoLoss is true", s.History)
		}
		t.checkKept(s, after, logs)
		s = t.rewrite(after)
	}
}

// writeLog is what one client of one slot knows.
type writeLog struct {
	acknowledged recycled.Slot // the last write that returned true
	attempted    int64         // the greatest revision that was attempted
}

// writeUntil writes a slot again and again, until the server is killed.
func (l *writeLog) writeUntil(tb testing.TB, killed <-chan struct{}, client recycled.Store, history string, slot recycled.Slot, count *atomic.Int64) {
	l.acknowledged, l.attempted = slot, slot.Revision
	for {
		select {
		case <-killed:
			return
		default:
		}
		replaced := slot
		slot = next(replaced, fmt.Sprint("token ", replaced.Revision+1))
		l.attempted = max(l.attempted, slot.Revision)
		ctx, cancel := context.WithTimeout(context.Background(), faultTimeout)
		written, err := client.Write(ctx, recycled.Write{History: history, Slots: []recycled.Slot{slot}, Replaced: []recycled.Slot{replaced}})
		cancel()
		switch {
		case err != nil: // it may have been made; the server is killed, or stands still for a moment
			found, ok := readUntil(killed, client, slot.WorkerID)
			if !ok || diffSlot(found, replaced) != "" && diffSlot(found, slot) != "" {
				return
			}
			slot = found
		case !written:
			tb.Logf("Write of revision %d returned false, although nobody else writes the slot", slot.Revision)
			return
		default:
			l.acknowledged = slot
			count.Add(1)
		}
	}
}

// readUntil reads a slot again and again, until that succeeds or the server is killed.
func readUntil(killed <-chan struct{}, client recycled.Store, workerID int64) (_ recycled.Slot, ok bool) {
	for {
		ctx, cancel := context.WithTimeout(context.Background(), faultTimeout)
		state, err := client.Read(ctx, recycled.Query{WorkerIDs: []int64{workerID}})
		cancel()
		if err == nil && len(state.Slots) == 1 {
			return state.Slots[0], true
		}
		select {
		case <-killed:
			return recycled.Slot{}, false
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// checkKept fails the test if an acknowledged write was lost without a new history, or if a store that says
// that it loses none has lost one.
func (t *storeTest) checkKept(before, after recycled.State, logs []writeLog) {
	t.Helper()
	slots := map[int64]recycled.Slot{}
	for _, slot := range after.Slots {
		slots[slot.WorkerID] = slot
	}
	for _, l := range logs {
		want := l.acknowledged
		got := slots[want.WorkerID]
		kept := got.Revision > want.Revision || diffSlot(got, want) == ""
		switch {
		case got.Revision > l.attempted:
			t.Fatalf("the slot of worker ID %d has revision %d, but only %d were attempted", want.WorkerID, got.Revision, l.attempted)
		case !kept && before.History == after.History:
			t.Fatalf("acknowledged writes were lost without a new history: the slot of worker ID %d has revision %d, and %d was acknowledged", want.WorkerID, got.Revision, want.Revision)
		case !kept && after.NoLoss:
			t.Fatalf("acknowledged writes were lost although NoLoss is true: the slot of worker ID %d has revision %d, and %d was acknowledged", want.WorkerID, got.Revision, want.Revision)
		case !kept:
			t.Logf("the slot of worker ID %d lost revisions %d to %d; the history is another one", want.WorkerID, got.Revision+1, want.Revision)
		}
	}
}

// rewrite checks that a store works after a fault, for a new client and for the first one, and that writes with
// another history are refused. It returns the state.
func (t *storeTest) rewrite(s recycled.State) recycled.State {
	t.Helper()
	t.recovered(t.store, recycled.Query{})
	slot := next(s.Slots[0], "after the fault")
	w := slottest.Swap(s, nil, slot)
	w.History += "x"
	if t.write(t.store, w) {
		t.Fatal("a write with another history returned true after a fault")
	}
	w.History = s.History
	t.mustWrite(w)
	return t.read(t.open(), recycled.Query{All: true})
}

// A failover that loses acknowledged writes results in a new history, and writes that were prepared before it
// are refused.
func testWritesLost(t *storeTest) {
	s := t.create(3, heldSlot)
	logs := make([]writeLog, len(s.Slots))
	for n, slot := range s.Slots {
		logs[n] = writeLog{slot, slot.Revision}
	}
	addedPool := s.Pool
	addedPool.Revision++
	addedPool.Slots++
	added := false
	t.h.LoseWrites(t.TB, func() {
		ctx, cancel := context.WithTimeout(context.Background(), faultTimeout)
		defer cancel()
		for n := range logs[:2] {
			for range n + 1 {
				l := &logs[n]
				l.attempted++
				slot := next(l.acknowledged, "lost")
				written, err := t.store.Write(ctx, recycled.Write{History: s.History, Slots: []recycled.Slot{slot}, Replaced: []recycled.Slot{l.acknowledged}})
				if err != nil || !written {
					t.Logf("a write that is to be lost returned %v, %v", written, err)
					break
				}
				l.acknowledged = slot
			}
		}
		added, _ = t.store.Write(ctx, slottest.Swap(s, &addedPool, newSlot(s, 3)))
	})
	after := t.recovered(t.store, recycled.Query{All: true})
	t.Logf("the history was %q and is %q", s.History, after.History)
	t.checkKept(s, after, logs)
	if added && after.Pool.Revision < addedPool.Revision && after.History == s.History {
		t.Fatal("acknowledged writes were lost without a new history: the pool's")
	}
	if other := t.recovered(t.open(), recycled.Query{}); other.History != after.History {
		t.Fatalf("two clients have the histories %q and %q", after.History, other.History)
	}
	if after.History == s.History {
		return
	}
	// A process that was paused meanwhile writes what it prepared before.
	for _, slot := range after.Slots {
		if t.write(t.store, recycled.Write{History: s.History, Slots: []recycled.Slot{next(slot, "prepared")}, Replaced: []recycled.Slot{slot}}) {
			t.Fatalf("a write with the history %q returned true after a failover; the store's is %q", s.History, after.History)
		}
	}
	t.checkUnchanged(after, "writes that were prepared before a failover")
	t.rewrite(after)
}

// Calls on a server that does not answer return when their contexts end, and the store works when the server
// continues.
func testPaused(t *storeTest) {
	s := t.create(2, newSlot)
	w := slottest.Swap(s, nil, next(s.Slots[0], "paused"), next(s.Slots[1], "paused"))
	t.h.Pause(t.TB)
	var a attempt
	func() {
		defer t.h.Resume(t.TB)
		const timeout = 500 * time.Millisecond
		t.inTime("Read from a paused server", timeout, func(ctx context.Context) {
			if state, err := t.store.Read(ctx, recycled.Query{All: true}); err == nil && state.Pool.Revision == 0 {
				t.Errorf("Read from a paused server returned no error and no pool")
			}
		})
		t.inTime("Write to a paused server", timeout, func(ctx context.Context) {
			a.write = w
			a.written, a.err = t.store.Write(ctx, w)
		})
	}()
	t.recovered(t.store, recycled.Query{})
	t.checkAmbiguous("a write to a paused server", a)
}

package assigntest

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit/slottest"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// brokenStores are stores with one defect each, and the test that must find it, with a part of its message.
var brokenStores = []struct {
	name    string
	broken  brokenStore
	harness func(h *Harness, s *memoryServer)
	opts    []MemoryOption
	test    string
	message string
}{
	{name: "a pool without a format becomes one of the format x", broken: brokenStore{onRead: changeRead(func(_ recycled.Query, s *recycled.State) {
		s.Pool.Format = cmp.Or(s.Pool.Format, "x")
	})}, test: "CreatePool", message: "Format is"},
	{name: "slots of a pool that was lost are not found", broken: brokenStore{onRead: changeRead(func(_ recycled.Query, s *recycled.State) {
		if s.Pool.Revision == 0 {
			s.Slots = nil
		}
	})}, test: "CreatePool", message: "returned <nil>, want ErrPool"},
	{name: "a fault without effect", harness: func(h *Harness, _ *memoryServer) { h.LoseReplies = func(_ testing.TB, call func()) { call() } },
		test: "RepliesLost", message: "each of 6 writes returned true: the fault has no effect"},
	{name: "no slot revision check", broken: brokenStore{onWrite: unchecked(false, true)}, test: "SlotRevisions", message: "returned true, want false"},
	{name: "only revisions compared", broken: brokenStore{onWrite: func(m *Memory, ctx context.Context, w recycled.Write) (bool, error) {
		w.Replaced = slottest.Swap(m.Dump(), nil, w.Slots...).Replaced
		return m.Write(ctx, w)
	}}, test: "ReplacedCompared", message: "returned true, want false"},
	{name: "only the pool's revision compared", broken: brokenStore{onWrite: func(m *Memory, ctx context.Context, w recycled.Write) (bool, error) {
		w.ReplacedPool = slottest.Swap(m.Dump(), nil).ReplacedPool
		return m.Write(ctx, w)
	}}, test: "ReplacedPoolCompared", message: "returned true, want false"},
	{name: "no pool revision check", broken: brokenStore{onWrite: unchecked(true, false)}, test: "PoolRevisions", message: "returned true, want false"},
	{name: "pool revision not checked with slots", broken: brokenStore{onWrite: func(m *Memory, ctx context.Context, w recycled.Write) (bool, error) {
		return unchecked(w.Pool != nil && len(w.Slots) > 0, false)(m, ctx, w)
	}}, test: "AllOrNothing", message: "a stale pool"},
	{name: "writes in parts", broken: brokenStore{onWrite: inParts}, test: "AllOrNothing", message: "after a write with a stale pool"},
	{name: "compares and writes in two steps", broken: brokenStore{onWrite: readThenWrite}, test: "ConcurrentWriters", message: "returned true"},
	{name: "compares and writes in two steps, a lost update", broken: brokenStore{onWrite: readThenWrite}, test: "ConcurrentIncrements", message: "was written"},
	{name: "history not compared", broken: brokenStore{onWrite: func(m *Memory, ctx context.Context, w recycled.Write) (bool, error) {
		w.History = m.Dump().History
		return m.Write(ctx, w)
	}}, test: "HistoryCompared", message: "although its history is"},
	{name: "history not compared, at a failover", broken: brokenStore{onWrite: func(m *Memory, ctx context.Context, w recycled.Write) (bool, error) {
		w.History = m.Dump().History
		return m.Write(ctx, w)
	}}, test: "WritesLost", message: "after a failover"},
	{name: "no history", broken: brokenStore{onRead: changeRead(func(_ recycled.Query, s *recycled.State) { s.History = "" })},
		test: "Empty", message: "history is empty"},
	{name: "another history for each read", broken: brokenStore{onRead: changeRead(func(_ recycled.Query, s *recycled.State) {
		s.History += time.Now().String()
	})}, test: "Empty", message: "the history changed"},
	{name: "failover without a new history", harness: func(h *Harness, s *memoryServer) {
		h.LoseWrites = func(_ testing.TB, write func()) { s.loseWrites(write, (*Memory).LoseWrites) }
	}, test: "WritesLost", message: "lost without a new history"},
	{name: "failover although NoLoss", opts: []MemoryOption{WithNoLoss()}, test: "WritesLost", message: "although NoLoss is true"},
	{name: "restart without a new history", harness: func(h *Harness, s *memoryServer) {
		h.Start = func(testing.TB) { s.each((*Memory).startWithSameHistory) }
	}, test: "KilledDuringWrites", message: "after a restart; must be another one"},
	{name: "acknowledged writes lost at a restart", opts: []MemoryOption{WithNoLoss()}, harness: func(h *Harness, s *memoryServer) {
		h.Start = func(testing.TB) { s.each(func(m *Memory) { m.LoseWrites(7); m.Start() }) }
	}, test: "KilledDuringWrites", message: "lost without a new history"},
	{name: "new history at a restart although NoLoss", opts: []MemoryOption{WithNoLoss()}, harness: func(h *Harness, s *memoryServer) {
		h.Start = func(testing.TB) { s.each(func(m *Memory) { m.Failover(0); m.Start() }) }
	}, test: "KilledDuringWrites", message: "a restart changed its history"},
	{name: "until falls by rounding", broken: brokenStore{onRead: changeRead(func(_ recycled.Query, s *recycled.State) {
		for n := range s.Slots {
			s.Slots[n].Until = s.Slots[n].Until.Truncate(time.Second)
		}
	})}, test: "SlotRoundTrip", message: "Until is"},
	{name: "until stays", broken: brokenStore{onWrite: func(m *Memory, ctx context.Context, w recycled.Write) (bool, error) {
		old := m.Dump().Slots
		return changeSlots(func(s *recycled.Slot) {
			for _, o := range old {
				if o.WorkerID == s.WorkerID && s.Revision > 1 {
					s.Until = o.Until
				}
			}
		})(m, ctx, w)
	}}, test: "SlotRoundTrip", message: "Until is"},
	{name: "times as float32 seconds", broken: brokenStore{onWrite: changeSlots(func(s *recycled.Slot) { s.FreeAt = time.Unix(int64(float32(s.FreeAt.Unix())), 0) })},
		test: "SlotRoundTrip", message: "FreeAt is"},
	{name: "a field that is forgotten", broken: brokenStore{onWrite: changeSlots(func(s *recycled.Slot) { s.Holder.Process = "" })}, test: "SlotRoundTrip", message: "Holder.Process"},
	{name: "the floor is forgotten", broken: brokenStore{onWrite: func(m *Memory, ctx context.Context, w recycled.Write) (bool, error) {
		w = cloneWrite(w)
		if w.Pool != nil {
			w.Pool.Floor = time.Time{}
		}
		return m.Write(ctx, w)
	}}, test: "PoolRoundTrip", message: "Floor is"},
	{name: "texts cut at 64 bytes", broken: brokenStore{onWrite: changeSlots(func(s *recycled.Slot) { s.Holder.Name = s.Holder.Name[:min(len(s.Holder.Name), 64)] })},
		test: "Texts", message: "Holder.Name"},
	{name: "white space trimmed", broken: brokenStore{onWrite: changeSlots(func(s *recycled.Slot) { s.Holder.Name = strings.TrimSpace(s.Holder.Name) })},
		test: "Texts", message: "Holder.Name"},
	{name: "names without case", broken: brokenStore{onRead: queryByName(strings.EqualFold)}, test: "QueryNames", message: "whose name is"},
	{name: "names by their prefix", broken: brokenStore{onRead: queryByName(strings.HasPrefix)}, test: "QueryNames", message: "whose name is"},
	{name: "names without trailing space", broken: brokenStore{onRead: queryByName(func(a, b string) bool { return strings.TrimRight(a, " ") == strings.TrimRight(b, " ") })},
		test: "QueryNames", message: "whose name is"},
	{name: "one slot for each name", broken: brokenStore{onRead: changeRead(func(q recycled.Query, s *recycled.State) {
		if q.Name != "" && !q.All {
			s.Slots = s.Slots[:min(1, len(s.Slots))]
		}
	})}, test: "QueryNames", message: `"a" returned 1 slots, want 2`},
	{name: "slots returned twice", broken: brokenStore{onRead: changeRead(func(q recycled.Query, s *recycled.State) {
		if q.Name != "" && len(q.WorkerIDs) > 0 {
			s.Slots = append(s.Slots, s.Slots[0])
		}
	})}, test: "QueryWorkerIDs", message: "twice"},
	{name: "all limited to 100", broken: brokenStore{onRead: changeRead(func(q recycled.Query, s *recycled.State) { s.Slots = s.Slots[:min(len(s.Slots), 100)] })},
		test: "QueryAll", message: "returned 100"},
	{name: "free returns held slots", broken: brokenStore{onRead: func(m *Memory, ctx context.Context, q recycled.Query) (recycled.State, error) {
		q.All = q.All || q.Free > 0
		return m.Read(ctx, q)
	}}, test: "QueryFree", message: "free slots returned"},
	{name: "free returns what ends without grace", broken: brokenStore{onRead: func(m *Memory, ctx context.Context, q recycled.Query) (recycled.State, error) {
		s, err := m.Read(ctx, q)
		for _, slot := range m.Dump().Slots {
			if len(s.Slots) < q.Free && slot.Until.Before(s.Now) && !slot.FreeAt.Before(s.Now) {
				s.Slots = append(s.Slots, slot)
			}
		}
		return s, err
	}}, test: "QueryFree", message: "it is held"},
	{name: "free by a clock that is ahead", broken: brokenStore{onRead: freeByClock(2 * time.Hour)}, test: "QueryFree", message: "it is held"},
	{name: "free returns no released slots", broken: brokenStore{onRead: changeRead(func(q recycled.Query, s *recycled.State) {
		if q.Free > 0 {
			s.Slots = slices.DeleteFunc(s.Slots, func(slot recycled.Slot) bool { return slot.Token == "" })
		}
	})}, test: "QueryReleased", message: "which was released"},
	{name: "free returns more than asked for", broken: brokenStore{onRead: func(m *Memory, ctx context.Context, q recycled.Query) (recycled.State, error) {
		q.Free *= 10
		return m.Read(ctx, q)
	}}, test: "QueryFree", message: "at most 1"},
	{name: "free at FreeAt already", broken: brokenStore{onRead: freeByClock(time.Millisecond)}, test: "FreeAtNow", message: "must be before"},
	{name: "free a millisecond late", broken: brokenStore{onRead: freeByClock(-time.Millisecond)}, test: "FreeAtNow", message: "want 0 to 0"},
	{name: "a clock that runs ahead of writes", broken: brokenStore{onRead: changeRead(func(_ recycled.Query, s *recycled.State) { s.Now = s.Now.Add(time.Minute) })},
		test: "Clock", message: "must not differ by more than"},
	{name: "a clock that stands", opts: []MemoryOption{WithClock(func() func() time.Time { t := time.Now(); return func() time.Time { return t } }())},
		harness: func(h *Harness, _ *memoryServer) { h.ClockBound = time.Hour }, test: "Clock", message: "must advance"},
	{name: "free by the host's clock", broken: brokenStore{onRead: func(m *Memory, ctx context.Context, q recycled.Query) (recycled.State, error) {
		s, err := m.Read(ctx, recycled.Query{All: true})
		s.Slots = slices.DeleteFunc(s.Slots, func(slot recycled.Slot) bool { return !q.All && !slot.FreeAt.Before(time.Now()) })
		return s, err
	}}, test: "ClockStep", message: "with its own clock"},
	{name: "slots read before the pool", broken: brokenStore{onRead: func(m *Memory, ctx context.Context, q recycled.Query) (recycled.State, error) {
		slots, err := m.Read(ctx, q)
		if err != nil {
			return slots, err
		}
		time.Sleep(100 * time.Microsecond)
		s, err := m.Read(ctx, recycled.Query{})
		s.Slots = slots.Slots
		return s, err
	}, onWrite: func(m *Memory, ctx context.Context, w recycled.Write) (bool, error) {
		time.Sleep(100 * time.Microsecond)
		return m.Write(ctx, w)
	}}, test: "ReadWhileAdding", message: "before the slots"},
	{name: "an ambiguous reply taken for success", broken: brokenStore{onWrite: func(m *Memory, ctx context.Context, w recycled.Write) (bool, error) {
		ok, err := m.Write(ctx, w)
		return ok || errors.Is(err, ErrFault), nil
	}}, test: "RequestsLost", message: "returned true, but it was not made"},
	{name: "an ambiguous reply taken for a refusal", broken: brokenStore{onWrite: func(m *Memory, ctx context.Context, w recycled.Write) (bool, error) {
		ok, _ := m.Write(ctx, w)
		return ok, nil
	}}, test: "RepliesLost", message: "returned false, but it was made"},
	{name: "a second try after an ambiguous reply", broken: brokenStore{onWrite: func(m *Memory, ctx context.Context, w recycled.Write) (bool, error) {
		ok, err := m.Write(ctx, w)
		if errors.Is(err, ErrFault) {
			m.mu.Lock()
			defer m.mu.Unlock()
			return m.write(w), nil
		}
		return ok, err
	}}, test: "RepliesLost", message: "returned false, but it was made"},
	{name: "an error of a read taken for an empty store", broken: brokenStore{onRead: func(m *Memory, ctx context.Context, q recycled.Query) (recycled.State, error) {
		s, _ := m.Read(ctx, q)
		return s, nil
	}}, test: "RequestsLost", message: "returned no error"},
	{name: "a delayed write taken for made", broken: brokenStore{onWrite: func(m *Memory, ctx context.Context, w recycled.Write) (bool, error) {
		ok, err := m.Write(ctx, w)
		return ok || errors.Is(err, ErrFault), nil
	}}, test: "DelayedWrite", message: "before the write reached the server"},
	{name: "a delayed write is not compared", harness: func(h *Harness, s *memoryServer) {
		h.DelayWrites = func(_ testing.TB, write func()) func() {
			s.during(Delay, write)
			return func() { s.each((*Memory).deliverUnchecked) }
		}
	}, test: "DelayedWrite", message: "no longer matched"},
	{name: "contexts ignored", broken: brokenStore{onWrite: func(m *Memory, _ context.Context, w recycled.Write) (bool, error) {
		return m.Write(context.Background(), w)
	}}, test: "ContextEnded", message: "Write with a context that has ended returned"},
	{name: "contexts ignored while the server is paused", broken: brokenStore{onWrite: func(m *Memory, _ context.Context, w recycled.Write) (bool, error) {
		return m.Write(context.Background(), w)
	}}, harness: impatient, test: "Paused", message: "has not returned"},
	{name: "the end of a context taken for a refusal", broken: brokenStore{onWrite: func(m *Memory, ctx context.Context, w recycled.Write) (bool, error) {
		ok, err := m.Write(context.Background(), w)
		time.Sleep(time.Millisecond)
		if ctx.Err() != nil {
			return false, nil
		}
		return ok, err
	}}, test: "ContextEndsDuringCalls", message: "returned false when its context ended, but the write was made"},
	{name: "a goroutine for each call", broken: brokenStore{onRead: func(m *Memory, ctx context.Context, q recycled.Query) (recycled.State, error) {
		go func() { time.Sleep(time.Minute) }()
		return m.Read(ctx, q)
	}}, harness: impatient, test: "NoGoroutineLeak", message: "goroutines that do not end"},
}

// impatient is for stores that fail their test after the harness's patience.
func impatient(h *Harness, _ *memoryServer) { h.patience = 10 * time.Second }

// Each broken store fails the test that is for its defect, with a message that describes it.
func TestBrokenStores(t *testing.T) {
	t.Parallel()
	for _, tt := range brokenStores {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newMemoryServer(tt.opts...)
			h := s.harness()
			h.New = func(_ testing.TB, pool string) recycled.Store {
				broken := tt.broken
				broken.Memory = s.pool(pool)
				return broken
			}
			if tt.harness != nil {
				tt.harness(&h, s)
			}
			r := runCase(t, tt.test, h)
			if !r.Failed() || !strings.Contains(r.Failures[0], tt.message) {
				t.Errorf("%s reported %q, skipped %q; want a failure with %q", tt.test, r.Failures, r.SkipReason, tt.message)
			} else {
				t.Log(r.Failures[0])
			}
		})
	}
}

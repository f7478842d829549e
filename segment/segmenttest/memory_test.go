package segmenttest

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/segment"
)

// memoryHarness has a Memory, and all faults.
type memoryHarness struct {
	name string  // of the store that New has made last
	last *Memory // that store
	opts []MemoryOption
	wrap func(m *Memory) segment.Creator // nil: the client is not wrapped
}

func (h *memoryHarness) wrapped(m *Memory) segment.Creator {
	if h.wrap != nil {
		return h.wrap(m)
	}
	return m
}

// lost calls write and then lose, with the number of writes.
func (h *memoryHarness) lost(write func(), lose func(m *Memory, n int)) {
	before := h.last.Writes()
	write()
	lose(h.last, h.last.Writes()-before)
}

func (h *memoryHarness) harness() Harness {
	return Harness{
		New: func(_ testing.TB, name string) segment.Creator {
			if name == h.name {
				return h.wrapped(h.last.Client("other"))
			}
			h.name, h.last = name, NewMemory(h.opts...)
			return h.wrapped(h.last)
		},
		Secrets: []string{"hunter2"},
		Faults: Faults{
			Kill:   func(testing.TB) { h.last.Kill() },
			Start:  func(testing.TB) { h.last.Start() },
			Pause:  func(testing.TB) { h.last.Pause() },
			Resume: func(testing.TB) { h.last.Resume() },
			LoseReplies: func(_ testing.TB, call func()) {
				h.last.SetFaults(func(Op) Fault { return LoseReply })
				call()
				h.last.SetFaults(nil)
			},
			LoseWrites:          func(_ testing.TB, write func()) { h.lost(write, (*Memory).Failover) },
			LoseWritesUnnoticed: func(_ testing.TB, write func()) { h.lost(write, (*Memory).LoseWrites) },
			SetCounter:          func(_ testing.TB, tag string, next int64) { h.last.SetCounter(tag, next) },
		},
	}
}

func TestMemory(t *testing.T) {
	Run(t, (&memoryHarness{}).harness())
}

func TestMemoryWithoutRecord(t *testing.T) {
	h := (&memoryHarness{opts: []MemoryOption{WithoutRecord(), WithGap(10_000)}}).harness()
	h.MayReturnFewer, h.FoldsTags = true, true
	Run(t, h)
}

// Faults of a Memory happen to the calls that they are for.
func TestMemoryFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMemory()
		ctx := t.Context()
		if err := m.CreateTag(ctx, "a", segment.TagConfig{Step: 10}); err != nil {
			t.Fatal(err)
		}
		m.SetFaults(func(op Op) Fault {
			switch {
			case op.Client == "x":
				return LoseRequest
			case op.Client == "y":
				return Block
			case op.Take != nil && op.Take.Size == 3:
				return LoseReply
			}
			return NoFault
		})
		if _, err := m.Client("x").Take(ctx, segment.Request{Tag: "a"}); !errors.Is(err, ErrFault) || m.Counter("a") != 1 {
			t.Errorf("a lost request: %v, counter %d", err, m.Counter("a"))
		}
		if _, err := m.Take(ctx, segment.Request{Tag: "a", Size: 3}); !errors.Is(err, ErrFault) || m.Counter("a") != 4 {
			t.Errorf("a lost reply: %v, counter %d", err, m.Counter("a"))
		}
		short, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		if _, err := m.Client("y").Take(short, segment.Request{Tag: "a"}); !errors.Is(err, context.DeadlineExceeded) || m.Counter("a") != 4 {
			t.Errorf("a call that blocks: %v, counter %d", err, m.Counter("a"))
		}
		if got, err := m.Take(ctx, segment.Request{Tag: "a"}); err != nil || got != (segment.Range{First: 4, Length: 10, Step: 10}) {
			t.Errorf("without a fault: %+v, %v", got, err)
		}
	})
}

// After a failover, a tag continues beyond a gap, once.
func TestMemoryFailover(t *testing.T) {
	m, ctx := NewMemory(WithGap(100)), t.Context()
	if err := m.CreateTag(ctx, "a", segment.TagConfig{Step: 10}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []int64{1, 11} {
		if got, err := m.Take(ctx, segment.Request{Tag: "a"}); err != nil || got.First != want {
			t.Fatalf("%+v, %v; want %d", got, err, want)
		}
	}
	m.Failover(1)
	for _, want := range []int64{111, 121} {
		if got, err := m.Take(ctx, segment.Request{Tag: "a"}); err != nil || got.First != want {
			t.Fatalf("after a failover: %+v, %v; want %d", got, err, want)
		}
	}
	m.SetCounter("a", segment.MaxNumber-5)
	m.Failover(0)
	if _, err := m.Take(ctx, segment.Request{Tag: "a"}); !errors.Is(err, segment.ErrExhausted) || m.Counter("a") != math.MaxInt64 {
		t.Errorf("a gap beyond the end: %v, counter %d", err, m.Counter("a"))
	}
	m.RemoveTag("a")
	if _, err := m.Take(ctx, segment.Request{Tag: "a"}); !errors.Is(err, segment.ErrNoTag) {
		t.Errorf("a tag that was removed: %v", err)
	}
}

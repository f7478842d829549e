package linear

import (
	"context"
	"errors"
	"math"
	"path"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/segment/segmenttest"
	"github.com/ringuid/ringuid/stores/storetest"
	"github.com/ringuid/ringuid/workerassign/assigntest"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// memory is a store in memory.
type memory struct {
	*assigntest.Memory
	tags *segmenttest.Memory
}

func (m memory) Take(ctx context.Context, r segment.Request) (segment.Range, error) {
	return m.tags.Take(ctx, r)
}

func (m memory) CreateTag(ctx context.Context, tag string, c segment.TagConfig) error {
	return m.tags.CreateTag(ctx, tag, c)
}

// newMemory returns a harness of stores in memory, which wrap may change.
func newMemory(wrap func(memory) storetest.Store) storetest.Harness {
	stores := map[string]storetest.Store{}
	var last memory
	return storetest.Harness{
		New: func(_ testing.TB, name string) storetest.Store {
			if stores[name] == nil {
				last = memory{assigntest.NewMemory(assigntest.WithNoLoss()), segmenttest.NewMemory()}
				stores[name] = wrap(last)
			}
			return stores[name]
		},
		Slots: assigntest.Faults{
			Kill: func(testing.TB) { last.Kill() }, Start: func(testing.TB) { last.Start() },
			Pause: func(testing.TB) { last.Pause() }, Resume: func(testing.TB) { last.Resume() },
			LoseWrites: func(_ testing.TB, write func()) {
				write()
				last.Failover(20)
			},
			DelayWrites: func(_ testing.TB, write func()) func() {
				last.SetFaults(func(op assigntest.Op) assigntest.Fault {
					if op.Write != nil {
						return assigntest.Delay
					}
					return assigntest.NoFault
				})
				write()
				last.SetFaults(nil)
				return func() { last.Deliver() }
			},
			StepClock: func(_ testing.TB, d time.Duration) { last.StepClock(d) },
		},
		Tags: segmenttest.Harness{Faults: segmenttest.Faults{
			Kill: func(testing.TB) { last.tags.Kill() }, Start: func(testing.TB) { last.tags.Start() },
			Pause: func(testing.TB) { last.tags.Pause() }, Resume: func(testing.TB) { last.tags.Resume() },
		}},
	}
}

func TestMemory(t *testing.T) {
	testkit.Slow(t, "it waits for faults")
	h := newMemory(func(m memory) storetest.Store { return m })
	faults := 0
	for _, begin := range []*func(testing.TB){&h.Slots.Kill, &h.Slots.Pause, &h.Tags.Kill, &h.Tags.Pause} {
		inject := *begin
		*begin = func(tb testing.TB) {
			faults++
			inject(tb)
		}
	}
	lose, delay, step := h.Slots.LoseWrites, h.Slots.DelayWrites, h.Slots.StepClock
	h.Slots.LoseWrites = func(tb testing.TB, write func()) {
		faults++
		lose(tb, write)
	}
	h.Slots.DelayWrites = func(tb testing.TB, write func()) func() {
		faults++
		return delay(tb, write)
	}
	h.Slots.StepClock = func(tb testing.TB, d time.Duration) {
		faults++
		step(tb, d)
	}
	h.Slots.LoseRequests = around(h.Slots.Kill, h.Slots.Start)
	h.Slots.LoseReplies = h.Slots.LoseRequests
	h.Tags.LoseReplies = around(h.Tags.Kill, h.Tags.Start)
	h.Tags.LoseWrites = h.Tags.LoseReplies
	Run(t, h)
	if faults != 14 { // some twice
		t.Errorf("%d faults, want 14", faults)
	}
}

// A lateStore acknowledges each twentieth write of a slot, or of the pool, without making it, so that it is as if it was lost.
type lateStore struct {
	memory
	pool   bool
	writes atomic.Int64
}

func (s *lateStore) Write(ctx context.Context, w recycled.Write) (bool, error) {
	isPool, isSlot := len(w.Slots) == 0, w.Pool == nil
	if (s.pool && isPool || !s.pool && isSlot) && s.writes.Add(1)%20 == 0 {
		return true, nil
	}
	return s.memory.Write(ctx, w)
}

// A staleStore returns an old state to each hundredth Read.
type staleStore struct {
	memory
	reads atomic.Int64
	first atomic.Pointer[recycled.State]
}

func (s *staleStore) Read(ctx context.Context, q recycled.Query) (recycled.State, error) {
	state, err := s.memory.Read(ctx, q)
	if len(state.Slots) > 0 && !s.first.CompareAndSwap(nil, &state) && s.reads.Add(1)%100 == 0 {
		return *s.first.Load(), nil
	}
	return state, err
}

// A shortStore returns each twentieth State with a part of it missing.
type shortStore struct {
	memory
	reads atomic.Int64
	drop  func(*recycled.State)
}

func (s *shortStore) Read(ctx context.Context, q recycled.Query) (recycled.State, error) {
	state, err := s.memory.Read(ctx, q)
	if len(q.WorkerIDs) > 0 && s.reads.Add(1)%20 == 0 {
		s.drop(&state)
	}
	return state, err
}

// short returns a wrap of newMemory.
func short(drop func(*recycled.State)) func(memory) storetest.Store {
	return func(m memory) storetest.Store { return &shortStore{memory: m, drop: drop} }
}

// A refusingStore refuses each tenth write of a slot, and has another history after a change.
type refusingStore struct {
	memory
	writes  atomic.Int64
	changed *atomic.Bool
}

func (s *refusingStore) Read(ctx context.Context, q recycled.Query) (recycled.State, error) {
	state, err := s.memory.Read(ctx, q)
	if s.changed.Load() {
		state.History += "+"
	}
	return state, err
}

func (s *refusingStore) Write(ctx context.Context, w recycled.Write) (bool, error) {
	history, isNew := strings.CutSuffix(w.History, "+")
	if w.Pool == nil && s.writes.Add(1)%10 == 0 || isNew != s.changed.Load() {
		return false, nil
	}
	w.History = history
	return s.memory.Write(ctx, w)
}

// A carelessStore makes writes that replace something else, of the same revision, or are of another history.
type carelessStore struct {
	memory
	content, history bool // what it does not compare
}

func (s carelessStore) Write(ctx context.Context, w recycled.Write) (bool, error) {
	state, err := s.memory.Read(ctx, recycled.Query{All: true})
	if err != nil {
		return false, err
	}
	if s.history {
		w.History = state.History
	}
	for i, old := range w.Replaced {
		for _, now := range state.Slots {
			if s.content && now.WorkerID == old.WorkerID && now.Revision == old.Revision {
				w.Replaced[i] = now
			}
		}
	}
	if s.content && w.Pool != nil && w.ReplacedPool != nil && w.ReplacedPool.Revision == state.Pool.Revision {
		w.ReplacedPool = &state.Pool
	}
	return s.memory.Write(ctx, w)
}

// A tornStore returns a slot that nobody has written, after a change.
type tornStore struct {
	memory
	torn *atomic.Bool
}

func (s tornStore) Read(ctx context.Context, q recycled.Query) (recycled.State, error) {
	state, err := s.memory.Read(ctx, q)
	if s.torn.Load() && len(state.Slots) > 0 {
		state.Slots[0].Token = "torn"
	}
	return state, err
}

// failover returns calls during which a store loses writes, twice.
func failover(lose func(m *assigntest.Memory, time int)) func(*testing.T, []storetest.Store, fault) *history {
	return func(t *testing.T, stores []storetest.Store, _ fault) *history {
		n := 0
		return swaps(t, stores, fault{loses: true, disturb: func(_ testing.TB, call func()) {
			call()
			n++
			lose(stores[0].(interface{ server() *assigntest.Memory }).server(), n)
		}})
	}
}

func (m memory) server() *assigntest.Memory { return m.Memory }

// A longSource takes more than is wanted.
type longSource struct{ memory }

func (s longSource) Take(ctx context.Context, r segment.Request) (segment.Range, error) {
	r.Size *= 100
	return s.memory.Take(ctx, r)
}

// An emptySource returns each twentieth range without numbers.
type emptySource struct {
	memory
	takes atomic.Int64
}

func (s *emptySource) Take(ctx context.Context, r segment.Request) (segment.Range, error) {
	got, err := s.memory.Take(ctx, r)
	if s.takes.Add(1)%20 == 0 {
		got.Length = 0
	}
	return got, err
}

// A repeatingSource takes each hundredth range a second time.
type repeatingSource struct {
	memory
	takes atomic.Int64
	last  atomic.Pointer[segment.Range]
}

func (s *repeatingSource) Take(ctx context.Context, r segment.Request) (segment.Range, error) {
	if last := s.last.Load(); last != nil && s.takes.Add(1)%100 == 0 {
		return *last, nil
	}
	got, err := s.memory.Take(ctx, r)
	s.last.Store(&got)
	return got, err
}

// Each fault is injected whose functions are all there.
func TestInject(t *testing.T) {
	events, current := map[string][]string{}, ""
	event := func(name string) func(testing.TB) {
		return func(testing.TB) { events[current] = append(events[current], name) }
	}
	t.Run("faults", func(t *testing.T) {
		inject(t, map[string]fault{
			"Kill": {disturb: around(event("kill"), event("start"))}, "Pause": {disturb: around(event("pause"), nil)}, "LoseReplies": {},
			"DelayWrites": {disturb: delayed(func(tb testing.TB, call func()) func() {
				event("delay")(tb)
				call()
				return func() { event("deliver")(tb) }
			})},
			"StepClock": {disturb: stepped(func(tb testing.TB, d time.Duration) { event(d.String())(tb) })},
		}, func(t *testing.T, f fault) {
			current = path.Base(t.Name())
			events[current] = nil
			if f.disturb != nil {
				f.disturb(t, func() { event("call")(t) })
			}
		})
	})
	if want := map[string][]string{"no_fault": nil, "Kill": {"kill", "call", "start"}, "DelayWrites": {"delay", "call", "deliver"},
		"StepClock": {"1m0s", "call", "-1m0s"}}; !reflect.DeepEqual(events, want) {
		t.Errorf("%v, want %v", events, want)
	}
}

// A fault that makes calls fail lasts until one has failed.
func TestFaultLasts(t *testing.T) {
	testkit.Slow(t, "it waits for the end of a call")
	t.Parallel()
	h := newMemory(func(m memory) storetest.Store { return m })
	f := fault{disturb: around(h.Tags.Pause, h.Tags.Resume), fails: true}
	if log := takes(t, open(t, h), f); log.unknown.Load() == 0 {
		t.Error("each call had a result")
	}
}

// A call without a result may have its effect after it has ended.
func TestUnknown(t *testing.T) {
	h := newHistory()
	h.add("slot", 0, h.now(), swap{"a", "b"}, nil)
	for _, value := range []string{"a", "b"} {
		h.add("slot", 1, h.now(), nil, value)
	}
	if p := h.problems(slotModel); len(p) > 0 || h.unknown.Load() != 1 {
		t.Errorf("%d calls without a result, and %v", h.unknown.Load(), p)
	}
}

// A deafStore fails each second Read.
type deafStore struct {
	storetest.Store
	reads int
}

func (s *deafStore) Read(ctx context.Context, q recycled.Query) (recycled.State, error) {
	if s.reads++; s.reads%2 == 0 && !q.All {
		return recycled.State{}, errors.New("the reply is lost")
	}
	return s.Store.Read(ctx, q)
}

// A client that cannot read writes what its last state permits. After all writes there is another read.
func TestWritesWithoutRead(t *testing.T) {
	stores := open(t, newMemory(func(m memory) storetest.Store { return m }))
	for i, s := range stores {
		stores[i] = &deafStore{Store: s}
	}
	reads, writes, lastRead, lastReturn := 0, 0, int64(0), int64(0)
	for r, calls := range swaps(t, stores, fault{}).calls {
		for _, c := range calls {
			if _, isWrite := c.Input.(swap); isWrite {
				writes++
				lastReturn = max(lastReturn, c.Return)
			} else if r.(register).worker == pool {
				reads++
				lastRead = max(lastRead, c.Call)
			}
		}
	}
	if writes <= reads {
		t.Errorf("%d writes, and %d reads that succeeded", writes, reads)
	}
	if lastRead < lastReturn {
		t.Errorf("the last read was at %d, and a write ended at %d", lastRead, lastReturn)
	}
}

// An unreadyStore fails a number of Reads, and requires that they end.
type unreadyStore struct {
	memory
	failures int
}

func (s *unreadyStore) Read(ctx context.Context, q recycled.Query) (recycled.State, error) {
	if _, ends := ctx.Deadline(); !ends {
		return recycled.State{}, errors.New("the read may take forever")
	}
	if s.failures--; s.failures >= 0 {
		return recycled.State{}, errors.New("not ready")
	}
	return s.memory.Read(ctx, q)
}

// A store may still recover during the last read.
func TestLastRead(t *testing.T) {
	store := open(t, newMemory(func(m memory) storetest.Store { return &unreadyStore{m, 2} }))[0]
	h := newHistory()
	h.readPatiently(t, store)
	if len(h.calls) != slotCount+1 {
		t.Errorf("%d registers were read, want %d", len(h.calls), slotCount+1)
	}
}

// The test finds stores that are not linearizable.
func TestFindsWhatIsBroken(t *testing.T) {
	var changed, never, torn atomic.Bool
	for name, tt := range map[string]struct {
		wrap  func(memory) storetest.Store
		calls func(*testing.T, []storetest.Store, fault) *history
		model porcupine.Model
	}{
		"a write is lost":             {func(m memory) storetest.Store { return &lateStore{memory: m} }, swaps, slotModel},
		"a write of the pool is lost": {func(m memory) storetest.Store { return &lateStore{memory: m, pool: true} }, swaps, slotModel},
		"a read is stale":             {func(m memory) storetest.Store { return &staleStore{memory: m} }, swaps, slotModel},
		"a slot is missing":           {short(func(s *recycled.State) { s.Slots = s.Slots[:1] }), swaps, slotModel},
		"all slots are missing":       {short(func(s *recycled.State) { s.Slots = nil }), swaps, slotModel},
		"the pool is missing":         {short(func(s *recycled.State) { s.Pool = recycled.Pool{} }), swaps, slotModel},
		"writes are refused":          {func(m memory) storetest.Store { return &refusingStore{memory: m, changed: &never} }, swaps, slotModel},
		"writes are refused in two histories": {func(m memory) storetest.Store { return &refusingStore{memory: m, changed: &changed} },
			func(t *testing.T, stores []storetest.Store, _ fault) *history {
				return swaps(t, stores, fault{disturb: func(testing.TB, func()) { changed.Store(true) }})
			}, slotModel},
		"contents are not compared":  {func(m memory) storetest.Store { return carelessStore{memory: m, content: true} }, swaps, slotModel},
		"histories are not compared": {func(m memory) storetest.Store { return carelessStore{memory: m, history: true} }, failover(func(m *assigntest.Memory, _ int) { m.Failover(20) }), slotModel},
		"a failover loses writes, and the history stays": {func(m memory) storetest.Store { return m }, failover(func(m *assigntest.Memory, time int) {
			if time == 1 {
				m.Failover(20)
			} else {
				m.LoseWrites(20)
			}
		}), slotModel},
		"a failover leaves what nobody has written": {func(m memory) storetest.Store { return tornStore{m, &torn} }, failover(func(m *assigntest.Memory, _ int) {
			m.Failover(20)
			torn.Store(true)
		}), slotModel},
		"ranges are empty":    {func(m memory) storetest.Store { return &emptySource{memory: m} }, takes, counterModel},
		"ranges are too long": {func(m memory) storetest.Store { return longSource{m} }, takes, counterModel},
		"a range comes twice": {func(m memory) storetest.Store { return &repeatingSource{memory: m} }, takes, counterModel},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if log := tt.calls(t, open(t, newMemory(tt.wrap)), fault{}); len(log.problems(tt.model)) == 0 {
				t.Error("all is said to be linearizable")
			}
		})
	}
}

// A history that has ended does not come back.
func TestComesBack(t *testing.T) {
	for _, tt := range []struct {
		want  bool
		calls []porcupine.Operation // of the histories a and b, in turn
	}{
		{false, []porcupine.Operation{{Call: 0, Return: 9, Output: "x"}, {Call: 1, Return: 8, Output: "x"}, {Call: 2, Return: 7, Output: true}, {Call: 8, Return: 9, Output: "y"}}},
		{true, []porcupine.Operation{{Call: 0, Return: 1, Output: "x"}, {Call: 2, Return: 3, Output: "x"}, {Call: 4, Return: 5, Output: true}}},
		{false, []porcupine.Operation{{Call: 0, Return: 1, Output: "x"}, {Call: 2, Return: 3, Output: "x"}, {Call: 4, Return: 5, Output: false}}},
		{false, []porcupine.Operation{{Call: 0, Return: 1, Output: "x"}, {Call: 2, Return: 3, Output: "x"}, {Call: 4, Return: math.MaxInt64}}},
	} {
		h := newHistory()
		for n, c := range tt.calls {
			r := register{int64(n % 3), []string{"a", "b"}[n%2]}
			h.calls[r] = append(h.calls[r], c)
		}
		h.comesBack()
		if got := len(h.wrong) > 0; got != tt.want {
			t.Errorf("%+v: %v", tt.calls, h.wrong)
		}
	}
}

// Histories whose answer is known.
func TestModels(t *testing.T) {
	op := func(call, end int64, input, output any) porcupine.Operation {
		return porcupine.Operation{Call: call, Return: end, Input: input, Output: output}
	}
	take := func(call, end, first, length int64) porcupine.Operation {
		return op(call, end, length, segment.Range{First: first, Length: length})
	}
	for name, tt := range map[string]struct {
		model porcupine.Model
		want  bool
		calls []porcupine.Operation
	}{
		"a swap is read":                        {slotModel, true, []porcupine.Operation{op(0, 1, nil, "a"), op(2, 5, swap{"a", "b"}, true), op(3, 4, nil, "b"), op(6, 7, nil, "b")}},
		"a swap is not read":                    {slotModel, false, []porcupine.Operation{op(0, 1, nil, "a"), op(2, 3, swap{"a", "b"}, true), op(4, 5, nil, "a")}},
		"two swaps of one value":                {slotModel, false, []porcupine.Operation{op(0, 5, swap{"a", "b"}, true), op(0, 5, swap{"a", "c"}, true)}},
		"one of two swaps":                      {slotModel, true, []porcupine.Operation{op(0, 5, swap{"a", "b"}, true), op(0, 5, swap{"a", "c"}, false)}},
		"a swap is refused without a reason":    {slotModel, false, []porcupine.Operation{op(0, 1, nil, "a"), op(2, 3, swap{"a", "b"}, false)}},
		"an unknown swap was made":              {slotModel, true, []porcupine.Operation{op(0, 1, nil, "a"), op(2, math.MaxInt64, swap{"a", "b"}, nil), op(8, 9, nil, "b")}},
		"an unknown swap was not made":          {slotModel, true, []porcupine.Operation{op(0, 1, nil, "a"), op(2, math.MaxInt64, swap{"a", "b"}, nil), op(8, 9, nil, "a")}},
		"an unknown swap is made and withdrawn": {slotModel, false, []porcupine.Operation{op(0, 1, nil, "a"), op(2, math.MaxInt64, swap{"a", "b"}, nil), op(4, 5, nil, "b"), op(8, 9, nil, "a")}},
		"ranges in order":                       {counterModel, true, []porcupine.Operation{take(0, 9, 11, 10), take(1, 8, 1, 10), take(10, 11, 21, 1)}},
		"ranges out of order":                   {counterModel, false, []porcupine.Operation{take(0, 1, 11, 10), take(2, 3, 1, 10)}},
		"ranges that overlap":                   {counterModel, false, []porcupine.Operation{take(0, 5, 1, 10), take(0, 5, 10, 10)}},
		"a gap":                                 {counterModel, true, []porcupine.Operation{take(0, 1, 1, 10), take(3, 4, 16, 1)}},
	} {
		if got := porcupine.CheckOperations(tt.model, tt.calls); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

// Calls are forgotten only if no order can contradict them.
func TestSimplify(t *testing.T) {
	read := func(call, end int64, value string) porcupine.Operation {
		return porcupine.Operation{Call: call, Return: end, Output: value}
	}
	write := func(call, end int64, old, next string, output any) porcupine.Operation {
		return porcupine.Operation{Call: call, Return: end, Input: swap{old, next}, Output: output}
	}
	first, unknown := read(0, 1, "a"), write(2, math.MaxInt64, "a", "b", nil)
	for name, tt := range map[string]struct {
		calls          []porcupine.Operation
		kept, problems int
	}{
		"an unknown write is not seen":         {[]porcupine.Operation{first, unknown, read(3, 4, "a")}, 2, 0},
		"an unknown write is read":             {[]porcupine.Operation{first, unknown, read(3, 4, "b")}, 3, 0},
		"an unknown write is replaced":         {[]porcupine.Operation{first, unknown, write(3, 4, "b", "c", true), read(5, 6, "c")}, 4, 0},
		"a refusal has no reason":              {[]porcupine.Operation{first, unknown, write(3, 4, "a", "c", false), read(5, 6, "a")}, 3, 1},
		"a refusal has one":                    {[]porcupine.Operation{first, unknown, write(3, 4, "a", "c", false), read(5, 6, "b")}, 4, 0},
		"a refusal may be that of a history":   {[]porcupine.Operation{first, unknown, read(3, 4, "a"), write(5, 6, "a", "c", false)}, 2, 0},
		"a read begins before a refusal's end": {[]porcupine.Operation{first, unknown, write(3, 5, "a", "c", false), read(4, 6, "a")}, 2, 0},
	} {
		h := newHistory()
		h.calls["slot"] = tt.calls
		h.simplify()
		if p := h.problems(slotModel); len(p) != tt.problems || len(h.calls["slot"]) != tt.kept {
			t.Errorf("%s: %d calls remain, and %v; want %d, and %d problems", name, len(h.calls["slot"]), p, tt.kept, tt.problems)
		}
	}
}

package storetest_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/segment/segmenttest"
	"github.com/ringuid/ringuid/stores/storetest"
	"github.com/ringuid/ringuid/workerassign/assigntest"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// A mapStore keeps a pool and tags in maps: what a store of your own does with a server. It loses no writes as long as the process runs.
type mapStore struct {
	mu    sync.Mutex
	pool  recycled.Pool
	slots map[int64]recycled.Slot
	tags  map[string]counter
}

// A counter is the record of a tag.
type counter struct{ next, step int64 }

var _ storetest.Store = (*mapStore)(nil)

func newMapStore() *mapStore {
	return &mapStore{slots: map[int64]recycled.Slot{}, tags: map[string]counter{}}
}

// String implements recycled.Store and segment.Source.
func (s *mapStore) String() string { return "maps" }

// history identifies the data: a store in memory has only one.
const history = "maps 1"

// Read implements recycled.Store.
func (s *mapStore) Read(ctx context.Context, q recycled.Query) (recycled.State, error) {
	if err := ctx.Err(); err != nil {
		return recycled.State{}, fmt.Errorf("maps: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	state := recycled.State{Pool: s.pool, Now: time.Now(), HostClock: true, History: history, NoLoss: true}
	free := 0
	for id, slot := range s.slots {
		isFree := slot.FreeAt.Before(state.Now) && free < q.Free
		if isFree {
			free++
		}
		if isFree || q.All || slices.Contains(q.WorkerIDs, id) || q.Name != "" && slot.Holder.Name == q.Name {
			state.Slots = append(state.Slots, slot)
		}
	}
	return state, nil
}

// Write implements recycled.Store.
func (s *mapStore) Write(ctx context.Context, w recycled.Write) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, fmt.Errorf("maps: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if w.History != history || w.Pool != nil && !w.ReplacesPool(s.pool) {
		return false, nil
	}
	for i, slot := range w.Slots {
		if !w.Replaces(i, s.slots[slot.WorkerID]) {
			return false, nil
		}
	}
	if w.Pool != nil {
		s.pool = *w.Pool
	}
	for _, slot := range w.Slots {
		s.slots[slot.WorkerID] = slot
	}
	return true, nil
}

// Take implements segment.Source.
func (s *mapStore) Take(ctx context.Context, r segment.Request) (segment.Range, error) {
	if err := r.Validate(); err != nil {
		return segment.Range{}, err
	}
	if err := ctx.Err(); err != nil {
		return segment.Range{}, fmt.Errorf("maps: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.tags[r.Tag]
	switch {
	case !ok:
		return segment.Range{}, fmt.Errorf("%w: %q", segment.ErrNoTag, r.Tag)
	case c.next < r.AtLeast:
		return segment.Range{}, &segment.SetBackError{Tag: r.Tag, Counter: c.next, AtLeast: r.AtLeast}
	case c.next > segment.MaxNumber:
		return segment.Range{}, fmt.Errorf("%w: %q", segment.ErrExhausted, r.Tag)
	}
	size := r.Size
	if size == 0 {
		size = c.step
	}
	size = min(size, segment.MaxNumber-c.next+1)
	taken := segment.Range{First: c.next, Length: size, Stride: 1, Step: c.step}
	c.next += size
	s.tags[r.Tag] = c
	return taken, nil
}

// CreateTag implements segment.Creator.
func (s *mapStore) CreateTag(ctx context.Context, tag string, c segment.TagConfig) error {
	if err := segment.CheckTag(tag); err != nil {
		return err
	}
	c, err := c.Validate()
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("maps: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.tags[tag]; ok {
		return fmt.Errorf("%w: %q", segment.ErrTagExists, tag)
	}
	s.tags[tag] = counter{c.Start, c.Step}
	return nil
}

func TestMapStore(t *testing.T) {
	stores := map[string]*mapStore{}
	const inProcess = "the store is in the memory of this process"
	slots, tags := map[string]string{}, map[string]string{}
	for _, fault := range []string{"Kill", "Start", "Pause", "Resume", "LoseWrites", "LoseRequests", "LoseReplies", "DelayWrites", "StepClock", "StopClock"} {
		slots[fault] = inProcess
	}
	for _, fault := range []string{"Kill", "Start", "Pause", "Resume", "LoseWrites", "LoseWritesUnnoticed", "LoseReplies"} {
		tags[fault] = inProcess
	}
	var last *mapStore
	storetest.Run(t, storetest.Harness{
		New: func(_ testing.TB, name string) storetest.Store {
			if stores[name] == nil {
				stores[name] = newMapStore()
			}
			last = stores[name]
			return last
		},
		Slots: assigntest.Faults{Without: slots},
		Tags: segmenttest.Harness{Faults: segmenttest.Faults{Without: tags, SetCounter: func(_ testing.TB, tag string, next int64) {
			last.mu.Lock()
			defer last.mu.Unlock()
			c := last.tags[tag]
			c.next = next
			last.tags[tag] = c
		}}},
	})
}

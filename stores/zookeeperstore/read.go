package zookeeperstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/ringuid/ringuid/internal/slotindex"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

const (
	maxRead  = 16 // how many slots are read at most to find one whose holder crashed
	parallel = 32 // how many requests are sent without waiting for the answers
)

// Read implements recycled.Store. It sets the clock's znode, and then reads what the same session
// sees.
func (s *Store) Read(ctx context.Context, q recycled.Query) (recycled.State, error) {
	return do(ctx, s, func() (recycled.State, error) {
		r := reader{ctx: ctx, store: s, Answer: slotindex.Answer{Query: q, State: recycled.State{NoLoss: true}}}
		err := r.read()
		return r.State, err
	})
}

// reader is one Read.
type reader struct {
	slotindex.Answer
	ctx   context.Context
	store *Store
}

func (r *reader) read() error {
	s := r.store
	var err error
	if r.State.History, r.State.Now, err = s.readClock(r.ctx); err != nil {
		return err
	}
	switch text, stat, err := s.conn.Get(s.poolPath()); {
	case errors.Is(err, zk.ErrNoNode): // there is no pool yet
	case err != nil:
		return err
	default:
		if r.State.Pool, err = s.decodePool(text, stat); err != nil {
			return err
		}
	}
	if r.Query.All {
		return r.all()
	}
	if err := r.slots(r.Query.WorkerIDs, r.Add); err != nil {
		return err
	}
	if r.Query.Name != "" {
		ids, err := r.index(s.namePath(r.Query.Name))
		if err != nil {
			return err
		}
		if err := r.slots(ids, r.AddNamed); err != nil {
			return err
		}
	}
	if r.Query.Free > 0 {
		return r.free()
	}
	return nil
}

// readClock reads the history and the clock at the same instant. What the session reads afterwards is not older.
func (s *Store) readClock(ctx context.Context) (history string, now time.Time, err error) {
	for {
		if ctx.Err() != nil {
			return "", now, context.Cause(ctx)
		}
		if history := s.lastHistory(); history != "" {
			results, err := s.conn.Multi(&zk.CheckVersionRequest{Path: s.historyPath() + "/" + history, Version: -1},
				&zk.SetDataRequest{Path: s.clockPath(), Version: -1})
			if err == nil {
				return history, time.UnixMilli(results[1].Stat.Mtime).UTC(), nil
			}
			if !errors.Is(err, zk.ErrNoNode) {
				return "", now, err
			}
		}
		if err := s.readHistory(); err != nil {
			return "", now, err
		}
	}
}

// lastHistory returns the history as it was read last, or "".
func (s *Store) lastHistory() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.history
}

// readHistory reads the name of the history's znode, and creates what is missing.
func (s *Store) readHistory() error {
	names, stat, err := s.conn.Children(s.historyPath())
	if errors.Is(err, zk.ErrNoNode) {
		return s.createTree()
	}
	if err != nil {
		return err
	}
	history := ""
	if len(names) == 1 {
		history = names[0]
	}
	s.mu.Lock()
	unchanged := history == s.history
	s.history = history
	s.mu.Unlock()
	if history != "" && !unchanged {
		return nil
	}
	// There is no history, or more than one, or no clock.
	if err := s.createTree(); err != nil || history != "" {
		return err
	}
	_, err = s.replaceHistory(names, stat)
	return err
}

// slots reads slots and adds them to the answer. A slot that does not exist is left out.
func (r *reader) slots(ids []int64, add func(recycled.Slot) bool) error {
	s := r.store
	type answer struct {
		text []byte
		stat *zk.Stat
		err  error
	}
	for first := 0; first < len(ids); first += parallel {
		if r.ctx.Err() != nil {
			return context.Cause(r.ctx)
		}
		part := ids[first:min(first+parallel, len(ids))]
		answers := make([]answer, len(part))
		var wg sync.WaitGroup
		for i, id := range part {
			wg.Go(func() {
				a := &answers[i]
				a.text, a.stat, a.err = s.conn.Get(s.slotPath(id))
			})
		}
		wg.Wait()
		for i, a := range answers {
			if errors.Is(a.err, zk.ErrNoNode) {
				continue
			}
			if a.err != nil {
				return a.err
			}
			rec, err := s.decodeSlot(part[i], a.text, a.stat)
			if err != nil {
				return err
			}
			if add(rec.slot) {
				s.records.Put(part[i], rec)
			}
		}
	}
	return nil
}

// index returns the worker IDs of an index.
func (r *reader) index(p string) ([]int64, error) {
	names, _, err := r.store.conn.Children(p)
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	ids := make([]int64, 0, len(names))
	for _, name := range names {
		if id, err := strconv.ParseInt(name, 10, 64); err == nil {
			ids = append(ids, id)
		}
	}
	return ids, err
}

// free reads slots that were released. If none is free, or more than the usual number are wanted, it also reads
// slots from a random one on.
func (r *reader) free() error {
	parts := rand.Perm(freeParts)
	for _, parts := range [][]int{parts[:1], parts[1:]} { // often the first is enough
		ids, err := r.freeIDs(parts)
		if err != nil {
			return err
		}
		r.State.MoreFree = r.State.MoreFree || len(ids) > slotindex.MaxFree
		if err := r.slots(ids[:min(len(ids), slotindex.MaxFree)], r.AddFree); err != nil {
			return err
		}
		if r.HasFree() {
			return nil
		}
	}
	p := r.State.Pool
	if p.Slots == 0 {
		return nil
	}
	var ids []int64
	start := rand.Int64N(p.Slots)
	for n := range min(p.Slots, maxRead) {
		ids = append(ids, p.First+(start+n)%p.Slots)
	}
	return r.slots(ids, r.AddFree)
}

// freeIDs returns the worker IDs of parts of the index of released slots, in a random order.
func (r *reader) freeIDs(parts []int) ([]int64, error) {
	found, errs := make([][]int64, len(parts)), make([]error, len(parts))
	var wg sync.WaitGroup
	for i, part := range parts {
		wg.Go(func() { found[i], errs[i] = r.index(r.store.freePath(int64(part))) })
	}
	wg.Wait()
	ids := slices.Concat(found...)
	rand.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	return ids, errors.Join(errs...)
}

// all reads all slots, also those of a pool that was lost.
func (r *reader) all() error {
	p := r.State.Pool
	if p.Revision == 0 {
		ids, err := r.index(r.store.slotsPath())
		if err != nil {
			return err
		}
		return r.slots(ids, r.Add)
	}
	ids := make([]int64, p.Slots)
	for n := range ids {
		ids[n] = p.First + int64(n)
	}
	return r.slots(ids, r.Add)
}

// decodeSlot returns a slot with its version.
func (s *Store) decodeSlot(id int64, text []byte, stat *zk.Stat) (record, error) {
	slot, err := recycled.DecodeSlot(text)
	if err == nil && slot.WorkerID != id {
		err = fmt.Errorf("%w (%w): it is the slot of worker ID %d", recycled.ErrPool, workerassign.ErrPermanent, slot.WorkerID)
	}
	if err != nil {
		return record{}, fmt.Errorf("znode %q: %w", s.slotPath(id), err)
	}
	return record{slot, stat.Version}, nil
}

// decodePool returns the pool, and keeps its version for the next write.
func (s *Store) decodePool(text []byte, stat *zk.Stat) (recycled.Pool, error) {
	pool, err := recycled.DecodePool(text)
	if err != nil {
		return pool, fmt.Errorf("znode %q: %w", s.poolPath(), err)
	}
	s.pools.Put(pool.Revision, poolRecord{pool, stat.Version})
	return pool, nil
}

package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/ringuid/ringuid/internal/testkit/slottest"
	"github.com/ringuid/ringuid/stores/redisstore"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// What was written is read again, to the last field.
func TestRecords(t *testing.T) {
	s, _, _ := newStore(t)
	begin := time.Now()
	state := slottest.Read(t, s, recycled.Query{All: true, Free: 3, Name: "x", WorkerIDs: []int64{4}})
	end := time.Now()
	if state.Pool != (recycled.Pool{}) || len(state.Slots) != 0 || state.HostClock || state.NoLoss || state.History == "" {
		t.Errorf("a missing pool is %+v", state)
	}
	// The server may run on another host.
	if state.Now.Before(begin.Add(-time.Second)) || state.Now.After(end.Add(time.Second)) || state.Now != state.Now.Truncate(time.Millisecond) {
		t.Errorf("the store's clock showed %v between %v and %v", state.Now, begin, end)
	}
	far := time.UnixMilli(253402300799999).UTC()
	pool := recycled.Pool{Revision: 1, Format: "1-28-22-13 \"<é\u2028>", First: 7, Slots: 1, History: state.History, Since: state.Now,
		Floor: far, Horizon: 75_001 * time.Millisecond, Fencing: time.Millisecond, Skew: 3 * time.Hour}
	slots := []recycled.Slot{
		{WorkerID: 7, Revision: 1, Token: "token", From: time.UnixMilli(1795292589031).UTC(), Until: far, History: "a history",
			Written: time.UnixMilli(1).UTC(), FreeAt: time.UnixMilli(1795292589999).UTC(),
			Holder: recycled.Holder{Name: "n {}'\"\\ ,3", Host: "host", Process: "1/2", Since: time.UnixMilli(1795292589031).UTC()}},
		{WorkerID: 4194303, Revision: 1}, // with zero times
	}
	slottest.WantWritten(t, s, true, slottest.Swap(state, &pool, slots...))
	for _, q := range []recycled.Query{{All: true}, {WorkerIDs: []int64{4194303, 7, 8, 7}}, {WorkerIDs: []int64{4194303}, Name: "n {}'\"\\ ,3"}} {
		got := slottest.Read(t, s, q)
		slices.SortFunc(got.Slots, func(a, b recycled.Slot) int { return int(a.WorkerID - b.WorkerID) })
		if got.Pool != pool || !reflect.DeepEqual(got.Slots, slots) || got.History != state.History {
			t.Errorf("with %+v Read() = %+v\nwant %+v, %+v", q, got, pool, slots)
		}
	}
	if got := slottest.Read(t, s, recycled.Query{}); len(got.Slots) != 0 {
		t.Errorf("an empty query selects %v", got.Slots)
	}
}

// A write is made as a whole or not at all, and only if all its records replace the right revisions.
func TestCompareAndSwap(t *testing.T) {
	s, _, _ := newStore(t)
	before := createPool(t, s, 3)
	pool := func(revision int64) *recycled.Pool {
		p := before.Pool
		p.Revision = revision
		p.Floor = before.Now
		return &p
	}
	slot := func(id, revision int64) recycled.Slot {
		return recycled.Slot{WorkerID: id, Revision: revision, Token: "t", Holder: recycled.Holder{Name: "new"}}
	}
	for name, w := range map[string]recycled.Write{
		"an old revision of the pool": slottest.Swap(before, pool(1)),
		"a later one":                 slottest.Swap(before, pool(3)),
		"an old revision of a slot":   slottest.Swap(before, nil, slot(0, 1)),
		"a later one of a slot":       slottest.Swap(before, nil, slot(0, 3)),
		"the second slot":             slottest.Swap(before, nil, slot(0, 2), slot(1, 1)),
		"a slot and not the pool":     slottest.Swap(before, pool(1), slot(0, 2)),
		"the pool and not a slot":     slottest.Swap(before, pool(2), slot(0, 1)),
		"a slot that does not exist":  slottest.Swap(before, nil, slot(3, 2)),
		"one that exists":             slottest.Swap(before, pool(2), slot(3, 1), slot(2, 1)),
	} {
		if ok, err := s.Write(context.Background(), w); ok || err != nil {
			t.Errorf("with %s Write() = %t, %v; want false", name, ok, err)
		}
	}
	for _, history := range []string{"", "x", "/", before.History + "x", "x" + before.History, before.History[:len(before.History)-1]} {
		w := slottest.Swap(before, pool(2), slot(0, 2))
		w.History = history
		if ok, err := s.Write(context.Background(), w); ok || err != nil {
			t.Errorf("with the history %q Write() = %t, %v; want false", history, ok, err)
		}
	}
	after := slottest.Read(t, s, recycled.Query{All: true, Name: "new"})
	after.Now = before.Now
	byID := func(a, b recycled.Slot) int { return int(a.WorkerID - b.WorkerID) }
	slices.SortFunc(before.Slots, byID)
	slices.SortFunc(after.Slots, byID)
	if !reflect.DeepEqual(before, after) {
		t.Errorf("a refused write has changed something: %+v\nwant %+v", after, before)
	}
	if named := slottest.Read(t, s, recycled.Query{Name: "new"}); len(named.Slots) != 0 {
		t.Errorf("a refused write has given %v a name", named.Slots)
	}
	slottest.WantWritten(t, s, true, slottest.Swap(before, pool(2), slot(0, 2), slot(3, 1)))
	if got := ids(slottest.Read(t, s, recycled.Query{Name: "new"}).Slots); !slices.Equal(got, []int64{0, 3}) {
		t.Errorf("the slots with the name are %v, want 0 and 3", got)
	}
}

// Of several writers that replace one revision, one wins.
func TestConcurrentWrites(t *testing.T) {
	s, _, _ := newStore(t)
	createPool(t, s, 1)
	for revision := int64(2); revision < 30; revision++ {
		state := slottest.Read(t, s, recycled.Query{All: true})
		var won atomic.Int64
		var writers sync.WaitGroup
		for range 8 {
			writers.Go(func() { // with equal records
				ok, err := s.Write(context.Background(), slottest.Swap(state, nil, recycled.Slot{WorkerID: 0, Revision: revision}))
				if err != nil {
					t.Error(err)
				}
				if ok {
					won.Add(1)
				}
			})
		}
		writers.Wait()
		if won.Load() != 1 {
			t.Fatalf("%d writes of revision %d were made, want 1", won.Load(), revision)
		}
	}
}

// Free slots are found by their time, names by their last holder, also after changes.
func TestQueries(t *testing.T) {
	s, _, _ := newStore(t)
	createPool(t, s, 500)
	seen := map[int64]bool{}
	for range 100 {
		found := slottest.Read(t, s, recycled.Query{Free: 20})
		if len(found.Slots) != 20 {
			t.Fatalf("%d free slots, want 20", len(found.Slots))
		}
		for _, slot := range found.Slots {
			if !slot.FreeAt.Before(found.Now) {
				t.Fatalf("slot %+v is not free at %v", slot, found.Now)
			}
			seen[slot.WorkerID] = true
		}
	}
	if len(seen) < 400 {
		t.Errorf("100 reads found %d of 500 free slots; the window should be at a random place", len(seen))
	}
	state := slottest.Read(t, s, recycled.Query{Free: 1000, WorkerIDs: []int64{1, 2, 3}})
	if len(state.Slots) != 500 {
		t.Fatalf("%d free slots, want 500 without duplicates", len(state.Slots))
	}
	var held []recycled.Slot
	for _, slot := range state.Slots {
		slot.Revision++
		slot.Holder.Name = fmt.Sprint("name-", slot.WorkerID%100)
		if slot.WorkerID >= 10 {
			slot.FreeAt = state.Now.Add(time.Hour)
		}
		held = append(held, slot)
	}
	slottest.WantWritten(t, s, true, slottest.Swap(state, nil, held...))
	if got := ids(slottest.Read(t, s, recycled.Query{Free: 1000}).Slots); len(got) != 10 || got[9] != 9 {
		t.Errorf("the free slots are %v, want 0 to 9", got)
	}
	if got := ids(slottest.Read(t, s, recycled.Query{Name: "name-7"}).Slots); !slices.Equal(got, []int64{7, 107, 207, 307, 407}) {
		t.Errorf("the slots of name-7 are %v", got)
	}
	state = slottest.Read(t, s, recycled.Query{WorkerIDs: []int64{107, 407}})
	unnamed, renamed := state.Slots[0], state.Slots[1]
	unnamed.Revision++
	unnamed.Holder.Name = ""
	renamed.Revision++
	renamed.Holder.Name = "name-8"
	slottest.WantWritten(t, s, true, slottest.Swap(state, nil, unnamed, renamed))
	if got := ids(slottest.Read(t, s, recycled.Query{Name: "name-7", WorkerIDs: []int64{7}}).Slots); !slices.Equal(got, []int64{7, 207, 307}) {
		t.Errorf("the slots of name-7 are %v", got)
	}
	if got := ids(slottest.Read(t, s, recycled.Query{Name: "name-8"}).Slots); len(got) != 6 {
		t.Errorf("the slots of name-8 are %v", got)
	}
	if got := ids(slottest.Read(t, s, recycled.Query{All: true}).Slots); len(got) != 500 {
		t.Errorf("the pool has %d slots, want 500", len(got))
	}
}

// The index is built again if it was deleted, or if it lacks slots. A wrong one only hides slots.
func TestIndex(t *testing.T) {
	s, c, pool := newStore(t)
	createPool(t, s, 50)
	ctx := context.Background()
	for name, spoil := range map[string]func(){
		"deleted":    func() { c.Del(ctx, indexKey(pool)) },
		"incomplete": func() { c.ZRem(ctx, indexKey(pool), "3", "4") },
		"with more":  func() { c.ZAdd(ctx, indexKey(pool), goredis.Z{Score: 1, Member: "77"}) },
	} {
		spoil()
		if got := slottest.Read(t, s, recycled.Query{Free: 100}).Slots; len(got) != 50 {
			t.Errorf("an index that was %s: %d free slots, want 50", name, len(got))
		}
	}
	c.ZAdd(ctx, indexKey(pool), goredis.Z{Score: 9e15, Member: "3"})
	if got := slottest.Read(t, s, recycled.Query{Free: 100}).Slots; len(got) != 49 {
		t.Errorf("a changed index: %d free slots, want 49", len(got))
	}
	if got := slottest.Read(t, s, recycled.Query{All: true}).Slots; len(got) != 50 {
		t.Errorf("a changed index: %d slots, want 50", len(got))
	}
	// The index of a pool that was deleted does not confuse the next one.
	c.Del(ctx, hashKey(pool))
	createPool(t, s, 2)
	if got := c.ZCard(ctx, indexKey(pool)).Val(); got != 2 {
		t.Errorf("the index of the new pool has %d slots, want 2", got)
	}
}

// A pool that was deleted and made anew has another history, although the server is the same: a write that
// was prepared for the old one is not made, although what it replaces matches.
func TestDeletedPool(t *testing.T) {
	s, c, pool := newStore(t)
	old := createPool(t, s, 1)
	if again := slottest.Read(t, s, recycled.Query{}); again.History != old.History {
		t.Errorf("the history changed from %q to %q", old.History, again.History)
	}
	c.Del(context.Background(), hashKey(pool))
	next := createPool(t, s, 1)
	if next.History == old.History || next.Pool.History != next.History {
		t.Errorf("the history is %q after %q, and the pool's is %q", next.History, old.History, next.Pool.History)
	}
	w := slottest.Swap(next, nil, recycled.Slot{WorkerID: 0, Revision: 2})
	w.History = old.History
	slottest.WantWritten(t, s, false, w)
	w.History = next.History
	slottest.WantWritten(t, s, true, w)
}

// The server forgets scripts at a restart, and by SCRIPT FLUSH.
func TestForgottenScripts(t *testing.T) {
	s, c, _ := newStore(t)
	c.ScriptFlush(context.Background())
	state := createPool(t, s, 1)
	c.ScriptFlush(context.Background())
	slottest.WantWritten(t, s, true, slottest.Swap(state, nil, recycled.Slot{WorkerID: 0, Revision: 2}))
	c.ScriptFlush(context.Background())
	slottest.Read(t, s, recycled.Query{})
}

// Invalid arguments are permanent errors that wrap ErrOption.
func TestOptions(t *testing.T) {
	c := connect(t, "127.0.0.1:1")
	ring := goredis.NewRing(&goredis.RingOptions{Addrs: map[string]string{"a": "127.0.0.1:1"}, HeartbeatFrequency: time.Hour})
	defer ring.Close()
	for want, s := range map[string]*redisstore.Store{
		"the client is nil":         redisstore.New(nil),
		"client is nil; must not":   redisstore.New((*goredis.Client)(nil)),
		"is nil; must":              redisstore.New((*goredis.ClusterClient)(nil)),
		"*redis.Ring":               redisstore.New(ring),
		"the pool's name is \"\"":   redisstore.New(c, redisstore.WithPool("")),
		"the pool's name is \"{a\"": redisstore.New(c, redisstore.WithPool("{a")),
		"an option is nil":          redisstore.New(c, nil),
	} {
		_, err := s.Read(context.Background(), recycled.Query{})
		_, err2 := s.Write(context.Background(), recycled.Write{})
		for _, err := range []error{err, err2} {
			if !errors.Is(err, workerassign.ErrOption) || !strings.Contains(err.Error(), want) {
				t.Errorf("the error is %v, want %q", err, want)
			}
		}
		if s.String() == "" {
			t.Error("no String")
		}
	}
}

// A store with Sentinel has a name in errors and logs that says so.
func TestSentinelString(t *testing.T) {
	c := goredis.NewFailoverClient(&goredis.FailoverOptions{MasterName: "ids", SentinelAddrs: []string{"127.0.0.1:1"}})
	t.Cleanup(func() { c.Close() })
	if got, want := redisstore.New(c).String(), `Redis at the primary that Sentinel names, pool "default"`; got != want {
		t.Errorf("the store is %q, want %q", got, want)
	}
}

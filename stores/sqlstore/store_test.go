package sqlstore_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/ringuid/ringuid"
	"github.com/ringuid/ringuid/internal/testkit/mariadbtest"
	"github.com/ringuid/ringuid/internal/testkit/schematest"
	"github.com/ringuid/ringuid/internal/testkit/slottest"
	"github.com/ringuid/ringuid/internal/testkit/testserver"
	"github.com/ringuid/ringuid/stores/sqlstore"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// newSlotTables creates the tables of schema.sql in a new database, and returns a store on them.
func newSlotTables(t *testing.T, s *mariadbtest.Server, opts ...sqlstore.Option) (recycled.Store, string) {
	t.Helper()
	name, db := s.Database()
	testserver.RunScript(t, db, ringuid.MySQLSchema())
	return sqlstore.New(db, append([]sqlstore.Option{sqlstore.WithAttemptTimeout(time.Minute)}, opts...)...), name
}

func at(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

// Each step of the contract of recycled.Store, on each server and with each setting.
func testSlotStoreContract(t *testing.T, s recycled.Store) {
	t.Helper()
	begin := time.Now()
	empty := slottest.Read(t, s, recycled.Query{All: true, Free: 3, Name: "n", WorkerIDs: []int64{1, 2}})
	if empty.History == "" || empty.ReadOnly || empty.Pool != (recycled.Pool{}) || len(empty.Slots) != 0 {
		t.Fatalf("an empty store has the state %+v", empty)
	}
	if end := time.Now(); empty.Now.Before(begin.Add(-5*time.Second)) || empty.Now.After(end.Add(5*time.Second)) || empty.HostClock {
		t.Errorf("the store's clock is %v, and the host's %v to %v", empty.Now, begin, end)
	}
	h := empty.History
	p, a, b := slottest.Pool(h), slottest.Slot(h, 5), slottest.Slot(h, 6)
	have := recycled.State{History: h} // what the store has
	under := func(history string, w recycled.Write) recycled.Write {
		w.History = history
		return w
	}
	slottest.WantWritten(t, s, false, under(h+"x", slottest.Swap(have, &p, a, b)))
	slottest.WantWritten(t, s, false, under(strings.ToUpper(h), slottest.Swap(have, &p)))
	next := p
	next.Revision = 2
	slottest.WantWritten(t, s, false, slottest.Swap(have, &next)) // there is no pool
	slottest.WantWritten(t, s, true, slottest.Swap(have, &p, b, a))
	have.Pool, have.Slots = p, []recycled.Slot{a, b}
	got := slottest.Read(t, s, recycled.Query{All: true})
	if got.Pool != p || !reflect.DeepEqual(got.Slots, []recycled.Slot{a, b}) || got.History != h {
		t.Errorf("the state is\n%+v, want\n%+v", got, []any{p, a, b})
	}
	slottest.WantWritten(t, s, false, slottest.Swap(have, &p))
	slottest.WantWritten(t, s, false, slottest.Swap(have, nil, slottest.Slot(h, 7), a)) // a exists, so 7 is not written either

	p = next
	p.Floor, p.Horizon = time.Time{}, time.Millisecond
	p.Slots = 40
	var slots []recycled.Slot
	for id := range int64(38) {
		slots = append(slots, slottest.Slot(h, 7+id))
	}
	a.Revision = 2
	a.Token, a.Holder = "", recycled.Holder{}
	a.Until = at(1_700_000_000_000)
	a.FreeAt = at(1_700_000_000_000)
	w := slottest.Swap(have, &p, append(slots, a)...)
	slottest.WantWritten(t, s, false, under("other", w))
	slottest.WantWritten(t, s, true, w)
	slottest.WantWritten(t, s, false, w)
	got = slottest.Read(t, s, recycled.Query{WorkerIDs: []int64{5, 44, 45, 44}})
	if got.Pool != p || len(got.Slots) != 2 || !reflect.DeepEqual(got.Slots[0], a) || got.Slots[1].WorkerID != 44 {
		t.Errorf("the state is\n%+v, want\n%+v", got, []any{p, a})
	}

	// A slot alone.
	b.Revision = 3
	slottest.WantWritten(t, s, false, slottest.Swap(have, nil, b))
	b.Revision = 2
	b.Token = "other"
	b.FreeAt = got.Now.Add(time.Hour)
	slottest.WantWritten(t, s, false, under("other", slottest.Swap(have, nil, b)))
	slottest.WantWritten(t, s, true, slottest.Swap(have, nil, b))
	have.Slots = []recycled.Slot{b}
	slottest.WantWritten(t, s, false, slottest.Swap(have, nil, b))
	slottest.WantWritten(t, s, false, under("other", slottest.Swap(have, nil, slottest.Slot(h, 45))))
	slottest.WantWritten(t, s, true, slottest.Swap(have, nil, slottest.Slot(h, 45)))
	slottest.WantWritten(t, s, false, slottest.Swap(have, nil, slottest.Slot(h, 45)))
	slottest.WantWritten(t, s, true, slottest.Swap(have, nil))
	slottest.WantWritten(t, s, false, under("other", slottest.Swap(have, nil)))

	for _, q := range []struct {
		query recycled.Query
		want  int
	}{
		{recycled.Query{}, 0}, {recycled.Query{Name: b.Holder.Name}, 40}, {recycled.Query{Name: "other"}, 0},
		{recycled.Query{Free: 3}, 3}, {recycled.Query{Free: 1000}, 1}, {recycled.Query{WorkerIDs: []int64{6}, Free: 1}, 2},
		{recycled.Query{All: true, Free: 1, Name: b.Holder.Name, WorkerIDs: []int64{5}}, 41},
		{recycled.Query{Free: 1, Name: b.Holder.Name, WorkerIDs: []int64{5, 6}}, 41},
	} {
		if q.query.Free == 3 || q.query.Free == 1000 { // make free ones
			for id := int64(5); id < 8 && q.query.Free == 3; id++ {
				have := slottest.Read(t, s, recycled.Query{WorkerIDs: []int64{id}})
				slot := have.Slots[0]
				slot.Revision++
				slot.FreeAt = got.Now.Add(-time.Hour)
				slottest.WantWritten(t, s, true, slottest.Swap(have, nil, slot))
			}
			if q.query.Free == 1000 {
				for id := int64(6); id < 8; id++ {
					have := slottest.Read(t, s, recycled.Query{WorkerIDs: []int64{id}})
					slot := have.Slots[0]
					slot.Revision++
					slot.FreeAt = got.Now.Add(time.Hour)
					slottest.WantWritten(t, s, true, slottest.Swap(have, nil, slot))
				}
			}
		}
		if got := slottest.Read(t, s, q.query); len(got.Slots) != q.want {
			t.Errorf("%+v selects %d slots, want %d", q.query, len(got.Slots), q.want)
		}
	}

	// Of concurrent writes that replace one revision, by equal records, exactly one returns true.
	var all sync.WaitGroup
	var mu sync.Mutex
	won := 0
	for range 8 {
		all.Go(func() {
			slot := b
			slot.Revision = 5 // it was written twice above
			ok, err := s.Write(context.Background(), slottest.Swap(have, nil, slot))
			if err != nil {
				t.Errorf("Write() = %v", err)
			}
			mu.Lock()
			defer mu.Unlock()
			if ok {
				won++
			}
		})
	}
	all.Wait()
	if won != 1 {
		t.Errorf("%d of 8 concurrent writes succeed, want 1", won)
	}

	for _, bad := range []recycled.Slot{
		{WorkerID: 1, Revision: 1, Token: strings.Repeat("t", 65)}, {WorkerID: 1, Revision: 1, Holder: recycled.Holder{Name: "\xff"}},
	} {
		if ok, err := s.Write(t.Context(), slottest.Swap(have, nil, bad)); ok || !errors.Is(err, workerassign.ErrOption) {
			t.Errorf("Write(%+v) = %v, %v; want ErrOption", bad, ok, err)
		}
	}
	if s.String() == "" {
		t.Error("String() is empty")
	}
}

func TestSlotTableContract(t *testing.T) {
	mariadbtest.OnEach(t, func(t *testing.T, start mariadbtest.StartFunc) {
		s := start(t)
		store, _ := newSlotTables(t, s)
		testSlotStoreContract(t, store)
		if state := slottest.Read(t, store, recycled.Query{}); state.NoLoss {
			t.Error("a single server is said to lose no acknowledged writes")
		}
		t.Run("WithHistory", func(t *testing.T) {
			store, _ := newSlotTables(t, s, sqlstore.WithHistory("History 1"))
			testSlotStoreContract(t, store)
			if state := slottest.Read(t, store, recycled.Query{}); !state.NoLoss || state.History != "History 1" {
				t.Errorf("the state is %+v", state)
			}
		})
	})
}

// slotService creates an account with exactly the privileges that schema.sql recommends for slots, and
// returns a connection of it to the database ids.
func slotService(t *testing.T, s *mariadbtest.Server, db *sqlx.DB) *sqlx.DB {
	t.Helper()
	statements := schematest.MySQL().Section(t, "PRIVILEGES ON SLOTS", "<password>", "secret", "'service'", "'slots'")
	for len(statements.Remaining) > 0 {
		db.MustExec(statements.Next(""))
	}
	return mariadbtest.Open(t, s.DSN("slots", "secret", "ids"))
}

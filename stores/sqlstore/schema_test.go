package sqlstore_test

import (
	"errors"
	"testing"
	"time"

	"github.com/ringuid/ringuid"
	"github.com/ringuid/ringuid/internal/testkit/leasetest"
	"github.com/ringuid/ringuid/internal/testkit/mariadbtest"
	"github.com/ringuid/ringuid/internal/testkit/schematest"
	"github.com/ringuid/ringuid/internal/testkit/slottest"
	"github.com/ringuid/ringuid/internal/testkit/testserver"
	"github.com/ringuid/ringuid/stores/sqlstore"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// The query of schema.sql shows who holds which worker ID, since when and until when.
func TestSchemaSlots(t *testing.T) {
	mariadbtest.OnEach(t, func(t *testing.T, start mariadbtest.StartFunc) {
		s := start(t)
		db := mariadbtest.CreateIDs(t, s)
		testserver.RunScript(t, db, ringuid.MySQLSchema())
		store := sqlstore.New(db)
		_, until := leasetest.MustHold(t, slottest.New(t, store, recycled.WithName("orders-3")), time.Minute)
		released, _ := leasetest.MustHold(t, recycled.New(store), time.Minute)
		leasetest.MustHold(t, recycled.New(store, recycled.WithName("crashed")), time.Minute)
		if err := released.Release(t.Context(), time.Now()); err != nil {
			t.Fatal(err)
		}
		db.MustExec("UPDATE WORKER_SLOT SET free_at_ms = 1000 WHERE holder_name = 'crashed'")
		rows, err := db.Queryx(schematest.MySQL().Section(t, "WHAT A SLOT MEANS").Next("SELECT worker_id"))
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		var states []string
		for rows.Next() {
			row := map[string]any{}
			if err := rows.MapScan(row); err != nil {
				t.Fatal(err)
			}
			text := func(column string) string { b, _ := row[column].([]byte); return string(b) }
			states = append(states, text("state")+" "+text("holder_name"))
			if text("holder_name") == "orders-3" {
				if got := text("until_utc"); got != until.Format(time.DateTime) {
					t.Errorf("until_utc is %q, want %q", got, until.Format(time.DateTime))
				}
				since, err := time.Parse(time.DateTime, text("since_utc"))
				if d := time.Since(since); err != nil || d < 0 || d > time.Minute || text("holder_host") == "" || text("holder_process") == "" {
					t.Errorf("the row is %q, %v", row, err)
				}
			}
		}
		if len(states) != 3 || states[0] != "held orders-3" || states[1] != "released " || states[2] != "expired crashed" {
			t.Errorf("the states are %q", states)
		}
	})
}

// An account with the privileges of schema.sql can do all that Recycled does, and nothing else.
func TestSchemaSlotPrivileges(t *testing.T) {
	mariadbtest.OnEach(t, func(t *testing.T, start mariadbtest.StartFunc) {
		s := start(t)
		db := mariadbtest.CreateIDs(t, s)
		testserver.RunScript(t, db, ringuid.MySQLSchema())
		service := slotService(t, s, db)
		testSlotStoreContract(t, sqlstore.New(service))
		for _, forbidden := range []string{
			"DELETE FROM WORKER_SLOT", "DELETE FROM WORKER_POOL", "UPDATE WORKER_SLOT SET worker_id = 7", "UPDATE WORKER_POOL SET id = 2",
			"REPLACE INTO WORKER_POOL (id) VALUES (1)", "TRUNCATE TABLE WORKER_SLOT", "DROP TABLE WORKER_POOL", "ALTER TABLE WORKER_SLOT ADD n INT",
			"SELECT * FROM WORKER_NODE", "CREATE TABLE t (n INT)",
		} {
			_, err := service.Exec(forbidden)
			mariadbtest.WantErrorNumber(t, err, "as the service: "+forbidden, 1142, 1143)
		}
		db.MustExec("REVOKE UPDATE (token) ON ids.WORKER_SLOT FROM 'slots'@'%'")
		store := sqlstore.New(service)
		state := slottest.Read(t, store, recycled.Query{WorkerIDs: []int64{5}})
		slot := state.Slots[0]
		slot.Revision++
		_, err := store.Write(t.Context(), slottest.Swap(state, nil, slot))
		wantPermanent(t, err, "PRIVILEGES ON SLOTS")
		db.MustExec("DROP TABLE WORKER_POOL")
		_, err = store.Read(t.Context(), recycled.Query{})
		wantPermanent(t, err, "WithPoolTables")
	})
}

// The statements of schema.sql raise the floor as RaiseFloor does: all leases end, and no lease begins before
// the floor.
func TestSchemaSlotFloor(t *testing.T) {
	mariadbtest.OnEach(t, func(t *testing.T, start mariadbtest.StartFunc) {
		s := start(t)
		db := mariadbtest.CreateIDs(t, s)
		testserver.RunScript(t, db, ringuid.MySQLSchema())
		store := sqlstore.New(db, sqlstore.WithHistory("1"))
		r := recycled.New(store, recycled.WithFencing(4*time.Second), recycled.WithSkew(2*time.Second), recycled.WithHorizon(20*time.Second))
		for _, raise := range []func() (earliest, latest time.Time){
			func() (earliest, latest time.Time) {
				statements := schematest.MySQL().Section(t, "SLOTS AFTER A RESTORED BACKUP")
				conn, err := db.Connx(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				begin := time.Now()
				for len(statements.Remaining) > 0 {
					if _, err := conn.ExecContext(t.Context(), statements.Next("")); err != nil {
						t.Fatal(err)
					}
				}
				return begin.Add(26 * time.Second).Truncate(time.Millisecond), time.Now().Add(27 * time.Second)
			},
			func() (earliest, latest time.Time) {
				floor := time.Now().Add(time.Minute)
				if err := r.RaiseFloor(t.Context(), floor); err != nil {
					t.Fatal(err)
				}
				return floor, floor.Add(time.Second)
			},
		} {
			first, _ := leasetest.MustHold(t, r, 10*time.Second)
			second, _ := leasetest.MustHold(t, r, 10*time.Second)
			if err := second.Release(t.Context(), time.Now()); err != nil {
				t.Fatal(err)
			}
			floor, latest := raise()
			if _, err := first.Reserve(t.Context(), time.Now().Add(time.Hour)); !errors.Is(err, workerassign.ErrLeaseLost) {
				t.Errorf("Reserve of a lease from before the floor returns %v, want ErrLeaseLost", err)
			}
			state := slottest.Read(t, store, recycled.Query{All: true})
			if state.Pool.Floor.Before(floor) || state.Pool.Floor.After(latest) {
				t.Errorf("the floor is %v, want %v to %v", state.Pool.Floor, floor, latest)
			}
			for _, slot := range state.Slots {
				if slot.Until.Before(floor) || slot.FreeAt.After(slot.Until) || slot.Token != "" {
					t.Errorf("the slot is %+v, want one that was released at the floor %v", slot, floor)
				}
			}
			l, err := r.Assign(t.Context(), leasetest.Request(1024))
			if err != nil || l.NotBefore().Before(floor) {
				t.Errorf("Assign() = %v, %v; want a lease that begins at %v or later", l, err, floor)
			}
			if after := slottest.Read(t, store, recycled.Query{}); after.Pool.Slots != state.Pool.Slots {
				t.Errorf("the pool has %d slots instead of %d: no slot could be leased at once", after.Pool.Slots, state.Pool.Slots)
			}
		}
	})
}

//go:build unix

package slottabletests

import (
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/leasetest"
	"github.com/ringuid/ringuid/internal/testkit/mariadbtest"
	"github.com/ringuid/ringuid/internal/testkit/slottest"
	"github.com/ringuid/ringuid/stores/sqlstore"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// R7: a read waits for a lock of the table while the replica is promoted. The clock that it returns together with ReadOnly
// false must not be earlier than the promotion: the floor follows from it.
func TestR7ReadDuringPromotion(t *testing.T) {
	t.Parallel()
	s := mariadbtest.Start(t)
	dsn := s.DSN("root", "", slotDatabase(t, s))
	table := sqlstore.New(mariadbtest.Open(t, dsn))
	leasetest.MustHold(t, slottest.New(t, table), time.Second)
	admin := mariadbtest.Open(t, dsn)
	admin.SetMaxOpenConns(1)
	admin.MustExec("UPDATE WORKER_POOL SET history = 'the old primary'")
	admin.MustExec("SET GLOBAL read_only = 1")
	if state := slottest.Read(t, table, recycled.Query{Free: 1}); !state.ReadOnly {
		t.Fatal("the server is not read-only")
	}
	admin.MustExec("LOCK TABLES WORKER_SLOT WRITE")
	result := make(chan recycled.State, 1)
	go func() {
		state, err := table.Read(t.Context(), recycled.Query{Free: 1})
		if err != nil {
			t.Error(err)
		}
		result <- state
	}()
	other := s.Admin()
	testkit.Eventually(t, "the read waits for the lock", func() bool {
		waiting := 0
		if err := other.Get(&waiting, "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE STATE LIKE 'Waiting for table metadata lock' AND TIME_MS > 100"); err != nil {
			t.Fatal(err)
		}
		return waiting > 0 || len(result) > 0
	})
	promoted := time.Now()
	other.MustExec("SET GLOBAL read_only = 0")
	admin.MustExec("UNLOCK TABLES")
	state := <-result
	if !state.ReadOnly && state.Now.Before(promoted.Truncate(time.Millisecond)) {
		t.Errorf("Read says that the server accepts writes, and that its clock shows %v; it accepted none before %v", state.Now, promoted)
	}
}

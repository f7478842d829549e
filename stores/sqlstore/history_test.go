package sqlstore_test

import (
	"testing"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/mariadbtest"
	"github.com/ringuid/ringuid/internal/testkit/slottest"
	"github.com/ringuid/ringuid/stores/sqlstore"
	"github.com/ringuid/ringuid/workerassign"
)

// The name of WithHistory may contain characters that the connection's character set does not have.
func TestSlotTableHistoryCharset(t *testing.T) {
	s := mariadbtest.Start(t, "--innodb-flush-log-at-trx-commit=1", "--skip-log-bin")
	_, name := newSlotTables(t, s)
	for _, charset := range []string{"utf8mb4", "latin1"} {
		db := mariadbtest.Open(t, s.DSN("root", "", name)+"?charset="+charset)
		r := slottest.New(t, sqlstore.New(db, sqlstore.WithHistory("münchen 主")))
		l, err := r.Assign(testkit.Patient(t), workerassign.Request{Format: "a format", MaxWorkerID: 1000})
		if err != nil {
			t.Fatalf("%s: %v", charset, err)
		}
		if err := l.Release(t.Context(), l.NotBefore()); err != nil {
			t.Fatal(err)
		}
	}
}

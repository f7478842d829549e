package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/sqlattempt"
	"github.com/ringuid/ringuid/internal/testkit/fakedb"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// lateCommits returns a server that acknowledges every commit, the first one only after a second, and the others a moment sooner,
// whatever the context is: PostgreSQL acknowledges a commit that the driver has canceled while it waits for a synchronous standby.
func lateCommits(version string) *fakedb.Server {
	late := time.Second + 1
	return &fakedb.Server{
		Exec: func(statement string) driver.Result {
			if strings.HasPrefix(statement, "COMMIT") {
				time.Sleep(late)
				late = time.Second - 1
			}
			return driver.RowsAffected(1)
		},
		Query: func(statement string) []driver.Value {
			if strings.HasPrefix(statement, "SELECT VERSION") {
				return []driver.Value{version}
			}
			return []driver.Value{"a", "b"}
		},
	}
}

// A write of a slot table whose commit was acknowledged after its end is not taken for one that is durable.
func TestSlotTableLateCommit(t *testing.T) {
	for _, version := range []string{"PostgreSQL 15.4", "8.0.36"} {
		synctest.Test(t, func(t *testing.T) {
			db := sql.OpenDB(lateCommits(version))
			defer db.Close()
			table := New(db)
			for _, want := range []bool{false, true} {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				written, err := table.Write(ctx, swapOf(recycled.Slot{WorkerID: 5, Revision: 2}))
				if written != want || (err == nil) != want || errors.Is(err, workerassign.ErrPermanent) {
					t.Errorf("%s: Write() = %v, %v; want %v", version, written, err, want)
				}
				cancel()
			}
		})
	}
}

// A pool without a limit is not to blame if there is no connection; one that has reached its limit is.
func TestAdviceOfPoolWithoutLimit(t *testing.T) {
	for limit, want := range map[int]string{0: sqlattempt.ReasonNoAnswer.Advice(sqlattempt.Inserts), 5: sqlattempt.ReasonNoAnswer.Advice(sqlattempt.Slots)} {
		synctest.Test(t, func(t *testing.T) {
			db := sql.OpenDB(fakedb.Blocked{})
			defer db.Close()
			db.SetMaxOpenConns(limit)
			if _, err := New(db).Read(t.Context(), recycled.Query{}); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("with the limit %d Read() = %v, want the advice %q", limit, err, want)
			}
		})
	}
}

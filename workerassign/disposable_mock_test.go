package workerassign

import (
	"context"
	"testing"

	"github.com/DATA-DOG/go-sqlmock"
	"github.com/jmoiron/sqlx"

	"github.com/ringuid/ringuid/internal/sqlattempt"
	"github.com/ringuid/ringuid/internal/testkit/fakedb"
)

var (
	testNode     = node{"host-1", "8080", kindActual}
	withTestNode = WithNode("host-1", "8080")
)

// newMockDisposable returns a Disposable on a mock of a database, for use in a synctest bubble. It
// logs nothing and does not check the server's settings.
func newMockDisposable(t *testing.T, opts ...DisposableOption) (*Disposable, sqlmock.Sqlmock) {
	t.Helper()
	db, m, _ := fakedb.Mock(t, sqlmock.QueryMatcherEqual)
	d := NewDisposable(sqlx.NewDb(db, "mysql"), append([]DisposableOption{withTestNode, quiet}, opts...)...)
	d.settingsChecked.Store(true)
	return d, m
}

// insertSQL is the exact insert statement of the node host-1, port 8080. It names only the columns of Baidu's table.
const insertSQL = "INSERT INTO `WORKER_NODE` (HOST_NAME, PORT, TYPE, LAUNCH_DATE, MODIFIED, CREATED)" +
	" VALUES (_utf8mb4 X'686f73742d31', _utf8mb4 X'38303830', 2, CURRENT_DATE, CURRENT_TIMESTAMP, CURRENT_TIMESTAMP)"

func expectBegin(m sqlmock.Sqlmock) {
	m.ExpectExec("START TRANSACTION").WillReturnResult(sqlmock.NewResult(0, 0))
}

func expectCommit(m sqlmock.Sqlmock) *sqlmock.ExpectedExec {
	return m.ExpectExec(sqlattempt.CommitMySQL).WillReturnResult(sqlmock.NewResult(0, 0))
}

func expectRollback(m sqlmock.Sqlmock) {
	m.ExpectExec(sqlattempt.RollbackMySQL).WillReturnResult(sqlmock.NewResult(0, 0))
}

// expectInsert expects a transaction up to its insert.
func expectInsert(m sqlmock.Sqlmock) *sqlmock.ExpectedExec {
	expectBegin(m)
	return m.ExpectExec(insertSQL).WithoutArgs()
}

// expectSuccess expects a transaction that succeeds with a key.
func expectSuccess(m sqlmock.Sqlmock, key int64) {
	expectInsert(m).WillReturnResult(sqlmock.NewResult(key, 1))
	expectCommit(m)
}

// expectFailure expects a transaction whose insert fails. It is rolled back, unless the connection is
// discarded.
func expectFailure(m sqlmock.Sqlmock, err error) {
	expectInsert(m).WillReturnError(err)
	if action, _ := sqlattempt.Classify(err); sqlattempt.IsServerError(err) && action != sqlattempt.Reconnect {
		expectRollback(m)
	}
}

// insertRowOnce runs a single transaction, without retries.
func (d *Disposable) insertRowOnce() {
	(&assignment{d: d, log: discardQueue(), node: testNode}).attempt(context.Background())
}

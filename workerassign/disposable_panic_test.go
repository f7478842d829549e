package workerassign

import (
	"database/sql"
	"database/sql/driver"
	"encoding/hex"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/testkit/fakedb"
)

// A panic of a driver in a statement is the caller's. The call does not block: database/sql keeps a lock of the connection after a
// panic in a query. The connection, whose transaction may be open, is closed and not used again.
func TestDisposableDriverPanics(t *testing.T) {
	for _, statement := range []string{"START TRANSACTION", "INSERT", "SELECT (SELECT PORT", "COMMIT", "SHOW GLOBAL VARIABLES", "ROLLBACK"} {
		synctest.Test(t, func(t *testing.T) {
			prefix := statement
			d := panicking(&prefix)
			db := sql.OpenDB(d)
			defer db.Close()
			a := NewDisposable(db, withTestNode, WithVerification(Verification{}))
			if v := panicOf(func() { a.Assign(t.Context(), Request{}) }); v != "in "+statement {
				t.Errorf("%s: the panic of Assign is %v", statement, v)
			}
			if d.Opened != 1 || d.Closed != 1 {
				t.Errorf("%s: %d connections were opened and %d closed; want 1", statement, d.Opened, d.Closed)
			}
			prefix = "none"
			if l, err := a.Assign(t.Context(), Request{}); err != nil || l.WorkerID() != 7 {
				t.Errorf("%s: Assign() after the panic = %v, %v", statement, l, err)
			}
		})
	}
}

// panicOf returns what f panics with.
func panicOf(f func()) (v any) {
	defer func() { v = recover() }()
	f()
	return nil
}

// The same when a verified lease looks for its row.
func TestVerifiedLeaseDriverPanics(t *testing.T) {
	for _, statement := range []string{"START TRANSACTION", "SELECT (SELECT PORT", "ROLLBACK"} {
		synctest.Test(t, func(t *testing.T) {
			prefix := "none"
			d := panicking(&prefix)
			db := sql.OpenDB(d)
			defer db.Close()
			l, err := NewDisposable(db, withTestNode, WithVerification(Verification{})).Assign(t.Context(), Request{})
			if err != nil {
				t.Fatal(err)
			}
			until := time.Now().Add(time.Hour)
			prefix, d.Closed = statement, 0
			if v := panicOf(func() { l.Reserve(t.Context(), until) }); v != "in "+statement {
				t.Errorf("%s: the panic of Reserve is %v", statement, v)
			}
			if d.Closed != 1 {
				t.Errorf("%s: %d connections were closed; want 1", statement, d.Closed)
			}
			prefix = "none"
			if _, err := l.Reserve(t.Context(), until); err != nil {
				t.Errorf("%s: Reserve() after the panic: %v", statement, err)
			}
		})
	}
}

// panicking returns a server whose next key is 7, and which panics in statements with a prefix.
func panicking(prefix *string) *fakedb.Server {
	check := func(statement string) {
		if strings.HasPrefix(statement, *prefix) {
			panic("in " + *prefix)
		}
	}
	var port []byte // the content of the column PORT of the last insert
	return &fakedb.Server{
		Exec: func(statement string) driver.Result {
			check(statement)
			if strings.HasPrefix(statement, "INSERT") {
				_, digits, _ := strings.Cut(statement, "', _utf8mb4 X'") // the second text
				digits, _, _ = strings.Cut(digits, "'")
				var err error
				if port, err = hex.DecodeString(digits); err != nil {
					panic(err)
				}
			}
			return insertedKey(7)
		},
		Query: func(statement string) []driver.Value {
			check(statement)
			if strings.HasPrefix(statement, "SELECT (SELECT PORT") {
				return []driver.Value{string(port), time.Now().UnixMilli(), "0"}
			}
			return nil
		},
	}
}

type insertedKey int64

func (k insertedKey) LastInsertId() (int64, error) { return int64(k), nil }
func (k insertedKey) RowsAffected() (int64, error) { return 1, nil }

//go:build unix

package segmenttabletests

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/mariadbtest"
	"github.com/ringuid/ringuid/internal/testkit/takertest"
	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/stores/sqlstore"
)

// tag is the tag that all processes take ranges of.
const tag = takertest.Tag

// isTaker takes ranges if this is a process of startTakers. One goroutine follows Leaf's statements, if there is one server: on
// several nodes, the driver's prepared statements hide rollbacks.
func isTaker(t *testing.T) bool {
	arguments := strings.Fields(takertest.ProcessArg())
	if len(arguments) == 0 {
		return false
	}
	timeout, err := time.ParseDuration(arguments[0])
	if err != nil {
		t.Fatal(err)
	}
	db := open(t, arguments[1], arguments[2:]...)
	db.SetMaxOpenConns(4)
	source := sqlstore.New(db, sqlstore.WithAttemptTimeout(timeout))
	takertest.RunProcess(t, func(ctx context.Context, goroutine int, r segment.Request) (segment.Range, error) {
		if goroutine == 0 && len(arguments) == 3 {
			return takeLikeLeaf(ctx, sqlx.NewDb(db, "mysql"), tag, rand.Int64N(3)*11)
		}
		return source.Take(ctx, r)
	})
	return true
}

// startTakers starts processes that take ranges. An attempt of one of them may take up to timeout.
func startTakers(t *testing.T, processes, takes int, timeout time.Duration, dsn string, addresses ...string) *takertest.Processes {
	t.Helper()
	return takertest.StartProcesses(t, processes, takes, fmt.Sprint(timeout, " ", dsn, " ", strings.Join(addresses, " ")))
}

// Many processes with several goroutines, which ask for several sizes while the row's step changes, and which follow
// Leaf's statements, receive each number once: the numbers are exactly those up to max_id.
func TestTableProcesses(t *testing.T) {
	if isTaker(t) {
		return
	}
	s := mariadbtest.Start(t, "--max-connections=1000")
	name, db := database(t, s)
	all := startTakers(t, takertest.Count(), testkit.Size(40, 30), 10*time.Minute, s.DSN("root", "", name), s.Address())
	insertTag(db, tag, 1, 50)
	for i := range 20 {
		all.WaitTotal(int64((i + 1) * takertest.Count() * 8)) // in all: they go on during the update, and half of their ranges are enough
		db.MustExec("UPDATE leaf_alloc SET step = ?", 10+17*(i%4))
	}
	all.Join()
	all.CheckDense()
	if got := maxID(t, db, tag); got != all.Last()+1 {
		t.Errorf("max_id is %d, and the greatest number %d; want a difference of 1", got, all.Last())
	}
}

// The server and processes are killed, and stopped, while processes take ranges. No number is handed out twice.
func TestTableKills(t *testing.T) {
	if isTaker(t) {
		return
	}
	s := mariadbtest.Start(t, "--max-connections=1000")
	name, db := database(t, s)
	all := startTakers(t, 4, 0, 2*time.Second, s.DSN("root", "", name), s.Address())
	insertTag(db, tag, 1, 50)
	all.Wait(50)
	for i := range testkit.Size(6, 40) {
		switch i % 3 {
		case 0:
			s.Kill()
			s.Restart()
		case 1:
			all.Replace() // a process, which may be in a transaction
		default:
			s.Pause()
			time.Sleep(20 * time.Millisecond)
			s.Resume()
			first := all.First()
			first.Pause()
			time.Sleep(20 * time.Millisecond)
			first.Resume()
		}
		all.Wait(30)
	}
	all.KillAll()
	all.Check()
	if got := maxID(t, db, tag); got <= all.Last() {
		t.Errorf("max_id is %d, and the greatest number %d; want max_id to be greater", got, all.Last())
	}
}

package gomysqltest

import (
	"context"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	sqle "github.com/dolthub/go-mysql-server"
	"github.com/dolthub/go-mysql-server/memory"
	"github.com/dolthub/go-mysql-server/server"
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/mysql_db"
	"github.com/jmoiron/sqlx"
	"github.com/sirupsen/logrus"

	"github.com/ringuid/ringuid/internal/testkit/mariadbtest"
	"github.com/ringuid/ringuid/internal/testkit/testserver"
	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign"
)

// start starts a server with an empty database and returns its address.
func start(t *testing.T) string {
	t.Helper()
	logrus.SetOutput(io.Discard)
	db := memory.NewDatabase("ids")
	db.BaseDatabase.EnablePrimaryKeyIndexes()
	provider := memory.NewDBProvider(db)
	engine := sqle.NewDefault(provider)

	grants := engine.Analyzer.Catalog.MySQLDb
	grants.AddRootAccount()
	grants.SetPersister(&mysql_db.NoopPersister{})

	s, err := server.NewServer(server.Config{Protocol: "tcp", Address: "127.0.0.1:0"}, engine, sql.NewContext, memory.NewSessionBuilder(provider), nil)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- s.Start() }()
	t.Cleanup(func() {
		s.Close()
		<-done
	})
	return s.Listener.Addr().String()
}

// The script, the assigner and a generator work on this server too.
func TestGoMySQLServer(t *testing.T) {
	address := start(t)
	root := mariadbtest.Open(t, fmt.Sprintf("root@tcp(%s)/ids", address))
	script, err := os.ReadFile("../../../schema.sql")
	if err != nil {
		t.Fatal(err)
	}
	testserver.RunScript(t, root, string(script))
	root.MustExec("CREATE USER 'service'@'%' IDENTIFIED BY 'secret'")
	// This is not the grant of schema.sql, because this server has no column privileges.
	root.MustExec("GRANT INSERT, SELECT ON ids.WORKER_NODE TO 'service'@'%'")
	service := mariadbtest.Open(t, fmt.Sprintf("service:secret@tcp(%s)/ids", address))

	a := workerassign.NewDisposable(service, workerassign.WithNode("h", "8080"))
	// One after the other: the in-memory tables of this server lose rows of concurrent writers, and
	// assign the keys of lost rows a second time. The tests on MariaDB are concurrent.
	const starts = 80
	seen := map[int64]bool{}
	for range starts {
		l, err := a.Assign(context.Background(), workerassign.Request{})
		if err != nil {
			t.Fatal(err)
		}
		if id := l.WorkerID(); id < 1 || seen[id] {
			t.Errorf("worker ID %d was assigned twice, or is invalid", id)
		}
		seen[l.WorkerID()] = true
	}

	testserver.RunScript(t, root, string(script)) // D12: a second time
	var right int
	if err := root.Get(&right, `SELECT COUNT(*) FROM WORKER_NODE WHERE HOST_NAME = 'h' AND PORT = '8080' AND TYPE = 2
		AND LAUNCH_DATE >= CURRENT_DATE - INTERVAL 1 DAY AND MODIFIED > NOW() - INTERVAL 5 MINUTE AND CREATED > NOW() - INTERVAL 5 MINUTE`); err != nil {
		t.Fatal(err)
	}
	if right != starts || len(seen) != right {
		t.Errorf("%d rows have the right columns, and %d worker IDs are distinct; want %d", right, len(seen), starts)
	}
	for _, forbidden := range []string{"DELETE FROM WORKER_NODE", "DROP TABLE WORKER_NODE", "UPDATE WORKER_NODE SET TYPE = 1"} {
		if _, err := service.Exec(forbidden); err == nil {
			t.Errorf("the service account is allowed to run %s", forbidden)
		}
	}
	generate(t, service)
}

// generate generates UIDs with a worker ID from the server.
func generate(t *testing.T, db *sqlx.DB) {
	t.Helper()
	g, err := uid.NewCached(context.Background(), workerassign.NewDisposable(db))
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	ids := make([]uid.ID, 100_000)
	if n, err := g.NextN(ids); n != len(ids) || err != nil {
		t.Fatalf("NextN() = %d, %v", n, err)
	}
	for i, id := range ids {
		if id < 0 || i > 0 && id <= ids[i-1] {
			t.Fatalf("UID %d follows %d, want ascending UIDs", id, ids[i-1])
		}
	}
	if p := g.Parse(ids[0]); p.WorkerID != 81 || time.Since(p.Time) > time.Minute {
		t.Errorf("the first UID is %v, want worker ID 81", p)
	}
}

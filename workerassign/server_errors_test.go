package workerassign_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ringuid/ringuid"
	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/mariadbtest"
	"github.com/ringuid/ringuid/internal/testkit/testserver"
	"github.com/ringuid/ringuid/workerassign"
)

// Permanent errors of a server are returned immediately, with advice.
func TestPermanentServerErrors(t *testing.T) {
	s := mariadbtest.Start(t)
	database, db := s.Database()
	testserver.RunScript(t, db, ringuid.MySQLSchema())
	db.MustExec("CREATE TABLE no_key (ID BIGINT NOT NULL DEFAULT 5, HOST_NAME VARCHAR(64), PORT VARCHAR(64), TYPE INT, LAUNCH_DATE DATE, MODIFIED TIMESTAMP NULL, CREATED TIMESTAMP NULL)")
	db.MustExec("CREATE TABLE no_column (ID BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, HOST_NAME VARCHAR(64))")
	db.MustExec("CREATE TABLE used_up (ID TINYINT NOT NULL AUTO_INCREMENT PRIMARY KEY, HOST_NAME VARCHAR(64), PORT VARCHAR(64), TYPE INT, LAUNCH_DATE DATE, MODIFIED TIMESTAMP NULL, CREATED TIMESTAMP NULL)")
	db.MustExec("INSERT INTO used_up (ID) VALUES (127)")
	db.MustExec("CREATE USER nobody@'%' IDENTIFIED BY 'secret'")
	db.MustExec("GRANT SELECT ON " + database + ".WORKER_NODE TO nobody@'%'")
	for _, tt := range []struct {
		name, dsn, table string
		want             error
		text             string
	}{
		{"no table", s.DSN("root", "", database), "none", workerassign.ErrPermanent, "apply schema.sql"},
		{"no database", s.DSN("root", "", "nowhere"), "WORKER_NODE", workerassign.ErrPermanent, "name an existing one in the DSN"},
		{"a mistyped database", s.DSN("nobody", "secret", database+"x"), "WORKER_NODE", workerassign.ErrPermanent, "check the database's name in the DSN"},
		{"no privilege", s.DSN("nobody", "secret", database), "WORKER_NODE", workerassign.ErrPermanent, "grant it INSERT on the table"},
		{"a wrong password", s.DSN("nobody", "wrong", database), "WORKER_NODE", workerassign.ErrPermanent, "check user, password and host"},
		{"an unknown account", s.DSN("unknown", "", database), "WORKER_NODE", workerassign.ErrPermanent, "check user, password and host"},
		{"no column", s.DSN("root", "", database), "no_column", workerassign.ErrPermanent, "compare its columns with schema.sql"},
		{"D14 no key", s.DSN("root", "", database), "no_key", workerassign.ErrNoKey, "must be BIGINT AUTO_INCREMENT"},
		{"keys used up", s.DSN("root", "", database), "used_up", workerassign.ErrPermanent, "AUTO_INCREMENT is exhausted"},
		{"no TLS", s.DSN("root", "", database) + "?tls=true", "WORKER_NODE", workerassign.ErrPermanent, "check tls in the DSN"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var log testkit.Buffer
			l, err := workerassign.NewDisposable(mariadbtest.Open(t, tt.dsn), workerassign.WithTable(tt.table), workerassign.WithServerName(s.Address()), logTo(&log)).Assign(context.Background(), workerassign.Request{})
			if l != nil || !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.text) || !strings.Contains(err.Error(), "table "+tt.table+" at "+s.Address()) {
				t.Errorf("Assign() = %v, %v; want %v with %q", l, err, tt.want, tt.text)
			}
			if strings.Contains(log.String(), "trying again") {
				t.Errorf("Assign has tried again, want an immediate error: %s", log.String())
			}
		})
	}
}

// Assign tries again if the table is locked or its connection is killed.
func TestTransientServerErrors(t *testing.T) {
	s := mariadbtest.Start(t, "--lock-wait-timeout=1", "--innodb-lock-wait-timeout=1")
	database, db := s.Database()
	testserver.RunScript(t, db, ringuid.MySQLSchema())
	ctx := context.Background()

	conn, err := db.Connx(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, "LOCK TABLES WORKER_NODE READ"); err != nil {
		t.Fatal(err)
	}
	err = assignAfterFailure(t, db, func() {
		if _, err := conn.ExecContext(ctx, "UNLOCK TABLES"); err != nil {
			t.Fatal(err)
		}
	})
	if err != nil {
		t.Errorf("Assign() = %v after the table was unlocked", err)
	}

	pooled := mariadbtest.Open(t, s.DSN("root", "", database))
	pooled.SetMaxOpenConns(1)
	a := workerassign.NewDisposable(pooled)
	for range 5 {
		var id int64
		if err := pooled.Get(&id, "SELECT CONNECTION_ID()"); err != nil {
			t.Fatal(err)
		}
		db.MustExec(fmt.Sprintf("KILL %d", id))
		if _, err := a.Assign(ctx, workerassign.Request{}); err != nil {
			t.Errorf("Assign() on a killed connection = %v", err)
		}
	}
}

// Assign tries again if other clients have reached the limit on connections (error 1040). A limit on prepared
// statements (error 1461) does not matter, because Assign and verification prepare none.
func TestServerLimits(t *testing.T) {
	s := mariadbtest.Start(t, "--max-prepared-stmt-count=1", "--max-connections=10")
	database, db := s.Database()
	testserver.RunScript(t, db, ringuid.MySQLSchema())
	statement, err := db.Prepare("SELECT 1")
	if err != nil {
		t.Fatal(err)
	}
	defer statement.Close()
	if _, err := db.Prepare("SELECT 2"); err == nil {
		t.Fatal("the server has prepared two statements; want an error, because its limit is 1")
	}
	verified := workerassign.NewDisposable(mariadbtest.Open(t, s.DSN("root", "", database)), discardLog(), workerassign.WithVerification(workerassign.Verification{}))
	if _, err := verified.Assign(context.Background(), workerassign.Request{}); err != nil {
		t.Errorf("Assign() while no prepared statement is free = %v", err)
	}

	others := mariadbtest.Open(t, s.DSN("root", "", database))
	var conns []*sql.Conn
	for {
		conn, err := others.Conn(context.Background())
		if err != nil {
			break // the limit is reached
		}
		conns = append(conns, conn)
	}
	err = assignAfterFailure(t, mariadbtest.Open(t, s.DSN("root", "", database)), func() {
		for _, conn := range conns {
			conn.Close()
		}
		others.Close()
	})
	if err != nil {
		t.Errorf("Assign() = %v after connections became free", err)
	}
}

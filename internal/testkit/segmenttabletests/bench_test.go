//go:build unix

package segmenttabletests

import (
	"context"
	"testing"

	"github.com/jmoiron/sqlx"

	"github.com/ringuid/ringuid"
	"github.com/ringuid/ringuid/internal/testkit/mariadbtest"
	"github.com/ringuid/ringuid/internal/testkit/testserver"
	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/stores/sqlstore"
)

// BenchmarkNumbers compares a Sequence on MariaDB with what others ask the database for: one statement for each
// number. The server is on this host, so there is no network; and it writes each commit to the disk, as DURABILITY in
// schema.sql demands.
func BenchmarkNumbers(b *testing.B) {
	s := mariadbtest.Start(b)
	_, db := s.Database()
	testserver.RunScript(b, db, ringuid.MySQLSchema())
	db.SetMaxIdleConns(64)
	db.MustExec("SET GLOBAL innodb_flush_log_at_trx_commit = 1")
	db.MustExec("CREATE TABLE one_row (tag VARCHAR(128) PRIMARY KEY, n BIGINT NOT NULL) ENGINE=InnoDB")
	db.MustExec("INSERT INTO one_row VALUES ('orders', 1)")
	db.MustExec("CREATE TABLE auto_increment_rows (n BIGINT PRIMARY KEY AUTO_INCREMENT, tag VARCHAR(128) NOT NULL) ENGINE=InnoDB")

	b.Run("Update", func(b *testing.B) { // LAST_INSERT_ID(n) returns n, and stores it for the connection
		benchmarkStatement(b, db, "UPDATE one_row SET n = LAST_INSERT_ID(n + 1) WHERE tag = 'orders'")
	})
	b.Run("Insert", func(b *testing.B) {
		benchmarkStatement(b, db, "INSERT INTO auto_increment_rows (tag) VALUES ('orders')")
	})
	for _, run := range []struct {
		name, tag string
		step      int64
		policy    segment.StepPolicy
	}{
		{"Sequence/step1", "one", 1, segment.FixedStep{}},
		{"Sequence/step10000", "many", 10_000, segment.FixedStep{}},
		{"Sequence/adapting", "adapting", 10_000, segment.OutageStep{Outage: segment.DefaultOutage}},
	} {
		src := sqlstore.New(db)
		if err := src.CreateTag(b.Context(), run.tag, segment.TagConfig{Step: run.step}); err != nil {
			b.Fatal(err)
		}
		b.Run(run.name, func(b *testing.B) {
			seq, err := segment.New(context.Background(), src, run.tag, segment.WithStepPolicy(run.policy))
			if err != nil {
				b.Fatal(err)
			}
			defer seq.Close()
			next := func() (int64, error) { return seq.Next() }
			b.Run("Serial", func(b *testing.B) { benchmarkSerial(b, next) })
			b.Run("Parallel8", func(b *testing.B) { benchmarkParallel(b, next) })
		})
	}
}

// benchmarkStatement measures a statement that returns one number.
func benchmarkStatement(b *testing.B, db *sqlx.DB, statement string) {
	next := func() (int64, error) {
		r, err := db.Exec(statement)
		if err != nil {
			return 0, err
		}
		return r.LastInsertId()
	}
	b.Run("Serial", func(b *testing.B) { benchmarkSerial(b, next) })
	b.Run("Parallel8", func(b *testing.B) { benchmarkParallel(b, next) })
}

// benchmarkSerial measures next in one goroutine. The numbers must rise.
func benchmarkSerial(b *testing.B, next func() (int64, error)) {
	last := int64(0)
	for b.Loop() {
		n, err := next()
		if err != nil || n <= last {
			b.Fatalf("%d, %v after %d", n, err, last)
		}
		last = n
	}
}

// benchmarkParallel measures next in 8 goroutines for each of GOMAXPROCS, as clients of a service that wait for the
// database.
func benchmarkParallel(b *testing.B, next func() (int64, error)) {
	b.SetParallelism(8)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := next(); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

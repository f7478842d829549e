// Package setup is what the virtual machine of clonetest and its host share: the assigners, and the phases of a generator.
package setup

import (
	"context"
	"database/sql"
	"fmt"
	"iter"
	"path/filepath"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ringuid/ringuid/stores/filestore"
	"github.com/ringuid/ringuid/stores/sqlstore"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// The phases of a generator. They only go up.
const (
	Started = iota // until the machine is copied
	Copied         // the copy has learned that it is one
	Lost           // the assigner has found that the grant is void, and the generator has dropped it
	Renewed        // Renew has returned
)

// Setup has the data source names of two databases with the tables of schema.sql. Saved has a pool of its own, in the second one.
type Setup struct{ DSN, SavedDSN string }

// Span is how far ahead Saved leases a worker ID.
const Span = 20 * time.Second

// PoolOptions are the options of each pool.
func PoolOptions() []recycled.Option { return []recycled.Option{recycled.WithHorizon(2 * time.Hour)} }

// StrictClock is the name of an assigner with the default clock bound.
const StrictClock = "recycled.New,clock-bound=5s"

// Recycled returns an assigner of recycled worker IDs. The clock of a machine that is resumed is behind by the time since the snapshot,
// and nobody corrects it here: that is the worst case. So the clock bound is large; with the default one, no lease is assigned until
// the clock is corrected.
func Recycled(db *sql.DB) *recycled.Assigner {
	return recycled.New(sqlstore.New(db), append(PoolOptions(), recycled.WithClockBound(time.Hour))...)
}

// Assigners yields the name of each assigner, and a function that creates one for the generator with a number. Prefix and Divide are those
// of NewDisposable. The files are in a directory, in which Assigners creates a pool.
func (s Setup) Assigners(directory string) (iter.Seq2[string, func(number int) workerassign.Assigner], error) {
	db, err := open(s.DSN)
	if err != nil {
		return nil, err
	}
	savedDB, err := open(s.SavedDSN)
	if err != nil {
		return nil, err
	}
	path := func(name string, number int) string { return filepath.Join(directory, fmt.Sprint(name, number)) }
	files := filestore.New(path("pool", 0))
	if err := recycled.CreatePool(context.Background(), files, PoolOptions()...); err != nil {
		return nil, err
	}
	return func(yield func(string, func(int) workerassign.Assigner) bool) {
		_ = yield("NewDisposable", func(int) workerassign.Assigner { return workerassign.NewDisposable(db) }) &&
			yield("Prefix", func(int) workerassign.Assigner { return workerassign.Prefix(workerassign.NewDisposable(db), 1, 1) }) &&
			yield("Divide", func(int) workerassign.Assigner { return workerassign.Divide(workerassign.NewDisposable(db), 2) }) &&
			yield("recycled.New", func(int) workerassign.Assigner { return Recycled(db) }) &&
			yield(StrictClock, func(int) workerassign.Assigner { return recycled.New(sqlstore.New(db), PoolOptions()...) }) &&
			yield("recycled.Saved", func(n int) workerassign.Assigner {
				return recycled.Saved(Recycled(savedDB), path("saved", n), recycled.WithSpan(Span))
			}) &&
			yield("filestore.New", func(int) workerassign.Assigner { return recycled.New(files, PoolOptions()...) }) &&
			yield("NewFile", func(int) workerassign.Assigner { return workerassign.NewFile(path("counter", 0)) }) &&
			yield("StaticFile", func(n int) workerassign.Assigner {
				return workerassign.StaticFile(int64(n), path("static", n), workerassign.WithNewFile())
			}) &&
			yield("Static", func(n int) workerassign.Assigner { return workerassign.Static(int64(n)) })
	}, nil
}

// open opens a database with timeouts, because connections do not survive the copying of a machine.
func open(dsn string) (*sql.DB, error) {
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil {
		return nil, err
	}
	cfg.Timeout, cfg.ReadTimeout, cfg.WriteTimeout = 10*time.Second, 10*time.Second, 10*time.Second
	cfg.Logger = &mysql.NopLogger{}
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}

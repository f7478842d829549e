// Command postgres generates UIDs with a worker ID from a pool in a PostgreSQL database. The worker IDs are used
// again: a fleet needs as many as it has generators, and a few more, for any number of starts.
//
//	createdb ids
//	psql ids < schema.postgres.sql
//	cd examples/postgres
//	go run . -create -dsn 'postgres://user:password@127.0.0.1:5432/ids'    # once: creates the pool
//	go run . -dsn 'postgres://user:password@127.0.0.1:5432/ids'            # each start
//
// A start within the second in which the one before has ended takes another worker ID.
//
// Without -create, the first start creates the pool, and waits for about two minutes, because the pool may have been lost together
// with what it granted. -create does what "ringuid pool create" does. If the pool was really lost, do not use it.
//
// With -disposable, the worker ID is the key of a new row of the table worker_node, which is never used again.
//
// This is a module of its own, because the library does not depend on a driver for PostgreSQL. It works with
// jackc/pgx and lib/pq.
package main

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"slices"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver pgx

	"github.com/ringuid/ringuid/stores/sqlstore"
	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

func main() {
	dsn := flag.String("dsn", "", "data source name, as a URL")
	create := flag.Bool("create", false, "create the pool, and end: once, before the first start of a fleet")
	disposable := flag.Bool("disposable", false, "take a worker ID that is never used again")
	flag.Parse()
	if err := run(os.Stdout, *dsn, *create, *disposable); err != nil {
		log.Fatal("postgres: ", err)
	}
}

func run(out io.Writer, dsn string, create, disposable bool) (err error) {
	if dsn == "" {
		return errors.New("-dsn must be given, for example postgres://user:password@127.0.0.1:5432/ids")
	}
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		return err
	}
	defer db.Close() // after the generator, which uses it until it is closed

	store := sqlstore.New(db)
	if create {
		// Otherwise the first generator creates it, and its worker IDs begin 110 s later, because the pool may have been lost.
		return recycled.CreatePool(context.Background(), store)
	}
	pool := recycled.New(store)
	var workers workerassign.Assigner = pool
	if disposable {
		// Keys of rows and worker IDs of the pool are the same numbers. A 1 in the upper bit keeps them apart, in case
		// that this program is run with and without -disposable. A fleet uses one of the two, and no prefix.
		workers = workerassign.Prefix(workerassign.NewDisposable(db), 1, 1)
	}

	// The generator uses the database here, and then about every 12 seconds to extend its lease. It does not use it
	// for a UID. With a borrow limit of seconds, others wait less for its worker ID if it crashes.
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	g, err := uid.NewCached(ctx, workers, uid.WithMaxBorrow(20*time.Second))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.Close()) }()

	ids := make([]uid.ID, 10_000)
	if _, err := g.NextN(ids); err != nil {
		return err
	}
	first, last := ids[0], ids[len(ids)-1]
	fmt.Fprintf(out, "%d UIDs from %d to %d, the last one: %v\n", len(ids), first, last, g.Parse(last))
	if disposable {
		return nil
	}

	// Who holds which worker ID is for operators and monitoring.
	ctx, cancel = context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	state, err := pool.State(ctx)
	if err != nil {
		return err
	}
	slices.SortFunc(state.Slots, func(a, b recycled.Slot) int { return cmp.Compare(a.WorkerID, b.WorkerID) })
	for _, slot := range state.Slots {
		if slot.Token == "" {
			fmt.Fprintf(out, "worker ID %d is free; it was used up to %s\n", slot.WorkerID, slot.Until.Format(time.RFC3339))
			continue
		}
		fmt.Fprintf(out, "worker ID %d is held by process %s on host %s up to %s\n", slot.WorkerID, slot.Holder.Process, slot.Holder.Host, slot.Until.Format(time.RFC3339))
	}
	return nil
}

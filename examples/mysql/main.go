// Command mysql generates UIDs with a worker ID from the table WORKER_NODE of a MySQL, MariaDB or
// TiDB database. This is the way for services that run on more than one host.
//
//	mysql ids < schema.sql
//	go run ./examples/mysql -dsn 'user:password@tcp(127.0.0.1:3306)/ids'
//
// Each start inserts one row into the table. The program creates and changes nothing else.
package main

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"sync"
	"time"

	_ "github.com/go-sql-driver/mysql"

	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign"
)

func main() {
	dsn := flag.String("dsn", "", "data source name, in the form of go-sql-driver/mysql")
	flag.Parse()
	if err := run(os.Stdout, *dsn); err != nil {
		log.Fatal("mysql: ", err)
	}
}

func run(out io.Writer, dsn string) (err error) {
	if dsn == "" {
		return errors.New("-dsn must be given, for example 'user:password@tcp(127.0.0.1:3306)/ids'")
	}
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		return err
	}
	defer db.Close()

	// The generator uses the database here, at its start, and later only to change to another
	// worker ID, when the load stays above the layout's rate. So db must stay open until Close.
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	g, err := uid.NewCached(ctx, workerassign.NewDisposable(db))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.Close()) }()

	// One generator serves all goroutines.
	lines := make([]string, 4)
	errs := make([]error, len(lines))
	var goroutines sync.WaitGroup
	for n := range lines {
		goroutines.Go(func() {
			ids := make([]uid.ID, 100_000)
			if _, errs[n] = g.NextN(ids); errs[n] == nil {
				first, last := ids[0], ids[len(ids)-1]
				lines[n] = fmt.Sprintf("goroutine %d: %d UIDs from %d to %d, the last one: %v", n, len(ids), first, last, g.Parse(last))
			}
		})
	}
	goroutines.Wait()
	for _, line := range lines {
		fmt.Fprintln(out, line)
	}
	return errors.Join(errs...)
}

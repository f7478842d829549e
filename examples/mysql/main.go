// Mysql makes UIDs with a worker ID from the table WORKER_NODE, which schema.sql makes; it
// creates nothing by itself but one row a start.
//
//	go run ./examples/mysql -dsn 'user:password@tcp(127.0.0.1:3306)/database'
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"sync"
	"time"

	_ "github.com/go-sql-driver/mysql"
	"github.com/jmoiron/sqlx"

	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign"
)

func main() {
	dsn := flag.String("dsn", "", "data source name of go-sql-driver/mysql")
	flag.Parse()
	if err := run(*dsn); err != nil {
		log.Fatal(err)
	}
}

func run(dsn string) error {
	if dsn == "" {
		return fmt.Errorf("-dsn is needed, such as 'user:password@tcp(127.0.0.1:3306)/database'")
	}
	db, err := sqlx.Open("mysql", dsn)
	if err != nil {
		return err
	}
	defer db.Close()

	// The database is needed to start; and again, in the background, each time that sustained
	// load beyond the layout's rate takes another worker ID.
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	g, err := uid.NewCached(ctx, workerassign.NewDisposable(db))
	if err != nil {
		return err
	}
	defer g.Close()

	var workers sync.WaitGroup
	for n := range 4 {
		workers.Go(func() {
			ids := make([]uid.ID, 100_000)
			if _, err := g.NextN(ids); err != nil {
				log.Print(err)
				return
			}
			fmt.Printf("goroutine %d: %d UIDs from %d to %d, the last: %v\n", n, len(ids), ids[0], ids[len(ids)-1], g.Parse(ids[len(ids)-1]))
		})
	}
	workers.Wait()
	return nil
}

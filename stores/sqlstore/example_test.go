package sqlstore_test

import (
	"context"
	"fmt"
	"log"

	_ "github.com/go-sql-driver/mysql"
	"github.com/jmoiron/sqlx"

	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/stores/sqlstore"
	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// One store has the worker IDs of UIDs, and the numbers of tags, in the tables of schema.sql.
func ExampleNew() {
	ctx := context.Background()
	db, err := sqlx.Open("mysql", "user:password@tcp(db:3306)/ids")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	store := sqlstore.New(db)

	g, err := uid.NewCached(ctx, recycled.New(store))
	if err != nil {
		log.Fatal(err)
	}
	defer g.Close()
	// An operator has created the tag, once: ringuid tag create orders --tag-store 'mysql://…'
	orders, err := segment.New(ctx, store, "orders")
	if err != nil {
		log.Fatal(err)
	}
	defer orders.Close()

	id, err := g.Next()
	if err != nil {
		log.Fatal(err)
	}
	n, err := orders.Next()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(id, n)
}

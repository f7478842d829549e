package workerassign_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/DATA-DOG/go-sqlmock"

	"github.com/ringuid/ringuid/workerassign"
)

// This example gets a worker ID from the table of schema.sql. It uses a mock of a database. A service
// opens its database with sql.Open("mysql", dsn) or sqlx.Open.
func ExampleNewDisposable() {
	db, expected, err := sqlmock.New()
	if err != nil {
		log.Fatal(err)
	}
	expected.ExpectExec("START TRANSACTION").WillReturnResult(sqlmock.NewResult(0, 0))
	expected.ExpectExec("INSERT INTO `WORKER_NODE`").WillReturnResult(sqlmock.NewResult(4711, 1))
	expected.ExpectExec("COMMIT AND NO CHAIN NO RELEASE").WillReturnResult(sqlmock.NewResult(0, 0))

	lease, err := workerassign.NewDisposable(db).Assign(context.Background(), workerassign.Request{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("worker ID", lease.WorkerID())
	// Output: worker ID 4711
}

func ExampleNewFile() {
	directory, err := os.MkdirTemp("", "example") // a service uses a persistent directory
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(directory)

	workers := workerassign.NewFile(filepath.Join(directory, "worker"))
	for range 2 { // a service does this once per start
		lease, err := workers.Assign(context.Background(), workerassign.Request{})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("worker ID", lease.WorkerID())
	}
	// Output:
	// worker ID 1
	// worker ID 2
}

// No other process may have the number 17, and the clock must not be set back across a restart. StaticFile does without a clock.
func ExampleStatic() {
	lease, err := workerassign.Static(17).Assign(context.Background(), workerassign.Request{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("worker ID", lease.WorkerID())
	// Output: worker ID 17
}

// Two data centers assign worker IDs independently. The upper five of ten worker bits hold the number
// of the data center. Static(7) stands for the table or the pool of each one.
func ExamplePrefix() {
	for dataCenter := range int64(2) {
		a := workerassign.Prefix(workerassign.Static(7), dataCenter, 5)
		lease, err := a.Assign(context.Background(), workerassign.Request{MaxWorkerID: 1023}) // generators set this
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(lease.WorkerID())
	}
	// Output:
	// 7
	// 39
}

// Each worker ID of the store becomes four, for generators that change their worker ID often. Static(7) stands for the store.
func ExampleDivide() {
	workers := workerassign.Divide(workerassign.Static(7), 2)
	for range 4 {
		lease, err := workers.Assign(context.Background(), workerassign.Request{MaxWorkerID: 1023})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Print(lease.WorkerID(), " ")
	}
	// Output: 7 263 519 775
}

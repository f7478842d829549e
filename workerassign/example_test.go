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

// A worker ID from the table of schema.sql. A mock stands in for the database here; a service
// opens it by sql.Open("mysql", dsn), or
// by sqlx.Open.
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
	directory, err := os.MkdirTemp("", "example") // a service uses a directory that lasts
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(directory)

	workers := workerassign.NewFile(filepath.Join(directory, "worker"))
	for range 2 { // two starts
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

func ExampleStatic() {
	lease, err := workerassign.Static(17).Assign(context.Background(), workerassign.Request{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("worker ID", lease.WorkerID())
	// Output: worker ID 17
}

// Two data centres that number their workers each for itself: the upper five of ten bits tell
// them apart.
func ExamplePrefix() {
	for dataCentre := range int64(2) {
		a := workerassign.Prefix(workerassign.Static(7), dataCentre, 5)
		lease, err := a.Assign(context.Background(), workerassign.Request{MaxWorkerID: 1023}) // as a generator does
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(lease.WorkerID())
	}
	// Output:
	// 7
	// 39
}

// Four worker IDs of each of the store's, for a generator that rolls over often.
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

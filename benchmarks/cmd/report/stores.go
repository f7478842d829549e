package main

import (
	"fmt"
	"io"
)

// storeRows are the rows of the table of numbers from servers. parallel is empty if the benchmark has no serial part.
var storeRows = []struct{ label, serial, parallel string }{
	{"MariaDB: an UPDATE with LAST_INSERT_ID for each number", "Numbers/Update/Serial", "Numbers/Update/Parallel8"},
	{"MariaDB: an INSERT with AUTO_INCREMENT for each number", "Numbers/Insert/Serial", "Numbers/Insert/Parallel8"},
	{"Redis: an INCR for each number", "", "INCR"},
	{"`Sequence.Next` on MariaDB, step 10,000", "Numbers/Sequence/step10000/Serial", "Numbers/Sequence/step10000/Parallel8"},
	{"`Sequence.Next` on MariaDB, step from 10,000, `OutageStep`", "Numbers/Sequence/adapting/Serial", "Numbers/Sequence/adapting/Parallel8"},
}

// writeStores writes the table of numbers from servers, if the results have any.
func (r *results) writeStores(w io.Writer) {
	cpus, title := r.maxProcs(), false
	for _, row := range storeRows {
		serial, parallel := median(r.figuresOf(row.serial, cpus)), median(r.figuresOf(row.parallel, cpus))
		if serial == 0 && parallel == 0 {
			continue // the server is not installed
		}
		if !title {
			title = true
			fmt.Fprint(w, `
### Asking a server for each number

The servers run on this host, so there is no network. MariaDB writes each commit to the disk. The last column is the wall-clock
time divided by all calls, with 8 goroutines for each core on MariaDB, and one on Redis. Sequence takes numbers as fast as it can here, so the
server still limits it: at a rate that the step suffices for, it costs what it costs with a source in memory.

| | time per number, one goroutine | time per number, several |
|---|---|---|
`)
		}
		fmt.Fprintf(w, "| %s | %s | %s |\n", row.label, nanoseconds(serial), nanoseconds(parallel))
	}
}

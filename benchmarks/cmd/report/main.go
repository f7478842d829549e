// Command report reads the output of the benchmarks, measures what they cannot measure, and writes
// RESULTS.md and chart.svg. scripts/bench.sh runs it.
package main

import (
	"bytes"
	"flag"
	"log"
	"os"
	"path/filepath"
	"time"
)

func main() {
	log.SetFlags(0)
	var (
		bench   = flag.String("bench", "", "the file with the output of the benchmarks")
		into    = flag.String("into", ".", "the folder for RESULTS.md and chart.svg")
		command = flag.String("command", "make bench", "the command that RESULTS.md names")
		latency = flag.Duration("latency", 3*time.Second, "how long to measure each row of the latency table")
		padding = flag.Duration("padding", 3*time.Second, "how long to measure each round of the cost of padding")
		refills = flag.Duration("refills", 5*time.Second, "how long to measure each row of the table of refills")
		busy    = flag.Duration("busy", time.Minute, "how long to measure takers on a busy machine")
	)
	flag.Parse()
	if err := run(*bench, *into, *command, *latency, *padding, *refills, *busy); err != nil {
		log.Fatal("report: ", err)
	}
}

func run(bench, into, command string, latency, padding, refills, busy time.Duration) error {
	results, err := readResults(bench)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := results.writeTables(&out, command); err != nil {
		return err
	}
	log.Print("report: measuring latency")
	if err := writeLatency(&out, latency); err != nil {
		return err
	}
	log.Print("report: measuring the cost of padding")
	if err := writePadding(&out, padding); err != nil {
		return err
	}
	log.Print("report: measuring takers on a busy machine")
	if err := writeBusy(&out, busy); err != nil {
		return err
	}
	results.writeGrowth(&out)
	results.writeSegments(&out)
	results.writeStores(&out)
	log.Print("report: measuring calls while the next range is requested")
	if err := writeRefills(&out, refills); err != nil {
		return err
	}
	if err := results.writeTags(&out); err != nil {
		return err
	}
	if err := results.drawChart(filepath.Join(into, "chart.svg")); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(into, "RESULTS.md"), out.Bytes(), 0o644)
}

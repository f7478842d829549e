// Command batch generates many UIDs at once, and prints how far ahead of the clock their times are:
//
//	go run ./examples/batch -worker-file batch.worker                   # a million in milliseconds, 2 minutes ahead
//	go run ./examples/batch -worker-file batch.worker -max-ahead 30s    # at most 30 s ahead, with more worker IDs
//	go run ./examples/batch -worker-file batch.worker -exact -n 50000   # never ahead, at 8,192 per second
//
// A worker ID has 8,192 UIDs for each second with the default layout. A Cached generator serves
// more at once, with the times of seconds that are still to come. That is safe: those UIDs are
// unique. It matters only if readers take the time of a UID as the time of the event.
//
// A Local or the iterator All lowers the cost of a UID, but does not change the times. What else
// lowers the lead: a layout with a wider sequence, chosen before the first UID is stored.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"time"

	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign"
)

func main() {
	workerFile := flag.String("worker-file", "", "file that counts worker IDs; it must not be lost between starts")
	n := flag.Int("n", 1_000_000, "number of UIDs")
	maxAhead := flag.Duration("max-ahead", 0, "how far ahead of the clock a UID's time may be; at least 16s; 0: an hour")
	exact := flag.Bool("exact", false, "give each UID the second of its call, and wait when that second has no more UIDs; -max-ahead has no effect")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	r, err := run(ctx, *workerFile, *n, *maxAhead, *exact, func([]uid.ID) error { return nil })
	if err != nil {
		log.Fatalf("batch: %v (%v)", err, r)
	}
	fmt.Println(r)
}

// generator is what run uses of the two kinds of generators.
type generator interface {
	NextNContext(ctx context.Context, dst []uid.ID) (int, error)
	Parse(id uid.ID) uid.Parts
	Stats() uid.Stats
	Close() error
}

// run generates n UIDs, in pieces that it gives to store.
func run(ctx context.Context, workerFile string, n int, maxAhead time.Duration, exact bool, store func([]uid.ID) error) (r result, err error) {
	if workerFile == "" {
		return r, errors.New("-worker-file must name a file, for example /var/lib/batch/worker")
	}
	workers := workerassign.NewFile(workerFile) // ONE HOST ONLY; see examples/mysql for more than one
	var g generator
	switch {
	case exact:
		g, err = uid.NewDefault(ctx, workers)
	case maxAhead != 0:
		g, err = uid.NewCached(ctx, workers, uid.WithMaxBorrow(maxAhead))
	default:
		g, err = uid.NewCached(ctx, workers)
	}
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, g.Close()) }()

	piece, begin := make([]uid.ID, 1000), time.Now()
	for r.count < n {
		got, err := g.NextNContext(ctx, piece[:min(len(piece), n-r.count)])
		now := time.Now()
		for _, id := range piece[:got] {
			r.ahead = max(r.ahead, g.Parse(id).Time.Sub(now))
		}
		r.count += got
		r.took, r.workerIDs = now.Sub(begin), 1+g.Stats().Rollovers
		if err := errors.Join(err, store(piece[:got])); err != nil {
			return r, err
		}
	}
	return r, nil
}

// result is what run reports.
type result struct {
	count     int
	took      time.Duration
	ahead     time.Duration // how far ahead of the clock the furthest UID's time was
	workerIDs uint64
}

func (r result) String() string {
	return fmt.Sprintf("%d UIDs in %v; times up to %v ahead of the clock; worker IDs used: %d",
		r.count, r.took.Round(time.Millisecond), r.ahead.Round(time.Second), r.workerIDs)
}

// Command example generates UIDs with a worker ID from a pool in Redis. The worker IDs are used again: a fleet
// needs as many as it has generators, and a few more, for any number of starts.
//
//	cd stores/redisstore
//	go run ./example -create    # once: creates the pool
//	go run ./example            # each start
//
// A start within the second in which the one before has ended takes another worker ID.
//
// Without -create, the first start creates the pool, and waits for about two minutes, because the pool may have been lost together
// with what it granted. -create does what "ringuid pool create" does. If the pool was really lost, do not use it.
//
// The server is 127.0.0.1:6379, or that of -addr.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"slices"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/ringuid/ringuid/stores/redisstore"
	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

func main() {
	address := flag.String("addr", "127.0.0.1:6379", "host and port of the Redis server")
	pool := flag.String("pool", redisstore.DefaultPool, "name of the pool")
	create := flag.Bool("create", false, "create the pool, and end: once, before the first start of a fleet")
	flag.Parse()
	if err := run(os.Stdout, *address, *pool, *create); err != nil {
		log.Fatal("example: ", err)
	}
}

func run(out io.Writer, address, pool string, create bool) (err error) {
	client := goredis.NewClient(&goredis.Options{Addr: address})
	defer client.Close() // after the generator, which uses it until it is closed

	store := redisstore.New(client, redisstore.WithPool(pool))
	if create {
		// Otherwise the first generator creates it, and its worker IDs begin 110 s later, because the pool may have been lost.
		return recycled.CreatePool(context.Background(), store)
	}
	workers := recycled.New(store)

	// The generator calls Redis here, then about every 12 seconds to extend its lease, and not for a UID.
	// With a borrow limit of seconds, others wait less for its worker ID if it crashes.
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	g, err := uid.NewCached(ctx, workers, uid.WithMaxBorrow(20*time.Second))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.Close()) }()

	ids := make([]uid.ID, 10_000)
	if _, err := g.NextN(ids); err != nil { // waits if the lease has not begun yet
		return err
	}
	first, last := ids[0], ids[len(ids)-1]
	fmt.Fprintf(out, "%d UIDs from %d to %d, the last one: %v\n", len(ids), first, last, g.Parse(last))

	// Who holds which worker ID is for operators and monitoring.
	ctx, cancel = context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	state, err := workers.State(ctx)
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

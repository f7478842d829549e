package uid_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/ringuid/ringuid/bitsalloc"
	"github.com/ringuid/ringuid/ringbuffer"
	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign"
)

// workerFile returns the path of a worker file for the examples. A service needs one in a permanent
// place.
func workerFile() (path string, remove func()) {
	folder, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	return filepath.Join(folder, "worker"), func() { os.RemoveAll(folder) }
}

// wallClock is a clock that the example sets.
type wallClock struct{ nanos atomic.Int64 }

func (c *wallClock) set(t time.Time) { c.nanos.Store(t.UnixNano()) }
func (c *wallClock) Now() time.Time  { return time.Unix(0, c.nanos.Load()) }

// A Default generator can refuse to generate UIDs while the wall clock is behind the last UID's time.
func ExampleWithRollback() {
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	var clock wallClock
	clock.set(noon)
	g, err := uid.NewDefault(context.Background(), workerassign.Static(7), uid.WithClock(&clock), uid.WithRollback(uid.Refuse()))
	if err != nil {
		log.Fatal(err)
	}
	defer g.Close()

	for _, second := range []time.Duration{1, -2, 1} { // -2 is a step back
		clock.set(noon.Add(second * time.Second))
		_, err := g.Next()
		fmt.Println(errors.Is(err, uid.ErrClockBack))
	}
	// Output:
	// false
	// true
	// false
}

// Most services need this: one generator, created once, used by all goroutines, and closed at the end.
func ExampleNewCached() {
	path, remove := workerFile()
	defer remove()

	g, err := uid.NewCached(context.Background(), workerassign.NewFile(path))
	if err != nil {
		log.Fatal(err)
	}
	defer g.Close()

	a, err := g.Next()
	if err != nil {
		log.Fatal(err)
	}
	b, err := g.Next()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(a > 0, b > a, g.Parse(a).WorkerID)
	// Output: true true 1
}

// A Default generator stamps each UID with the time of the call.
func ExampleNewDefault() {
	path, remove := workerFile()
	defer remove()

	g, err := uid.NewDefault(context.Background(), workerassign.NewFile(path))
	if err != nil {
		log.Fatal(err)
	}
	defer g.Close()

	begin := time.Now().Truncate(time.Second)
	id, err := g.Next()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(g.Parse(id).Time.Before(begin))
	// Output: false
}

// A batch costs one atomic operation for each run of UIDs that it takes from.
func ExampleCached_NextN() {
	path, remove := workerFile()
	defer remove()

	g, err := uid.NewCached(context.Background(), workerassign.NewFile(path))
	if err != nil {
		log.Fatal(err)
	}
	defer g.Close()

	ids := make([]uid.ID, 1000)
	n, err := g.NextN(ids)
	fmt.Println(n, err, ids[999]-ids[0])
	// Output: 1000 <nil> 999
}

// A context limits a take that may wait. This one waits, because a static worker ID generates no UIDs
// before the next second begins.
func ExampleCached_NextContext() {
	layout, err := bitsalloc.New(31, 22, 10)
	if err != nil {
		log.Fatal(err)
	}
	var clock wallClock
	clock.set(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC))
	g, err := uid.NewCached(context.Background(), workerassign.Static(7), uid.WithLayout(layout), uid.WithClock(&clock))
	if err != nil {
		log.Fatal(err)
	}
	defer g.Close()

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = g.NextContext(ctx)
	fmt.Println(errors.Is(err, uid.ErrEmpty), errors.Is(err, context.Canceled))

	clock.set(time.Date(2026, 11, 21, 12, 0, 1, 0, time.UTC)) // the next second begins
	ctx, cancel = context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	id, err := g.NextContext(ctx)
	fmt.Println(g.Parse(id).WorkerID, err)
	// Output:
	// true true
	// 7 <nil>
}

// A program that only reads UIDs needs only the format. Here it computes the bounds of a day, for a
// query; Range does the same with two bounds that belong to the day.
func ExampleFormat_Compose() {
	f, err := uid.NewFormat() // with the options of the generators
	if err != nil {
		log.Fatal(err)
	}
	day := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	from, err := f.Compose(day, 0, 0)
	if err != nil {
		log.Fatal(err)
	}
	to, err := f.Compose(day.AddDate(0, 0, 1), 0, 0)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("WHERE id >= %d AND id < %d\n", from, to)
	// Output: WHERE id >= 961852771978444800 AND id < 964821453373440000
}

// The bounds of a query for a day. Each UID is in one day.
func ExampleFormat_Range() {
	f, err := uid.NewFormat() // with the options of the generators
	if err != nil {
		log.Fatal(err)
	}
	day := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	first, last, err := f.Range(day, day.AddDate(0, 0, 1))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("WHERE id BETWEEN %d AND %d\n", first, last)
	// Output: WHERE id BETWEEN 961852771978444800 AND 964821453373439999
}

// The JSON of a UID's parts is the same text as the original prints. A UID itself is a string in JSON.
func ExampleFormat_Parse() {
	f, err := uid.NewFormat(uid.WithEpoch(time.Date(2016, 5, 20, 0, 0, 0, 0, time.UTC)))
	if err != nil {
		log.Fatal(err)
	}
	parts := f.Parse(7037527219575844185)
	fmt.Println(parts)
	id, err := json.Marshal(parts.ID)
	fmt.Println(string(id), err)
	// Output:
	// {"UID":"7037527219575844185","timestamp":"2022-11-15 14:09:59","workerId":"139183","sequence":"3417"}
	// "7037527219575844185" <nil>
}

// countThenWait is a user's take policy: it counts how often the ring was empty, and waits.
type countThenWait struct{ empty int }

func (p *countThenWait) OnEmpty(ctx context.Context, w ringbuffer.Waiter) error {
	p.empty++ // one goroutine takes UIDs here; with several, this must be an atomic counter
	return w.Wait(ctx)
}

func ExampleWithTakePolicy() {
	path, remove := workerFile()
	defer remove()

	layout, err := bitsalloc.New(40, 21, 2) // four UIDs per second, so that the ring is often empty
	if err != nil {
		log.Fatal(err)
	}
	policy := new(countThenWait)
	g, err := uid.NewCached(context.Background(), workerassign.NewFile(path),
		uid.WithLayout(layout), uid.WithBoostPower(0), uid.WithTakePolicy(policy))
	if err != nil {
		log.Fatal(err)
	}
	defer g.Close()

	_, err = g.NextN(make([]uid.ID, 40))
	fmt.Println(err, policy.empty > 0, g.Stats().RejectedTakes > 0)
	// Output: <nil> true true
}

// A goroutine that generates many UIDs can take them from a Local.
func ExampleCached_Local() {
	path, remove := workerFile()
	defer remove()

	g, err := uid.NewCached(context.Background(), workerassign.NewFile(path))
	if err != nil {
		log.Fatal(err)
	}
	defer g.Close()

	ids := g.Local()
	a, err := ids.Next()
	if err != nil {
		log.Fatal(err)
	}
	b, err := ids.Next()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(a > 0, b > a)
	// Output: true true
}

// The iterator is the fastest way to take many UIDs. It ends when its loop does.
func ExampleCached_All() {
	path, remove := workerFile()
	defer remove()

	g, err := uid.NewCached(context.Background(), workerassign.NewFile(path))
	if err != nil {
		log.Fatal(err)
	}
	defer g.Close()

	var ids []uid.ID
	for id, err := range g.All(context.Background()) {
		if err != nil {
			log.Fatal(err)
		}
		if ids = append(ids, id); len(ids) == 5 {
			break
		}
	}
	fmt.Println(len(ids), slices.IsSorted(ids))
	// Output: 5 true
}

// A fleet with the default layout requires more UIDs per second, so three worker bits become sequence
// bits. Check says whether the move is safe.
func ExampleMove_Check() {
	wider, err := bitsalloc.New(28, 19, 16)
	if err != nil {
		log.Fatal(err)
	}
	old, err := uid.NewFormat()
	if err != nil {
		log.Fatal(err)
	}
	next, err := uid.NewFormat(uid.WithLayout(wider))
	if err != nil {
		log.Fatal(err)
	}
	move := uid.Move{Old: old, New: next, CutOver: time.Date(2026, 12, 1, 3, 0, 0, 0, time.UTC)}
	report, err := move.Check()
	fmt.Println(report.Safe, err != nil)
	fmt.Println(report.LatestEpoch.Format(time.RFC3339))

	// The epoch in the report makes it safe.
	if move.New, err = uid.NewFormat(uid.WithLayout(wider), uid.WithEpoch(report.LatestEpoch)); err != nil {
		log.Fatal(err)
	}
	report, err = move.Check()
	fmt.Println(report.Safe, err, move.New.End().Format(time.DateOnly))
	// Output:
	// false true
	// 2025-12-31T22:57:56Z
	// true <nil> 2034-07-04
}

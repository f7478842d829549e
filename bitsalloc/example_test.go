package bitsalloc_test

import (
	"fmt"
	"log"
	"time"

	"github.com/ringuid/ringuid/bitsalloc"
)

func ExampleNew() {
	layout, err := bitsalloc.New(31, 23, 9)
	fmt.Println(layout, err)

	_, err = bitsalloc.New(31, 23, 10)
	fmt.Println(err)
	// Output:
	// 1-31-23-9 <nil>
	// bitsalloc: bad layout: 31 time, 23 worker and 10 sequence bits are 64 in all; must be at most 63 next to the sign bit
}

func ExampleParseLayout() {
	layout, err := bitsalloc.ParseLayout("1-30-22-11")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(layout.MaxWorkerID(), "worker IDs,", layout.MaxSequence()+1, "UIDs a second each")
	// Output: 4194303 worker IDs, 2048 UIDs a second each
}

func ExampleLayout_Allocate() {
	layout := bitsalloc.Default()
	uid, err := layout.Allocate(116679320, 601735, 3382)
	fmt.Println(uid, err)

	_, err = layout.Allocate(1<<28, 1, 0) // beyond the time bits
	fmt.Println(err)
	// Output:
	// 4009070913085566262 <nil>
	// bitsalloc: out of range: delta is 268435456; must be 0 to 268435455 (layout 1-28-22-13)
}

func ExampleLayout_Split() {
	delta, workerID, sequence := bitsalloc.Default().Split(4009070913085566262)
	fmt.Println(delta, workerID, sequence)
	// Output: 116679320 601735 3382
}

func ExampleLayout_End() {
	base, err := bitsalloc.NewTimeBase(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), time.Second)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(bitsalloc.Default().End(base))
	// Output: 2034-07-04 21:24:16 +0000 UTC
}

func ExampleLayout_Capacity() {
	base, err := bitsalloc.NewTimeBase(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), time.Second)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(bitsalloc.Default().Capacity(base))
	// Output:
	// from 2026-01-01T00:00:00Z to 2034-07-04T21:24:16Z, 4194303 worker starts, 8192 UIDs per second and worker <nil>
}

// Which layouts carry 200 nodes that are restarted twice a day, for 20 years?
func ExamplePlan() {
	fits, err := bitsalloc.Plan(bitsalloc.Needs{Nodes: 200, RestartsPerDay: 2, Sustained: 50_000, Peak: 2_000_000, Years: 20})
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range fits[:2] {
		fmt.Println(f)
	}
	// Output:
	// 1-31-23-9: time × 3.40, workers × 2.87, rate × 2.05, at the peak × 0.05
	// 1-30-23-10: time × 1.70, workers × 2.87, rate × 4.10, at the peak × 0.10
}

func ExampleTimeBase() {
	base, err := bitsalloc.NewTimeBase(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), 100*time.Millisecond)
	if err != nil {
		log.Fatal(err)
	}
	delta := base.Delta(time.Date(2026, 1, 1, 0, 0, 1, 250_000_000, time.UTC))
	fmt.Println(delta, base.Time(delta))
	// Output: 12 2026-01-01 00:00:01.2 +0000 UTC
}

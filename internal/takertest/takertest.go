// Package takertest takes ranges from sources of package segment on real servers, while a test kills, pauses or
// restores the server, and checks each number.
package takertest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/uniq"
	"github.com/ringuid/ringuid/segment"
)

// FullEnv is the name of an environment variable. If it is set, the tests run in full size.
const FullEnv = "RINGUID_FULL"

// full reports whether the tests run in full size.
func full() bool { return os.Getenv(FullEnv) != "" }

// kills returns how often a test kills the server.
func kills() int {
	if full() {
		return 100
	}
	return 8
}

// Tag is the tag that the tests of this package create and use.
const Tag = "orders"

// maxSize is the greatest size of a range.
const maxSize = 50

// Takers take ranges of one tag, whose numbers are all checked.
type Takers struct {
	tb         testing.TB
	set        uniq.Set
	ranges     atomic.Int64
	numbers    atomic.Int64
	duplicates atomic.Int64
	failures   atomic.Int64
	last       atomic.Int64 // the greatest number
	inCall     atomic.Int64 // how many calls of Take run

	stop    chan struct{}
	running sync.WaitGroup
}

// New returns takers, of which none runs. They end with the test.
func New(tb testing.TB) *Takers {
	k := &Takers{tb: tb, stop: make(chan struct{})}
	tb.Cleanup(k.End)
	return k
}

// End ends all takers.
func (k *Takers) End() {
	select {
	case <-k.stop:
	default:
		close(k.stop)
	}
	k.running.Wait()
}

// Run takes ranges from a source until the takers end. If remember is true, each request has an AtLeast. Each call may
// take up to timeout.
func (k *Takers) Run(src segment.Source, remember bool, timeout time.Duration) {
	k.running.Go(func() {
		w, atLeast := k.set.Writer(), int64(0)
		for {
			select {
			case <-k.stop:
				return
			default:
			}
			ctx, cancel := context.WithTimeout(context.Background(), timeout)
			r := segment.Request{Tag: Tag, Size: 1 + rand.Int64N(maxSize)}
			if remember {
				r.AtLeast = atLeast
			}
			k.inCall.Add(1)
			got, err := src.Take(ctx, r)
			k.inCall.Add(-1)
			cancel()
			if err != nil {
				k.failures.Add(1)
				time.Sleep(rand.N(10 * time.Millisecond))
				continue
			}
			if got.First < r.AtLeast || got.Length > r.Size {
				k.tb.Errorf("Take(%+v) = %+v", r, got)
			}
			atLeast = got.First + got.Length
			k.Add(w, got)
		}
	})
}

// Writer returns a writer for Add, for one goroutine.
func (k *Takers) Writer() *uniq.Writer { return k.set.Writer() }

// Add records the numbers of a range.
func (k *Takers) Add(w *uniq.Writer, r segment.Range) {
	if r.Length < 1 || r.First < 0 || r.Stride != 1 {
		k.tb.Errorf("the range %+v is impossible", r)
		return
	}
	for n := range r.Length {
		if !w.Add(r.First + n) {
			k.duplicates.Add(1)
		}
	}
	k.ranges.Add(1)
	k.numbers.Add(r.Length)
	for end := r.First + r.Length - 1; ; {
		if last := k.last.Load(); last >= end || k.last.CompareAndSwap(last, end) {
			return
		}
	}
}

// Last returns the greatest number so far.
func (k *Takers) Last() int64 { return k.last.Load() }

// Failures returns how many calls of Take have failed.
func (k *Takers) Failures() int64 { return k.failures.Load() }

// Wait waits until n more ranges were taken. It fails the test if that takes longer than a minute.
func (k *Takers) Wait(n int64) {
	k.tb.Helper()
	want := k.ranges.Load() + n
	for begin := time.Now(); k.ranges.Load() < want; time.Sleep(time.Millisecond) {
		if time.Since(begin) > time.Minute {
			k.tb.Fatalf("after a minute %d ranges are missing (%d calls have failed)", want-k.ranges.Load(), k.failures.Load())
		}
	}
}

// Check ends the takers, and fails the test if a number was taken twice.
func (k *Takers) Check() {
	k.tb.Helper()
	k.End()
	k.tb.Log(k)
	if d := k.duplicates.Load(); d != 0 || k.ranges.Load() == 0 {
		k.tb.Errorf("%d numbers were taken twice, of %d ranges", d, k.ranges.Load())
	}
}

// String describes what was taken.
func (k *Takers) String() string {
	return fmt.Sprintf("%d numbers of %d ranges up to %d, %d duplicates, %d failed calls",
		k.numbers.Load(), k.ranges.Load(), k.last.Load(), k.duplicates.Load(), k.failures.Load())
}

// Create creates the tag. It fails the test if that is not possible.
func Create(tb testing.TB, c segment.Creator) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), 2*time.Minute) // on a busy machine, seconds are not enough
	defer cancel()
	if err := c.CreateTag(ctx, Tag, segment.TagConfig{Step: 20}); err != nil {
		tb.Fatal(err)
	}
}

// Take takes a range. It fails the test if that is not possible.
func Take(tb testing.TB, src segment.Source, r segment.Request) segment.Range {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), 2*time.Minute)
	defer cancel()
	got, err := src.Take(ctx, r)
	if err != nil {
		tb.Fatalf("Take(%+v): %v", r, err)
	}
	return got
}

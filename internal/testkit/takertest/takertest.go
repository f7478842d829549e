// Package takertest takes ranges from sources of package segment on real servers, in this process and in others, while
// a test disturbs the server, and checks each number.
package takertest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/uniq"
	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/segment/segmenttest"
)

// Tag is the tag that the tests of this package create and use.
const Tag = "orders"

// Takers take ranges of one tag, whose numbers are all checked.
type Takers struct {
	tb         testing.TB
	set        *uniq.Set // also of the takers before
	ranges     atomic.Int64
	numbers    atomic.Int64
	duplicates atomic.Int64
	failures   atomic.Int64
	last       atomic.Int64 // the greatest number

	mu     sync.Mutex
	errors map[string]int

	stop    chan struct{}
	running sync.WaitGroup
}

// New returns takers, of which none runs. They end with the test.
func New(tb testing.TB) *Takers {
	k := &Takers{tb: tb, set: new(uniq.Set), errors: map[string]int{}, stop: make(chan struct{})}
	tb.Cleanup(k.End)
	return k
}

// Follow says which takers used the tag before: a number of theirs, or of those before them, is a duplicate. It must be called first.
func (k *Takers) Follow(previous *Takers) { k.set = previous.set }

// End ends all takers of this process.
func (k *Takers) End() {
	select {
	case <-k.stop:
	default:
		close(k.stop)
	}
	k.running.Wait()
}

// Run takes ranges from a source until the takers end. If remember is true, each request has an AtLeast: what all takers
// together have received, as those of one Sequence. Each call may take up to timeout.
func (k *Takers) Run(src segment.Source, remember bool, timeout time.Duration) {
	k.running.Go(func() {
		w := k.set.Writer()
		for {
			select {
			case <-k.stop:
				return
			default:
			}
			r := segment.Request{Tag: Tag, Size: randomSize()}
			if remember {
				r.AtLeast = k.Last() + 1
			}
			ctx, cancel := context.WithTimeout(context.Background(), timeout)
			got, err := src.Take(ctx, r)
			cancel()
			switch {
			case errors.Is(err, segment.ErrSetBack):
				k.tb.Errorf("Take(%+v) = %v", r, err)
				fallthrough
			case err != nil:
				k.fail(err.Error())
				time.Sleep(rand.N(5 * time.Millisecond))
				continue
			case got.First < r.AtLeast || r.Size > 0 && got.Length > r.Size:
				k.tb.Errorf("Take(%+v) = %+v", r, got)
			}
			k.add(w, got)
		}
	})
}

// randomSize returns a size for a request. 0 is the tag's step.
func randomSize() int64 { return []int64{0, 0, 1, 3, 7, 20, 100, 1000}[rand.IntN(8)] }

// prefix matches the beginning of the errors of the packages whose tests call Disturb.
var prefix = regexp.MustCompile(`^(segment|sqlstore|filestore|redisstore): `)

// fail records an error of Take.
func (k *Takers) fail(text string) {
	text, _, _ = strings.Cut(text, "127.0.0.1")
	k.mu.Lock()
	k.errors[text]++
	k.mu.Unlock()
	k.failures.Add(1)
}

// add records the numbers of a range.
func (k *Takers) add(w *uniq.Writer, r segment.Range) {
	if r.Length < 1 || r.First < 0 || r.Stride != 1 {
		k.tb.Errorf("the range %+v is impossible", r)
		return
	}
	for n := range r.Length {
		if !w.Add(r.First + n) {
			k.duplicates.Add(1)
		}
	}
	k.numbers.Add(r.Length)
	for end := r.First + r.Length - 1; ; {
		if last := k.last.Load(); last >= end || k.last.CompareAndSwap(last, end) {
			break
		}
	}
	k.ranges.Add(1)
}

// Last returns the greatest number so far.
func (k *Takers) Last() int64 { return k.last.Load() }

// Len returns how many numbers were taken.
func (k *Takers) Len() int64 { return k.numbers.Load() }

// Duplicates returns how many numbers were taken twice.
func (k *Takers) Duplicates() int64 { return k.duplicates.Load() }

// Wait waits until n more ranges were taken.
func (k *Takers) Wait(n int64) {
	k.tb.Helper()
	k.waitFor(&k.ranges, n)
}

// WaitTotal waits until n ranges were taken since the beginning.
func (k *Takers) WaitTotal(n int64) {
	k.tb.Helper()
	k.waitFor(&k.ranges, n-k.ranges.Load())
}

// WaitFailures waits until n more calls have failed.
func (k *Takers) WaitFailures(n int64) {
	k.tb.Helper()
	k.waitFor(&k.failures, n)
}

func (k *Takers) waitFor(counter *atomic.Int64, n int64) {
	k.tb.Helper()
	want := counter.Load() + n
	testkit.Retry(k.tb, fmt.Sprintf("%d more", n), func() error {
		if counter.Load() < want && !k.tb.Failed() {
			return errors.New(k.String())
		}
		return nil
	})
}

// Failing is not a statement: Disturb waits until Takes fail.
const Failing = "until Takes fail"

// Disturb executes groups of statements that disturb the store, in any order, while takers run. After each group ranges
// are taken again. The errors of Take must have our prefix.
func (k *Takers) Disturb(groups map[string][]string, execute func(statement string) error) {
	k.tb.Helper()
	k.Wait(30)
	for what, statements := range groups {
		for _, statement := range statements {
			if statement == Failing {
				k.WaitFailures(1)
			} else if err := execute(statement); err != nil {
				k.tb.Fatalf("%s: %v", statement, err)
			}
			time.Sleep(5 * time.Millisecond) // so that some Takes see it; no test depends on it
		}
		if k.Wait(30); k.tb.Failed() {
			k.tb.Fatalf("after %s", what)
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for text := range k.errors {
		if !prefix.MatchString(text) {
			k.tb.Errorf("Take() = %s", text)
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

// CheckDense is Check, and fails the test if a call has failed, or a number between 1 and the greatest one is missing.
func (k *Takers) CheckDense() {
	k.tb.Helper()
	k.Check()
	if n := k.set.Len(); n != k.Last() || k.failures.Load() > 0 {
		k.tb.Errorf("%d numbers up to %d were taken; want all, without errors", n, k.Last())
	}
}

// String describes what was taken.
func (k *Takers) String() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return fmt.Sprintf("%d numbers of %d ranges up to %d, %d duplicates, %d failed calls: %v",
		k.numbers.Load(), k.ranges.Load(), k.Last(), k.duplicates.Load(), k.failures.Load(), k.errors)
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

// LostReplies loses replies to the writes of Takes, which read before. The range of such a Take is a gap, and the write is
// not sent again. lose makes the reply to the next write of src get lost. direct is a source of the same store.
func LostReplies(t *testing.T, lose func(), src, direct segment.Creator) {
	const size = 7
	Create(t, direct)
	for range testkit.Size(4, 25) {
		var before segment.Range
		testkit.Retry(t, "Take after a lost reply", func() (err error) { // the connection may have to be made again
			before, err = src.Take(t.Context(), segment.Request{Tag: Tag, Size: size})
			return err
		})
		lose()
		if got, err := src.Take(t.Context(), segment.Request{Tag: Tag, Size: size}); err == nil {
			t.Errorf("Take whose reply was lost = %+v", got)
		}
		if next := Take(t, direct, segment.Request{Tag: Tag, Size: size}); next.First != before.First+2*size {
			t.Errorf("after %+v and a lost reply follows %+v; want a gap of %d", before, next, size)
		}
	}
}

// WithoutKills returns a harness without kills and pauses, unless the tests run in full size.
func WithoutKills(h segmenttest.Harness) segmenttest.Harness {
	if !testkit.IsFull() {
		h.Kill, h.Start, h.Pause, h.Resume = nil, nil, nil, nil
		without := map[string]string{}
		maps.Copy(without, h.Without)
		for _, name := range []string{"Kill", "Start", "Pause", "Resume"} {
			without[name] = "only in full size"
		}
		h.Without = without
	}
	return h
}

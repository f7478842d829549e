package benchmarks

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/segment"
)

// gapStep is the step of the tag whose gaps are measured.
const gapStep = 1000

// gapSource is a Source that may be down.
type gapSource struct {
	*Source
	down atomic.Bool
}

// Take implements segment.Source.
func (s *gapSource) Take(ctx context.Context, r segment.Request) (segment.Range, error) {
	if s.down.Load() {
		return segment.Range{}, errors.New("down")
	}
	return s.Source.Take(ctx, r)
}

// gapSubject hands out numbers of a source.
type gapSubject struct {
	name string
	open func(tb testing.TB, src segment.Source) (next func() (int64, error))
}

// gapSubjects returns the policies of a Sequence, and Leaf's algorithm.
func gapSubjects() []gapSubject {
	sequence := func(opts ...segment.Option) func(testing.TB, segment.Source) func() (int64, error) {
		return func(tb testing.TB, src segment.Source) func() (int64, error) {
			s, err := segment.New(tb.Context(), src, "orders", append(opts, segment.WithMaxWait(0), segment.WithLogger(slog.New(slog.DiscardHandler)))...)
			if err != nil {
				tb.Fatal(err)
			}
			tb.Cleanup(func() { s.Close() })
			return s.Next
		}
	}
	return []gapSubject{
		{"`OutageStep`, the default", sequence()},
		{"`OutageStep`, `WithCapacity(8)`", sequence(segment.WithCapacity(8))},
		{"`LeafStep`", sequence(segment.WithStepPolicy(segment.LeafStep{}))},
		{"Leaf's algorithm", func(tb testing.TB, src segment.Source) func() (int64, error) {
			l, err := NewLeaf(src, "orders", true)
			if err != nil {
				tb.Fatal(err)
			}
			tb.Cleanup(l.Close)
			return l.Next
		}},
	}
}

// gapRun is one run of a subject.
type gapRun struct {
	src   *gapSource
	next  func() (int64, error)
	taken int64
}

// startGapRun opens a subject on a new source, whose requests take 5 ms.
func startGapRun(tb testing.TB, s gapSubject) *gapRun {
	r := &gapRun{src: &gapSource{Source: NewSource(gapStep, SlowSource)}}
	r.next = s.open(tb, r.src)
	return r
}

// take takes n numbers at a rate per second. A call without a number is not repeated. It returns how many there were.
func (r *gapRun) take(n, rate int64) (failed int64) {
	begin := time.Now()
	for done := int64(0); done < n; {
		due := min(n, int64(time.Since(begin).Seconds()*float64(rate)))
		for ; done < due; done++ {
			if _, err := r.next(); err != nil {
				failed++
			} else {
				r.taken++
			}
		}
		time.Sleep(time.Millisecond)
	}
	return failed
}

// takeAll takes n numbers as fast as the source allows, but no more than a rate per second.
func (r *gapRun) takeAll(n, rate int64) {
	for n > 0 {
		n = r.take(n, rate)
	}
}

// unused returns how many numbers of the source are lost if the process is killed now.
func (r *gapRun) unused() int64 { return r.src.Source.next.Load() - 1 - r.taken }

// What a kill and an outage cost with each policy, and with Leaf's algorithm. Its table is in doc/internals/performance.md. The clock is
// simulated, so that the figures do not depend on the machine. The default policy leaves no more numbers unused than were handed out.
func TestGaps(t *testing.T) {
	const burst, burstRate, rate, outage = 20_000_000, 55_000_000, 50_000, 20 * time.Second
	for _, subject := range gapSubjects() {
		var afterBurst, ranges, afterRate int64
		t.Run(subject.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := startGapRun(t, subject)
				r.takeAll(burst, burstRate)
				time.Sleep(time.Second)
				afterBurst, ranges = r.unused(), r.src.Requests()
			})
			var failed []int64
			for _, warmUp := range []time.Duration{5 * time.Second, 30 * time.Second, time.Minute} {
				synctest.Test(t, func(t *testing.T) {
					r := startGapRun(t, subject)
					r.takeAll(int64(warmUp.Seconds())*rate, rate)
					if warmUp == 30*time.Second {
						afterRate = r.unused()
					}
					r.src.down.Store(true)
					failed = append(failed, r.take(int64(outage.Seconds())*rate, rate))
				})
			}
			t.Logf("| %s | %d | %d | %d | %d | %d | %d |", subject.name, afterBurst, afterRate, failed[0], failed[1], failed[2], ranges)
		})
		if subject.name == gapSubjects()[0].name && (afterBurst > burst || afterRate > 30*rate || afterBurst == 0) {
			t.Errorf("a kill leaves %d numbers unused after %d, and %d after %d", afterBurst, burst, afterRate, 30*rate)
		}
	}
}

package segment

import (
	"context"
	"fmt"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/uniq"
)

// traffic takes numbers at a rate, in a bubble of synctest, and counts the calls that had to wait or failed.
type traffic struct {
	t       *testing.T
	src     *memorySource
	s       *Sequence
	seen    *uniq.Writer
	debt    float64 // numbers that are due, less than 1
	noticed int     // calls that waited or failed
}

func newTraffic(t *testing.T, opts ...Option) *traffic {
	src := newMemorySource(200)
	return &traffic{t: t, src: src, s: newTestSequence(t, src, opts...), seen: new(uniq.Set).Writer()}
}

// tick is how often numbers are taken.
const tick = time.Second

// run takes numbers for d. rate returns the numbers per second at a time since the beginning.
func (tr *traffic) run(d time.Duration, rate func(at time.Duration) float64) {
	tr.t.Helper()
	for at := time.Duration(0); at < d; at += tick {
		begin := time.Now()
		tr.debt += rate(at) * tick.Seconds()
		for ; tr.debt >= 1; tr.debt-- {
			v, err := tr.s.Next()
			if err == nil && !tr.seen.Add(v) {
				tr.t.Fatalf("Next() = %d, which was taken before", v)
			}
			if err != nil || time.Since(begin) > 0 {
				tr.noticed++
				break
			}
		}
		if late := time.Since(begin); late < tick {
			time.Sleep(tick - late)
		}
		synctest.Wait()
	}
}

// outage lets the source fail for d while numbers are taken, and returns how many calls noticed it.
func (tr *traffic) outage(d time.Duration, fail func(context.Context, Request) error, rate func(time.Duration) float64) int {
	tr.noticed = 0
	tr.src.fail(fail)
	tr.run(d, rate)
	tr.src.fail(nil)
	return tr.noticed
}

// capacitiesOfTests returns the capacities, fewer if the tests are slow.
func capacitiesOfTests() []int {
	if testkit.Race || testing.Short() {
		return []int{2}
	}
	return []int{2, 4, 8, 64}
}

// steady is a constant rate.
func steady(perSecond float64) func(time.Duration) float64 {
	return func(time.Duration) float64 { return perSecond }
}

// bridged returns how long an outage is not noticed at a steady rate, wherever in a range it begins, if the ranges in memory have what
// was taken in d. OutageStep's samples of ten minutes are at least 9.5 minutes.
func bridged(d time.Duration, capacity int) time.Duration {
	return d * time.Duration(capacity-1) / time.Duration(capacity)
}

// A source that is down or hangs at a steady rate is not noticed by callers, wherever in a range the outage begins.
func TestOutageAtSteadyRate(t *testing.T) {
	for _, capacity := range capacitiesOfTests() {
		for name, fail := range map[string]func(context.Context, Request) error{"down": down, "hangs": hang} {
			for _, warmUp := range []time.Duration{40 * time.Minute, 47 * time.Minute} {
				t.Run(fmt.Sprintf("%d ranges/%s/after %v", capacity, name, warmUp), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						tr := newTraffic(t, WithCapacity(capacity))
						tr.run(warmUp, steady(20))
						for range 2 { // once more, soon after it
							if n := tr.outage(bridged(9*time.Minute, capacity), fail, steady(20)); n != 0 {
								t.Errorf("%d calls noticed the outage: %+v", n, tr.s.Stats())
							}
							tr.noticed = 0
							tr.run(15*time.Minute, steady(20))
							if tr.noticed != 0 {
								t.Errorf("%d calls waited after the outage", tr.noticed)
							}
						}
					})
				})
			}
		}
	}
}

// The rate may change before an outage.
func TestOutageAfterChangesOfRate(t *testing.T) {
	testkit.WithoutRace(t)
	for name, before := range map[string]func(tr *traffic){
		"a day of idleness": func(tr *traffic) {
			time.Sleep(24 * time.Hour)
			tr.run(30*time.Minute, steady(20))
		},
		"idleness after traffic": func(tr *traffic) {
			tr.run(30*time.Minute, steady(20))
			time.Sleep(24 * time.Hour)
			tr.run(40*time.Minute, steady(20))
		},
		"ten times the rate": func(tr *traffic) {
			tr.run(30*time.Minute, steady(2))
			tr.run(40*time.Minute, steady(20))
		},
		"a tenth of the rate": func(tr *traffic) {
			tr.run(10*time.Minute, steady(200))
			tr.run(40*time.Minute, steady(20))
		},
		"a rise of half a percent per minute": func(tr *traffic) {
			tr.run(2*time.Hour, func(at time.Duration) float64 { return 12.5 * (1 + at.Minutes()/200) })
			tr.run(time.Minute, steady(20))
		},
		"a burst": func(tr *traffic) {
			tr.run(40*time.Minute, steady(20))
			tr.run(time.Second, steady(10_000))
			tr.run(20*time.Minute, steady(20))
		},
		"a long outage": func(tr *traffic) {
			tr.run(40*time.Minute, steady(20))
			if n := tr.outage(time.Hour, down, steady(20)); n == 0 {
				tr.t.Error("no call noticed an outage of an hour")
			}
			tr.run(30*time.Minute, steady(20))
		},
		"a source that fails every other time": func(tr *traffic) {
			n := 0
			tr.src.fail(func(context.Context, Request) error {
				if n++; n%2 == 0 {
					return errDown
				}
				return nil
			})
			tr.run(40*time.Minute, steady(20))
		},
		"a slow source": func(tr *traffic) {
			tr.src.fail(func(context.Context, Request) error { time.Sleep(2 * time.Second); return nil })
			tr.run(40*time.Minute, steady(20))
		},
		"a source that returns short ranges once": func(tr *traffic) {
			tr.run(40*time.Minute, steady(20))
			tr.src.mu.Lock()
			tr.src.maxRange = 10
			tr.src.mu.Unlock()
			tr.run(15*time.Minute, steady(20))
			tr.src.mu.Lock()
			tr.src.maxRange = 0
			tr.src.mu.Unlock()
			tr.run(40*time.Minute, steady(20))
		},
		"a greater step of the row": func(tr *traffic) {
			tr.run(40*time.Minute, steady(20))
			tr.src.mu.Lock()
			tr.src.step = 2000
			tr.src.mu.Unlock()
			tr.run(40*time.Minute, steady(20))
		},
	} {
		for _, capacity := range capacitiesOfTests() {
			t.Run(fmt.Sprintf("%s/%d ranges", name, capacity), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					tr := newTraffic(t, WithCapacity(capacity))
					before(tr)
					if n := tr.outage(bridged(8*time.Minute, capacity), down, steady(20)); n != 0 {
						t.Errorf("%d calls noticed the outage: %+v", n, tr.s.Stats())
					}
				})
			})
		}
	}
}

// Numbers that are taken in one burst a minute are a steady rate too.
func TestOutageWithBursts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := newTraffic(t)
		bursts := func(at time.Duration) float64 {
			if at%time.Minute == 0 {
				return 200 / tick.Seconds()
			}
			return 0
		}
		tr.run(6*time.Hour, bursts)
		if n := tr.outage(bridged(8*time.Minute, 2), down, bursts); n != 0 {
			t.Errorf("%d calls noticed the outage: %+v", n, tr.s.Stats())
		}
	})
}

// After a burst, the sizes fall again.
func TestSizeFallsAfterBurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := newTraffic(t)
		tr.run(time.Second, steady(100_000))
		most := tr.s.Stats().LastSize
		tr.run(6*time.Hour, steady(20))
		if size := tr.s.Stats().LastSize; most < 25_000 || most > 50_000 || size < 5700 || size > 6010 { // half of what is taken in ten minutes, with the seconds at both ends
			t.Errorf("the size was %d after the burst, and %d later, want at most 50000, and 5700 to 6010", most, size)
		}
	})
}

// As long as the rate does not fall, all ranges in memory together have at most as many numbers as were handed out in the last ten
// minutes, with a range that is requested: so many are unused when the process is killed. Or each has the tag's step, if that is more.
func TestMemoryIsBounded(t *testing.T) {
	const step = 1000
	for name, rate := range map[string]func(second int) int64{
		"a burst of 20 million": func(second int) int64 { return 20_000_000 * int64(1-min(second, 1)) },
		"50,000 per second":     func(int) int64 { return 50_000 },
		"a rising rate":         func(second int) int64 { return int64(second) },
		"few":                   func(second int) int64 { return int64(second % 2) },
	} {
		for _, capacity := range capacitiesOfTests() {
			t.Run(fmt.Sprintf("%s/%d ranges", name, capacity), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					src := newMemorySource(step)
					s := newTestSequence(t, src, WithCapacity(capacity))
					var mu sync.Mutex
					type total struct {
						at    time.Time
						taken uint64
					}
					totals := []total{{}} // after each second; the first one is that of the time before New
					check := func(memory int64) {
						mu.Lock()
						defer mu.Unlock()
						for len(totals) > 1 && time.Since(totals[1].at) > DefaultOutage {
							totals = totals[1:]
						}
						if handedOut := int64(s.Stats().Issued - totals[0].taken); memory > max(handedOut, int64(capacity)*step) {
							t.Errorf("%d numbers are in memory, and %d were handed out in the last ten minutes", memory, handedOut)
						}
					}
					src.fail(func(_ context.Context, r Request) error {
						check(int64(s.Stats().Ring.Fill) + r.Size)
						return nil
					})
					for second := range 25 * 60 {
						if name == "a burst of 20 million" && second == 2 {
							break
						}
						for n := rate(second); n > 0; {
							got, err := s.Claim(t.Context(), n)
							if err != nil {
								t.Fatal(err)
							}
							n -= got.Length
						}
						synctest.Wait()
						mu.Lock()
						totals = append(totals, total{time.Now(), s.Stats().Issued})
						mu.Unlock()
						check(src.counter() - 1 - int64(s.Stats().Issued))
						time.Sleep(time.Second)
					}
				})
			})
		}
	}
}

// In the steady state the source is asked once per range, and the size is that of OutageStep.
func TestSteadyState(t *testing.T) {
	testkit.WithoutRace(t)
	for _, test := range []struct {
		capacity int
		size     int64 // 20 numbers per second for 570 to 600 s
	}{{2, 6000}, {4, 3000}, {16, 750}} {
		synctest.Test(t, func(t *testing.T) {
			tr := newTraffic(t, WithCapacity(test.capacity))
			tr.run(2*time.Hour, steady(20))
			before := len(tr.src.calls())
			tr.run(2*time.Hour, steady(20))
			calls := tr.src.calls()[before:]
			for _, r := range calls {
				if r.Size < test.size*94/100 || r.Size > test.size*101/100 {
					t.Errorf("%d ranges: the source was asked for %d numbers, want about %d, or up to 5 %% less", test.capacity, r.Size, test.size)
				}
			}
			if want := 144_000 / int(test.size); len(calls) < want-1 || len(calls) > want*106/100+1 {
				t.Errorf("%d ranges: the source was asked %d times, want about %d", test.capacity, len(calls), want)
			}
			// The source is asked in the middle of the numbers of a second, so that some of these count for the next range.
			off := 0.01 + 20/float64(test.size)
			if st := tr.s.Stats(); math.Abs(st.Rate/20-1) > off || st.Step != 200 {
				t.Errorf("%d ranges: Stats() = %+v, want a rate of 20", test.capacity, st)
			}
			h := tr.s.Health()
			if want := time.Duration(float64(h.Buffered) / 20 * float64(time.Second)); math.Abs(float64(h.For)/float64(want)-1) > off+0.01 {
				t.Errorf("%d ranges: Health() = %+v, want about %v", test.capacity, h, want)
			}
		})
	}
}

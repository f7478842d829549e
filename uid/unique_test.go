package uid

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/leaktest"
	"github.com/ringuid/ringuid/workerassign"
)

// many is how many UIDs the great uniqueness tests take; RINGUID_UIDS says another number.
func many() int64 {
	if n, err := strconv.ParseInt(os.Getenv("RINGUID_UIDS"), 10, 64); err == nil {
		return n
	}
	switch {
	case testing.Short():
		return 1_000_000
	case raceEnabled:
		return 5_000_000
	case os.Getenv("RINGUID_FULL") == "":
		return 20_000_000
	}
	return 200_000_000
}

// Invariants 1 to 4 together: 16 goroutines, Next and NextN mixed, each UID in a set of
// bits. The ring rolls over to other worker IDs on the way, and within a goroutine UIDs
// rise but for that.
func TestInvariant3ManyUIDs(t *testing.T) {
	total := many()
	t.Run("one lease", func(t *testing.T) {
		c := newCached(t, new(numbers), WithMaxBorrow(2_000*24*time.Hour)) // far enough for all of them
		begin := time.Now()
		hammer(t, c, 16, total, true)
		if st := c.Stats(); st.Rollovers != 0 {
			t.Errorf("%d rollovers", st.Rollovers)
		}
		t.Logf("%d UIDs in %v", total, time.Since(begin))
	})
	t.Run("rollovers", func(t *testing.T) {
		a := new(numbers)
		c := newCached(t, a, WithMaxBorrow(time.Minute))
		hammer(t, c, 16, total, false)
		st := c.Stats()
		if total > 2*60*8192 && st.Rollovers == 0 {
			t.Error("there was no rollover")
		}
		if ahead := st.Ahead; ahead > time.Minute {
			t.Errorf("UID time is %v ahead, beyond the bound of a minute", ahead)
		}
		t.Logf("%d rollovers", st.Rollovers)
	})
}

// The same with rings that are dry all the time: sequences of 1 to 4 bits, boost power 1
// and 0, every take policy, several GOMAXPROCS.
func TestInvariant3TinyRings(t *testing.T) {
	total := int64(200_000)
	switch {
	case testing.Short():
		total = 20_000
	case raceEnabled:
		total = 50_000
	}
	for bits := 1; bits <= 4; bits++ {
		for power := 0; power <= 1; power++ {
			for _, policy := range []TakePolicy{CallerPads, Wait, Fail} {
				for _, procs := range []int{1, 2, 4} {
					t.Run(fmt.Sprintf("sequence=%d/boost=%d/%v/procs=%d", bits, power, policy, procs), func(t *testing.T) {
						defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
						c := newCached(t, new(numbers), WithLayout(layout(t, 40, 63-40-bits, bits)),
							WithBoostPower(power), WithTakePolicy(policy), WithMaxBorrow(100*365*24*time.Hour))
						hammer(t, c, 16, total/16, true)
					})
				}
			}
		}
	}
}

// Default, with a sequence wide enough that it does not wait for long.
func TestInvariant3Default(t *testing.T) {
	total := many() / 10
	d := newDefault(t, new(numbers), WithLayout(layout(t, 31, 4, 28)))
	hammer(t, d, 16, total, true)
}

// Default with a narrow sequence: it waits for a unit many times over.
func TestInvariant3DefaultWaits(t *testing.T) {
	d := newDefault(t, new(numbers), WithLayout(layout(t, 31, 20, 10)))
	begin := time.Now()
	hammer(t, d, 4, 3*1024, true)
	if took := time.Since(begin); took < 2*time.Second {
		t.Errorf("3 × 1,024 UIDs took %v: they cannot all be of the seconds that they say", took)
	}
}

// Order: UIDs taken in happens-before order rise. A token passes from goroutine to
// goroutine, while others take as fast as they can.
func TestOrderAcrossGoroutines(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			const goroutines, rounds = 8, 2_000
			g, err := mode.make(context.Background(), new(numbers), WithLayout(layout(t, 31, 12, 20)), WithBoostPower(1))
			if err != nil {
				t.Fatal(err)
			}
			defer g.Close()
			var noise, passing sync.WaitGroup
			stop := make(chan struct{})
			for range 2 {
				noise.Go(func() {
					batch := make([]ID, 5)
					for {
						select {
						case <-stop:
							return
						default:
							g.Next()
							g.NextN(batch)
						}
					}
				})
			}
			tokens := make([]chan ID, goroutines)
			for n := range tokens {
				tokens[n] = make(chan ID, 1)
			}
			for n := range goroutines {
				passing.Go(func() {
					for range rounds {
						before := <-tokens[n]
						id, err := g.Next()
						if err != nil || id <= before {
							t.Errorf("took %d (%v) after %d", id, err, before)
						}
						tokens[(n+1)%goroutines] <- id
					}
				})
			}
			tokens[0] <- -1
			passing.Wait()
			close(stop)
			noise.Wait()
		})
	}
}

// Nothing leaks, neither goroutines nor file descriptors: a thousand generators of each mode,
// with worker IDs from a file, made, used and closed.
func TestNothingLeaks(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			leaktest.Check(t)
			a := workerassign.NewFile(filepath.Join(t.TempDir(), "worker"))
			for want := range int64(1_000) {
				g, err := mode.make(context.Background(), a)
				if err != nil {
					t.Fatal(err)
				}
				if p := g.Parse(next(t, g)); p.WorkerID != want+1 {
					t.Fatalf("worker ID %d, want %d", p.WorkerID, want+1)
				}
				if err := g.Close(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// Every lease is given back, and once.
func TestLeasesAreGivenBack(t *testing.T) {
	for _, mode := range modes {
		a := new(numbers)
		for n := range int64(100) {
			g, err := mode.make(context.Background(), a)
			if err != nil {
				t.Fatal(err)
			}
			g.Close()
			g.Close()
			if got := a.released.Load(); got != n+1 {
				t.Fatalf("%s: %d leases were given back of %d", mode.name, got, n+1)
			}
		}
	}
}

// Close in the middle: every call returns a UID or ErrClosed, and nothing is left.
func TestCloseInTheMiddle(t *testing.T) {
	rounds := 100
	if testing.Short() {
		rounds = 10
	}
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			leaktest.Check(t)
			for range rounds {
				g, err := mode.make(context.Background(), new(numbers), WithLayout(layout(t, 31, 28, 4)))
				if err != nil {
					t.Fatal(err)
				}
				var takers sync.WaitGroup
				for range 4 {
					takers.Go(func() {
						for {
							if id, err := g.Next(); err != nil {
								if err != ErrClosed || id != 0 {
									t.Errorf("Next() = %d, %v; want ErrClosed", id, err)
								}
								return
							}
						}
					})
				}
				time.Sleep(300 * time.Microsecond)
				g.Close()
				takers.Wait()
			}
		})
	}
}

func TestHotCallsAllocateNothing(t *testing.T) {
	wide := WithLayout(layout(t, 31, 2, 30))
	c, d := newCached(t, new(numbers), wide), newDefault(t, new(numbers), wide)
	batch, local := make([]ID, 64), c.Local()
	for name, f := range map[string]func(){
		"Cached.Next":        func() { c.Next() },
		"Cached.NextContext": func() { c.NextContext(context.Background()) },
		"Cached.NextN":       func() { c.NextN(batch) },
		"Cached.Claim":       func() { c.Claim(context.Background(), 64) },
		"Local.Next":         func() { local.Next() },
		"Cached.Parse":       func() { c.Parse(1 << 40) },
		"Default.Next":       func() { d.Next() },
		"Default.NextN":      func() { d.NextN(batch) },
	} {
		if n := testing.AllocsPerRun(1_000, f); n != 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
	// The iterator allocates when it starts, and nothing for each UID.
	few := testing.AllocsPerRun(100, func() { c.loop(batch[:1]) })
	if many := testing.AllocsPerRun(100, func() { c.loop(batch) }); many != few {
		t.Errorf("iterating allocates %v times for 1 UID, and %v for %d", few, many, len(batch))
	}
}

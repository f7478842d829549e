package percpu

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/bitsalloc"
	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/fakeclock"
	"github.com/ringuid/ringuid/internal/testkit/leaktest"
	"github.com/ringuid/ringuid/internal/testkit/uniq"
	"github.com/ringuid/ringuid/ringbuffer"
	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign"
)

// bubbleEpoch is before the time at which a synctest bubble starts.
var bubbleEpoch = time.Date(1999, 12, 31, 0, 0, 0, 0, time.UTC)

// cached returns a generator whose worker IDs come from a file.
func cached(tb testing.TB, layout string, opts ...uid.Option) *uid.Cached {
	tb.Helper()
	l, err := bitsalloc.ParseLayout(layout)
	if err != nil {
		tb.Fatal(err)
	}
	workers := workerassign.NewFile(filepath.Join(tb.TempDir(), "worker"))
	c, err := uid.NewCached(context.Background(), workers, append([]uid.Option{uid.WithLayout(l)}, opts...)...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { c.Close() })
	return c
}

// hammer takes at least total UIDs with the given number of goroutines, by Next, NextContext and NextN of g and by
// Next of c, and checks that all of them differ.
func hammer(t *testing.T, g *Generator, c *uid.Cached, goroutines int, total int64) {
	t.Helper()
	var (
		seen uniq.Set
		got  atomic.Int64
		all  sync.WaitGroup
		max  = c.Format().Layout().MaxUID()
		ctx  = t.Context()
	)
	for n := range goroutines {
		all.Go(func() {
			w, batch := seen.Writer(), make([]uid.ID, 1+n)
			for got.Load() < total {
				for range 64 {
					var k int
					var err error
					switch n % 8 {
					case 0:
						k, err = g.NextN(batch)
					case 1:
						batch[0], err = c.Next()
						k = 1
					case 2, 3:
						batch[0], err = g.NextContext(ctx)
						k = 1
					default:
						batch[0], err = g.Next()
						k = 1
					}
					if errors.Is(err, uid.ErrEmpty) {
						runtime.Gosched()
						continue
					}
					if err != nil {
						t.Error(err)
						return
					}
					for _, id := range batch[:k] {
						if id < 0 || int64(id) > max || !w.Add(int64(id)) {
							t.Errorf("%d (%v) was handed out twice, or does not fit the layout", id, g.Parse(id))
							return
						}
					}
					got.Add(int64(k))
				}
			}
		})
	}
	all.Wait()
	// With the policy Fail, NextN may return UIDs together with an error. These are not counted.
	if n := seen.Len(); n != got.Load() {
		t.Errorf("%d of %d UIDs are distinct", n, got.Load())
	}
	if st := c.Stats(); st.Issued < uint64(got.Load()) {
		t.Errorf("Stats().Issued = %d, but %d were taken", st.Issued, got.Load())
	}
}

// Invariants 1 to 4 with 16 goroutines, with rollovers meanwhile.
func TestInvariant3ManyUIDs(t *testing.T) {
	total := testkit.Amount[int64](2_000_000, 10_000_000, 200_000_000)
	c := cached(t, "1-28-22-13", uid.WithMaxBorrow(time.Minute))
	hammer(t, New(c), c, 16, total)
	t.Logf("%d rollovers", c.Stats().Rollovers)
}

// The same invariants with small rings that are often empty.
func TestInvariant3TinyRings(t *testing.T) {
	total := testkit.Amount[int64](2_000, 10_000, 50_000)
	for bits := 1; bits <= 4; bits++ {
		for power := 0; power <= 1; power++ {
			for _, policy := range []uid.TakePolicy{uid.CallerPads, uid.Wait, uid.Fail} {
				for _, procs := range []int{1, 2, 4} {
					t.Run(fmt.Sprintf("sequence=%d/boost=%d/%v/procs=%d", bits, power, policy, procs), func(t *testing.T) {
						defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
						c := cached(t, fmt.Sprintf("1-40-%d-%d", 63-40-bits, bits), uid.WithBoostPower(power),
							uid.WithTakePolicy(policy), uid.WithMaxBorrow(100*365*24*time.Hour))
						hammer(t, New(c, WithMaxBlock(4)), c, 16, total)
					})
				}
			}
		}
	}
}

// GOMAXPROCS grows and shrinks while UIDs are taken. In the end there is a shard for each P.
func TestFollowsGOMAXPROCS(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	c := cached(t, "1-31-20-12")
	g := New(c)
	stop := make(chan struct{})
	var changing sync.WaitGroup
	changing.Go(func() {
		for n := 1; ; n = n%16 + 1 {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
				runtime.GOMAXPROCS(n)
			}
		}
	})
	total := testkit.Amount[int64](500_000, 2_000_000, 5_000_000)
	hammer(t, g, c, 32, total)
	close(stop)
	changing.Wait()
	runtime.GOMAXPROCS(17)
	testkit.Eventually(t, "there are as many shards as Ps", func() bool {
		var all sync.WaitGroup
		var running atomic.Int32
		for range 17 {
			all.Go(func() {
				for running.Add(1); running.Load() < 17; { // so that usually each P runs one of them
				}
				for range 10_000 {
					if _, err := g.Next(); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		return int(g.count.Load()) >= g.pins.count()
	})
}

// The Generator or its Cached generator is closed while goroutines take. Every call returns a UID or
// ErrClosed, and no goroutine is left.
func TestCloseInTheMiddle(t *testing.T) {
	leaktest.Check(t)
	rounds, busy := testkit.Amount(100, 100, 500), 0
	for round := range rounds {
		c := cached(t, "1-31-28-4")
		g := New(c)
		var takers sync.WaitGroup
		for range 4 {
			takers.Go(func() {
				for {
					if id, err := g.Next(); err != nil {
						if err != uid.ErrClosed || id != 0 {
							t.Errorf("Next() = %d, %v; want ErrClosed", id, err)
						}
						return
					}
				}
			})
		}
		time.Sleep(300 * time.Microsecond)
		end := g.Close
		if round%2 != 0 {
			end = c.Close
		}
		isBusy := errors.Is(end(), uid.ErrBusy)
		if isBusy { // the process stood still for five seconds
			if busy++; busy > 2 {
				t.Fatal("Close was busy three times")
			}
			takers.Wait() // they end when it is closed
		}
		for range 100 {
			if id, err := g.Next(); err != uid.ErrClosed || id != 0 {
				t.Fatalf("Next() = %d, %v after Close", id, err)
			}
		}
		takers.Wait()
		if err := g.Close(); err != nil && !isBusy {
			t.Error(err)
		}
	}
}

// Goroutines that wait for the ring stop waiting when their context ends and when the generator is closed.
func TestWaits(t *testing.T) {
	c := cached(t, "1-31-28-4", uid.WithMaxBorrow(0), uid.WithRollover(false), uid.WithBoostPower(0), uid.WithTakePolicy(uid.Wait))
	g := New(c)
	var waiting sync.WaitGroup
	for n := range 16 {
		waiting.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
			defer cancel()
			var err error
			for err == nil {
				_, err = g.NextContext(ctx)
			}
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("goroutine %d: error after waiting: %v", n, err)
			}
		})
	}
	waiting.Wait()
	for n := range 16 {
		waiting.Go(func() {
			var err error
			for err == nil {
				_, err = g.Next()
			}
			if err != uid.ErrClosed {
				t.Errorf("goroutine %d: error after waiting: %v", n, err)
			}
		})
	}
	time.Sleep(30 * time.Millisecond)
	g.Close()
	waiting.Wait()
}

// panickingPolicy is a take policy that panics while it is broken.
type panickingPolicy struct{ broken *atomic.Bool }

func (p panickingPolicy) OnEmpty(ctx context.Context, w ringbuffer.Waiter) error {
	if p.broken.Load() {
		panic("boom")
	}
	return w.Pad(ctx)
}

// A panic of a take policy is one of its taker. It keeps no other call from the block of its P.
func TestTakePolicyPanics(t *testing.T) {
	var broken atomic.Bool
	broken.Store(true)
	c := cached(t, "1-31-28-4", uid.WithMaxBorrow(0), uid.WithRollover(false), uid.WithBoostPower(0), uid.WithTakePolicy(panickingPolicy{&broken}))
	g := New(c)
	seen := map[uid.ID]bool{}
	take := func() (panicked any) {
		defer func() { panicked = recover() }()
		id, err := g.NextContext(testkit.Patient(t))
		if err != nil || seen[id] {
			t.Fatalf("Next() = %v, %v; it was seen: %v", id, err, seen[id])
		}
		seen[id] = true
		return nil
	}
	for take() != "boom" {
	}
	broken.Store(false)
	for range 3 {
		if v := take(); v != nil {
			t.Errorf("afterwards: panic %v", v)
		}
	}
}

// When the ring is empty, only one of the goroutines that wait for the block of a P claims from the Cached generator. Each of the
// others ends its wait when its own context ends.
func TestWaitsForAnotherGoroutine(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	synctest.Test(t, func(t *testing.T) {
		clock := fakeclock.New(uid.DefaultEpoch().AddDate(1, 0, 0))
		c := cached(t, "1-31-28-4", uid.WithMaxBorrow(0), uid.WithRollover(false), uid.WithBoostPower(0), uid.WithTakePolicy(uid.Wait), uid.WithClock(clock))
		defer c.Close()
		g := New(c)
		empty, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		for _, err := c.NextContext(empty); err == nil; _, err = c.NextContext(empty) {
		}
		before := c.Stats().RejectedTakes
		var waiting sync.WaitGroup
		for range 64 {
			waiting.Go(func() {
				if id, err := g.Next(); err != uid.ErrClosed {
					t.Errorf("Next() = %d, %v; want ErrClosed", id, err)
				}
			})
		}
		synctest.Wait()
		if n := c.Stats().RejectedTakes - before; n < 1 || n > uint64(g.pins.count()) {
			t.Errorf("%d of 64 goroutines wait for the ring; want at most %d", n, g.pins.count())
		}
		ctx, cancel := context.WithCancel(t.Context())
		var ended atomic.Int64
		for range 64 {
			waiting.Go(func() {
				if id, err := g.NextContext(ctx); !errors.Is(err, context.Canceled) {
					t.Errorf("NextContext() = %d, %v; want the error of its context", id, err)
				}
				ended.Add(1)
			})
		}
		synctest.Wait()
		cancel()
		synctest.Wait()
		if n := ended.Load(); n != 64 {
			t.Errorf("%d of 64 goroutines have ended their wait when their context ended", n)
		}
		g.Close()
		waiting.Wait()
	})
}

// The UIDs in the block of a P do not grow old.
func TestFreshAfterIdleness(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := cached(t, "1-31-19-13", uid.WithEpoch(bubbleEpoch))
		defer c.Close()
		g := New(c)
		for n := range 100 {
			for range 100 {
				id, err := g.Next()
				if err != nil {
					t.Fatal(err)
				}
				if behind := time.Since(g.Parse(id).Time); behind > uid.DefaultMaxStaleness {
					t.Fatalf("a UID is %v behind the clock", behind)
				}
			}
			time.Sleep(time.Duration(n) * 100 * time.Millisecond)
		}
	})
}

// A service that takes UIDs slowly on many Ps uses up only a few UIDs for each one that it takes.
func TestGapsAreBounded(t *testing.T) {
	for _, pause := range []time.Duration{time.Millisecond, 15 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			c := cached(t, "1-31-19-13", uid.WithEpoch(bubbleEpoch), uid.WithScheduleInterval(10*time.Millisecond))
			defer c.Close()
			g := New(c)
			const taken = 100
			for range taken {
				if _, err := g.Next(); err != nil {
					t.Fatal(err)
				}
				time.Sleep(pause)
			}
			if n := c.Stats().Issued; n > 3*taken {
				t.Errorf("%d UIDs, one every %v, used up %d", taken, pause, n)
			}
		})
	}
}

// D2: two time units are left. With one P, Next returns exactly the UIDs of these units, up to the very
// last one, and after that always ErrTimeExhausted. With more Ps, it returns no UID beyond the last one.
func TestD2TimeBitsEnd(t *testing.T) {
	l, err := bitsalloc.New(28, 22, 8)
	if err != nil {
		t.Fatal(err)
	}
	now := fakeclock.New(uid.DefaultEpoch().Add((1<<28 - 2) * time.Second))
	for _, procs := range []int{1, 4} {
		func() {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
			c := cached(t, l.String(), uid.WithClock(now), uid.WithScheduleInterval(0))
			g := New(c)
			got, last := 0, uid.ID(0)
			var err error
			for {
				var id uid.ID
				if id, err = g.Next(); err != nil {
					break
				}
				got, last = got+1, max(last, id)
			}
			all := got == 512 && int64(last) == l.AllocateUnchecked(l.MaxDelta(), c.Stats().WorkerID, 255)
			if !errors.Is(err, uid.ErrTimeExhausted) || got > 512 || !all && g.pins.count() == 1 {
				t.Errorf("%d Ps: %d UIDs to %v, then %v", procs, got, g.Parse(last), err)
			}
		}()
	}
}

func TestBadOptions(t *testing.T) {
	c := cached(t, "1-28-22-13")
	for name, g := range map[string]*Generator{
		"0":     New(c, WithMaxBlock(0)),
		"2000":  New(c, WithMaxBlock(2000)),
		"nil":   New(nil),
		"no":    New(c, nil),
		"first": New(c, WithMaxBlock(-1), WithMaxBlock(8)),
	} {
		if id, err := g.Next(); !errors.Is(err, ErrOption) || id != 0 {
			t.Errorf("%s: Next() = %d, %v", name, id, err)
		}
		if id, err := g.NextContext(context.Background()); !errors.Is(err, ErrOption) || id != 0 {
			t.Errorf("%s: NextContext() = %d, %v", name, id, err)
		}
		if n, err := g.NextN(make([]uid.ID, 3)); !errors.Is(err, ErrOption) || n != 0 {
			t.Errorf("%s: NextN() = %d, %v", name, n, err)
		}
		if n, err := g.NextNContext(context.Background(), make([]uid.ID, 3)); !errors.Is(err, ErrOption) || n != 0 {
			t.Errorf("%s: NextNContext() = %d, %v", name, n, err)
		}
		yielded := 0
		for id, err := range g.All(context.Background()) {
			if yielded++; !errors.Is(err, ErrOption) || id != 0 {
				t.Errorf("%s: All yields %d, %v", name, id, err)
			}
		}
		if yielded != 1 {
			t.Errorf("%s: All yields %d elements", name, yielded)
		}
		if p := g.Parse(7); p.ID != 7 {
			t.Errorf("%s: Parse(7) = %v", name, p)
		}
	}
	if err := New(nil).Close(); err != nil {
		t.Error(err)
	}
	if _, err := c.Next(); err != nil {
		t.Errorf("the Cached generator fails after invalid options: %v", err)
	}
}

func TestHotCallsAllocateNothing(t *testing.T) {
	c := cached(t, "1-31-2-30")
	g := New(c)
	batch := make([]uid.ID, 64)
	for name, f := range map[string]func(){
		"Next":        func() { g.Next() },
		"NextContext": func() { g.NextContext(context.Background()) },
		"NextN":       func() { g.NextN(batch) },
	} {
		if n := testing.AllocsPerRun(5_000, f); n != 0 {
			t.Errorf("%s allocates %v times, want 0", name, n)
		}
	}
}

func BenchmarkNext(b *testing.B) {
	g := New(cached(b, "1-28-22-13"))
	for b.Loop() {
		if _, err := g.Next(); err != nil {
			b.Fatal(err)
		}
	}
}

// A goroutine that takes many UIDs has a block of more UIDs than it has taken from it, so that it seldom uses the Cached generator. With
// a greatest block of one UID it has none.
func TestBlocksGrow(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for most, want := range map[int]bool{1: false, uid.MaxBlock: true} {
		c := cached(t, "1-28-22-13", uid.WithScheduleInterval(0))
		g := New(c, WithMaxBlock(most))
		var taken, issued uint64
		grows := func() bool { return issued >= taken+10 }
		for taken < 100 || want && g.pins.count() > 1 && taken < 200 && !grows() { // several: they come from shards that are chosen at random
			if _, err := g.Next(); err != nil {
				t.Fatal(err)
			}
			taken, issued = taken+1, c.Stats().Issued
		}
		if grows() != want || !want && issued != taken {
			t.Errorf("blocks of up to %d UIDs: %d taken UIDs used up %d", most, taken, issued)
		}
	}
}

// Goroutines on several new Ps call grow at the same time, with different numbers of Ps. At any time there are as many shards as are counted.
func TestGrowConcurrently(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	c := cached(t, "1-28-22-13")
	for range 50 {
		runtime.GOMAXPROCS(1)
		g := New(c)
		look := func() {
			for p := range int(g.count.Load()) {
				if g.shard(p).filling == nil { // memory that is not a shard, most probably
					t.Fatalf("%d shards are counted, and P %d has none", g.count.Load(), p)
				}
			}
		}
		var growing sync.WaitGroup
		for n := range 16 {
			runtime.GOMAXPROCS(n + 1)
			growing.Go(g.grow)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			growing.Wait()
		}()
		for ended := false; !ended; look() {
			select {
			case <-done:
				ended = true
			default:
				runtime.Gosched()
			}
		}
	}
}

// A P for which there is no shard yet has none: it does not use the memory behind the shards. With the next UID, there is one for each P.
func TestShardOfANewP(t *testing.T) {
	g := New(cached(t, "1-28-22-13"))
	g.grow()
	g.count.Add(-1) // as if GOMAXPROCS had grown by one
	p := int(g.count.Load())
	if s := g.shard(p); s != nil {
		t.Errorf("P %d has a shard, although there are only %d", p, p)
	}
	if _, err := g.next(t.Context(), p); err != nil {
		t.Error(err)
	}
	if n := int(g.count.Load()); n != p+1 {
		t.Errorf("there are %d shards for %d Ps", n, p+1)
	}
}

// NextNContext and All return UIDs of the Cached generator, and end with their contexts.
func TestNextNContextAndAll(t *testing.T) {
	g := New(cached(t, "1-28-22-13"))
	seen := map[uid.ID]bool{}
	ids := make([]uid.ID, 1000)
	if n, err := g.NextNContext(t.Context(), ids); n != len(ids) || err != nil {
		t.Fatalf("NextNContext() = %d, %v", n, err)
	}
	for _, id := range ids {
		seen[id] = true
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	for id, err := range g.All(ctx) {
		if err != nil {
			if !errors.Is(err, context.Canceled) || n < 1000 {
				t.Errorf("All ended after %d UIDs by %v", n, err)
			}
			break
		}
		if seen[id] {
			t.Fatalf("%d comes twice", id)
		}
		seen[id] = true
		if n++; n == 1000 {
			cancel()
		}
	}
}

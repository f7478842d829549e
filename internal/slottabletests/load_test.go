//go:build unix

package slottabletests

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringuid/ringuid/bitsalloc"
	"github.com/ringuid/ringuid/internal/mariadbtest"
	"github.com/ringuid/ringuid/internal/uniq"
	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign"
)

// uidLoad is generators that start, generate UIDs and end, over and over. All UIDs are compared.
type uidLoad struct {
	t       *testing.T
	assign  func(n int) workerassign.Assigner // for the goroutine n
	options []uid.Option

	set       uniq.Set
	uids      atomic.Int64
	twice     atomic.Int64
	starts    atomic.Int64
	failures  atomic.Int64
	lastError atomic.Pointer[error]
	hold      atomic.Bool // the generators of every second goroutine do not end
	stop      chan struct{}
	running   sync.WaitGroup
}

// loadOptions returns the options of the generators.
func loadOptions(t *testing.T) []uid.Option {
	t.Helper()
	layout, err := bitsalloc.New(30, 10, 10)
	if err != nil {
		t.Fatal(err)
	}
	return []uid.Option{uid.WithLayout(layout), uid.WithReserveAhead(time.Second), uid.WithMaxBorrow(4 * time.Second), uid.WithBoostPower(0),
		uid.WithLogger(slog.New(slog.DiscardHandler))}
}

// startLoad starts generators in n goroutines.
func startLoad(t *testing.T, n int, assign func(n int) workerassign.Assigner, opts ...uid.Option) *uidLoad {
	t.Helper()
	l := &uidLoad{t: t, assign: assign, stop: make(chan struct{}), options: append(loadOptions(t), opts...)}
	for i := range n {
		l.running.Go(func() { l.run(i) })
	}
	return l
}

// ended reports whether the load has ended.
func (l *uidLoad) ended() bool {
	select {
	case <-l.stop:
		return true
	default:
		return false
	}
}

// run starts generators one after the other. Some of them crash: they are closed when all is over.
func (l *uidLoad) run(n int) {
	writer := l.set.Writer()
	isHeld := func() bool { return n/2%2 == 0 && l.hold.Load() } // half of the Cached ones and half of the Default ones
	for !l.ended() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		var g uid.Generator
		var err error
		if n%2 == 0 {
			g, err = uid.NewCached(ctx, l.assign(n), l.options...)
		} else {
			g, err = uid.NewDefault(ctx, l.assign(n), l.options...)
		}
		cancel()
		if err != nil {
			l.fail(err)
			continue
		}
		l.starts.Add(1)
		life := time.Now().Add(rand.N(1500 * time.Millisecond))
		for !l.ended() && (isHeld() || time.Now().Before(life)) {
			ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
			id, err := g.NextContext(ctx)
			cancel()
			if err != nil {
				l.fail(err)
				continue
			}
			l.uids.Add(1)
			if !writer.Add(int64(id)) {
				l.twice.Add(1)
			}
			time.Sleep(rand.N(3 * time.Millisecond))
		}
		if rand.N(3) > 0 {
			g.Close()
		} else {
			go func() { <-l.stop; g.Close() }()
		}
	}
}

func (l *uidLoad) fail(err error) {
	l.failures.Add(1)
	l.lastError.Store(&err)
	time.Sleep(20 * time.Millisecond)
}

// waitUIDs waits until that many more UIDs were generated, by that many more starts.
func (l *uidLoad) waitUIDs(uids, starts int64, timeout time.Duration) {
	l.t.Helper()
	uids, starts = l.uids.Load()+uids, l.starts.Load()+starts
	begin := time.Now()
	for l.uids.Load() < uids || l.starts.Load() < starts {
		if time.Since(begin) > timeout {
			l.t.Fatalf("after %v, %d UIDs and %d starts are missing; the last error is %v", timeout, uids-l.uids.Load(), starts-l.starts.Load(), *l.lastError.Load())
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// end ends the load, and returns how many UIDs were generated a second time.
func (l *uidLoad) end() int64 {
	l.t.Helper()
	close(l.stop)
	l.running.Wait()
	if n := l.set.Len() + l.twice.Load(); n != l.uids.Load() {
		l.t.Errorf("%d UIDs were compared, want %d", n, l.uids.Load())
	}
	var last error
	if p := l.lastError.Load(); p != nil {
		last = *p
	}
	l.t.Logf("%d UIDs of %d generators, %d generated twice; %d errors, the last one: %v", l.uids.Load(), l.starts.Load(), l.twice.Load(), l.failures.Load(), last)
	return l.twice.Load()
}

// shortTimes are options of a pool with short times, so that tests take seconds. The generators request up to
// 5.5 seconds ahead.
func shortTimes() []workerassign.RecycledOption {
	return []workerassign.RecycledOption{workerassign.WithHorizon(6 * time.Second), workerassign.WithClockBound(500 * time.Millisecond),
		workerassign.WithFencing(200 * time.Millisecond), workerassign.WithSkew(200 * time.Millisecond), discardLog().(workerassign.RecycledOption)}
}

// createPool creates a pool that begins without a floor. Only its first generator declares that it is new: if
// the server loses the pool later, it must have a floor.
func createPool(t *testing.T, store workerassign.SlotStore) {
	t.Helper()
	g, err := uid.NewDefault(t.Context(), workerassign.NewRecycled(store, append(shortTimes(), workerassign.WithNewPool())...), loadOptions(t)...)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
}

// kills returns how often tests kill a server: 100 times with RINGUID_FULL.
func kills(few int) int {
	if os.Getenv("RINGUID_FULL") != "" {
		return 100
	}
	return few
}

// The server is killed again and again while generators start, extend and release their leases. With
// WithHistory leases continue after each restart.
func TestSlotTableKilled(t *testing.T) {
	t.Parallel() // it waits most of the time
	s := newSlotServer(mariadbtest.Start(t))
	store := s.newStore(t, "killed", workerassign.WithHistory("one server"))
	load := startLoad(t, 10, func(int) workerassign.Assigner { return workerassign.NewRecycled(store, shortTimes()...) })
	load.waitUIDs(100, 10, time.Minute)
	for range kills(8) {
		load.waitUIDs(100, 3, time.Minute)
		time.Sleep(rand.N(100 * time.Millisecond))
		s.servers[0].Kill()
		s.servers[0].Restart()
	}
	load.waitUIDs(100, 3, time.Minute)
	if twice := load.end(); twice != 0 {
		t.Errorf("%d UIDs were generated twice", twice)
	}
	state := mustRead(t, store, workerassign.SlotQuery{All: true})
	t.Logf("%d slots; the pool's floor is %v", len(state.Slots), state.Pool.Floor)
	if !state.Pool.Floor.IsZero() {
		t.Errorf("the floor is %v, want none, because the store loses no writes", state.Pool.Floor)
	}
}

// Without WithHistory, each restart is a new history: leases end, and new ones begin at the floor.
func TestR7ServerKilled(t *testing.T) {
	t.Parallel() // it waits most of the time
	// The server loses the last second.
	s := newSlotServer(mariadbtest.Start(t, "--innodb-flush-log-at-trx-commit=0"))
	store := s.newStore(t, "killed")
	createPool(t, store)
	time.Sleep(2500 * time.Millisecond) // until the pool is durable, and the server's start is more than a second ago
	load := startLoad(t, 10, func(int) workerassign.Assigner { return workerassign.NewRecycled(store, shortTimes()...) })
	load.waitUIDs(100, 10, time.Minute)
	for range 3 {
		history := mustRead(t, store, workerassign.SlotQuery{}).Pool.History
		load.waitUIDs(100, 5, time.Minute)
		s.servers[0].Kill()
		killed := time.Now()
		s.servers[0].Restart()
		load.waitUIDs(100, 10, time.Minute)
		for range 50 { // until the first grant after the restart
			if state, err := store.Read(t.Context(), workerassign.SlotQuery{}); err == nil && state.Pool.History != history {
				t.Logf("%v after the kill the floor is %v away", time.Since(killed), time.Until(state.Pool.Floor))
				break
			}
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(7 * time.Second) // so that leases begin at the floor, and are extended
	}
	if twice := load.end(); twice != 0 {
		t.Errorf("%d UIDs were generated twice", twice)
	}
}

// A replica is promoted that has not received the last writes. With the history of the servers no UID is
// generated twice. If WithHistory declares wrongly that no write is lost, UIDs are generated twice: so
// this test would find a defect. There, the leases are long enough for a slow failover.
func TestR7ReplicaPromoted(t *testing.T) {
	for name, opts := range map[string][]workerassign.SlotTableOption{"with R7": nil, "without R7": {workerassign.WithHistory("wrong")}} {
		t.Run(name, func(t *testing.T) {
			times, reserveAhead := shortTimes(), time.Second
			if opts != nil {
				times, reserveAhead = append(times, workerassign.WithHorizon(time.Minute)), 40*time.Second
			}
			t.Parallel() // it waits most of the time
			primary := mariadbtest.Start(t, append(mariadbtest.PrimaryFlags(), "--sync-binlog=1")...)
			s := newSlotServer(primary)
			store := s.newStore(t, "promoted", opts...)
			createPool(t, store)
			pair := s.newStore(t, "pair", opts...) // of only two generators: without R7, both lease the only slot
			createPool(t, pair)
			start := func(store workerassign.SlotStore) uid.Generator {
				g, err := uid.NewDefault(t.Context(), workerassign.NewRecycled(store, times...), append(loadOptions(t), uid.WithReserveAhead(reserveAhead))...)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { g.Close() })
				return g
			}
			load := startLoad(t, 12, func(int) workerassign.Assigner { return workerassign.NewRecycled(store, times...) },
				uid.WithReserveAhead(reserveAhead))
			load.waitUIDs(200, 20, time.Minute)
			replica := primary.Replica("--sync-binlog=1")
			load.waitUIDs(200, 12, time.Minute)
			replica.Admin().MustExec("STOP SLAVE")
			load.waitUIDs(200, 30, time.Minute) // none of their leases arrives
			load.hold.Store(true)
			before := start(pair) // its lease does not arrive either
			s.mu.Lock()
			s.servers = []*mariadbtest.Server{replica}
			s.mu.Unlock()
			primary.Kill()
			replica.Admin().MustExec("SET GLOBAL read_only = 0")
			pairTwice := countTwice(t, before, start(pair), 10*time.Second) // longer than until the floor
			load.waitUIDs(200, 20, time.Minute)
			load.hold.Store(false)
			load.waitUIDs(200, 20, time.Minute)
			twice := load.end()
			t.Logf("the generators before and after the promotion generated %d UIDs twice", pairTwice)
			if opts == nil && twice+pairTwice != 0 {
				t.Errorf("%d UIDs were generated twice", twice+pairTwice)
			}
			if opts != nil && pairTwice == 0 {
				t.Error("no UID was generated twice although R7 is turned off: this test could not find a defect")
			}
		})
	}
}

// countTwice generates UIDs of two generators in turn, and returns how many were generated twice.
func countTwice(t *testing.T, a, b uid.Generator, duration time.Duration) (twice int64) {
	t.Helper()
	var set uniq.Set
	writer := set.Writer()
	ctx, cancel := context.WithTimeout(t.Context(), duration)
	defer cancel()
	for ctx.Err() == nil {
		for _, g := range []uid.Generator{a, b} {
			if id, err := g.NextContext(ctx); err == nil && !writer.Add(int64(id)) {
				twice++
			}
		}
		time.Sleep(time.Millisecond)
	}
	return twice
}

//go:build unix

package redis_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/ringuid/ringuid/internal/fleettest"
	"github.com/ringuid/ringuid/internal/redistest"
	"github.com/ringuid/ringuid/internal/uniq"
	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/stores/redis"
)

// takerEnv is the address of the server, in the environment of the processes that TestTagProcesses starts.
const takerEnv = "RINGUID_TEST_TAKER"

// Several processes with several goroutines take ranges of one tag, with several sizes: no number comes twice, and
// none is left out. RINGUID_FULL starts 64 processes with 8 goroutines each.
func TestTagProcesses(t *testing.T) {
	processes, goroutines, ranges := 4, 8, 100
	if os.Getenv(fleettest.FullEnv) != "" {
		processes = 64
	}
	if address := os.Getenv(takerEnv); address != "" {
		takeRanges(t, address, goroutines, ranges)
		return
	}
	server := redistest.Start(t)
	s := redis.New(connect(t, server.Address()))
	createTag(t, s, "x", segment.TagConfig{Step: 50})
	var set uniq.Set
	var running sync.WaitGroup
	var sum, count atomic.Int64
	for range processes {
		cmd := exec.Command(os.Args[0], "-test.run=^TestTagProcesses$", "-test.count=1")
		cmd.Env = append(os.Environ(), takerEnv+"="+server.Address())
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		running.Go(func() {
			for lines := bufio.NewScanner(out); lines.Scan(); {
				var r segment.Range
				if n, _ := fmt.Sscanf(lines.Text(), "range %d %d", &r.First, &r.Length); n != 2 {
					continue
				}
				r.Stride = 1
				if n := duplicates(&set, r); n != 0 {
					t.Errorf("%d numbers of the range %+v came twice", n, r)
				}
				sum.Add(r.Length)
				count.Add(1)
			}
			if err := cmd.Wait(); err != nil {
				t.Errorf("a process: %v", err)
			}
		})
	}
	running.Wait()
	if want := int64(processes * goroutines * ranges); count.Load() != want || set.Len() != sum.Load() {
		t.Errorf("%d ranges with %d different numbers, want %d and %d", count.Load(), set.Len(), want, sum.Load())
	}
	wantTake(t, s, segment.Request{Tag: "x", Size: 1, AtLeast: 1 + sum.Load()}, segment.Range{First: 1 + sum.Load(), Length: 1, Step: 50})
}

// takeRanges takes ranges and prints them.
func takeRanges(t *testing.T, address string, goroutines, ranges int) {
	s := redis.New(connect(t, address))
	var mu sync.Mutex
	var running sync.WaitGroup
	for range goroutines {
		running.Go(func() {
			atLeast := int64(0)
			for range ranges {
				size := rand.Int64N(200) // 0 is the step
				r, err := s.Take(context.Background(), segment.Request{Tag: "x", Size: size, AtLeast: atLeast})
				if err != nil || r.First < atLeast || size > 0 && r.Length != size || size == 0 && r.Length != 50 {
					t.Errorf("Take() of %d = %+v, %v", size, r, err)
					return
				}
				atLeast = r.First + r.Length
				mu.Lock()
				fmt.Printf("\nrange %d %d\n", r.First, r.Length)
				mu.Unlock()
			}
		})
	}
	running.Wait()
}

// takers are goroutines that take ranges and check that no number comes twice, with stores of their own.
type takers struct {
	running sync.WaitGroup
	stop    context.CancelFunc
	set     uniq.Set
	taken   atomic.Int64 // ranges
	failed  atomic.Int64
	twice   atomic.Int64 // numbers
	refused atomic.Int64 // with ErrSetBack
}

// startTakers starts n goroutines; half of them remember what they have received.
func startTakers(n int, newSource func() segment.Source) *takers {
	ctx, stop := context.WithCancel(context.Background())
	ts := &takers{stop: stop}
	for i := range n {
		s := newSource()
		ts.running.Go(func() {
			for atLeast := int64(0); ctx.Err() == nil; {
				timed, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
				r, err := s.Take(timed, segment.Request{Tag: "x", Size: 1 + rand.Int64N(20), AtLeast: atLeast})
				cancel()
				if errors.Is(err, segment.ErrSetBack) {
					ts.refused.Add(1)
				}
				if err != nil {
					ts.failed.Add(1)
					continue
				}
				if i%2 == 0 {
					atLeast = r.First + r.Length
				}
				ts.twice.Add(int64(duplicates(&ts.set, r)))
				ts.taken.Add(1)
			}
		})
	}
	return ts
}

// wait waits until n more ranges were taken.
func (ts *takers) wait(t *testing.T, n int64) {
	t.Helper()
	until := ts.taken.Load() + n
	for deadline := time.Now().Add(30 * time.Second); ts.taken.Load() < until; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			ts.stop()
			t.Fatal("no ranges are taken")
		}
	}
}

// check ends the goroutines and checks what they have found.
func (ts *takers) check(t *testing.T, wantFailed bool) {
	t.Helper()
	ts.stop()
	ts.running.Wait()
	if ts.twice.Load() != 0 || ts.refused.Load() != 0 || (ts.failed.Load() == 0) == wantFailed {
		t.Errorf("of %d ranges, %d numbers came twice; %d calls failed, %d of them with ErrSetBack", ts.taken.Load(), ts.twice.Load(), ts.failed.Load(), ts.refused.Load())
	}
}

// repetitions returns how often tests interrupt a server: 100 times with RINGUID_FULL.
func repetitions() int {
	if os.Getenv(fleettest.FullEnv) != "" {
		return 100
	}
	return 5
}

// The server is killed while ranges are taken.
func TestTagKilledServer(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	createTag(t, redis.New(connect(t, server.Address())), "x", segment.TagConfig{})
	ts := startTakers(8, func() segment.Source { return redis.New(connect(t, server.Address())) })
	for range repetitions() {
		ts.wait(t, 50)
		server.Kill()
		server.Restart()
	}
	ts.wait(t, 50)
	ts.check(t, true)
}

// The server does not answer for longer than calls wait. What it executes afterwards are gaps.
func TestTagPausedServer(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	createTag(t, redis.New(connect(t, server.Address())), "x", segment.TagConfig{})
	ts := startTakers(8, func() segment.Source { return redis.New(connect(t, server.Address())) })
	for range repetitions() {
		ts.wait(t, 50)
		server.Pause()
		failed := ts.failed.Load()
		for deadline := time.Now().Add(30 * time.Second); ts.failed.Load() < failed+8 && time.Now().Before(deadline); {
			time.Sleep(time.Millisecond)
		}
		server.Resume()
	}
	ts.wait(t, 50)
	ts.check(t, true)
}

// A reply that is lost leaves a gap of exactly one range: the command is sent once, also by a client with many
// retries, and is never taken for one that was not executed. A request that is lost changes nothing. One that
// arrives late leaves a gap.
func TestTagLostReplies(t *testing.T) {
	server := redistest.Start(t)
	p := newProxy(t, server.Address())
	c := goredis.NewClient(&goredis.Options{Addr: p.address(), MaxRetries: 10, MinRetryBackoff: -1, MaxRetryBackoff: -1, ReadTimeout: time.Second})
	t.Cleanup(func() { c.Close() })
	s := redis.New(c)
	createTag(t, s, "x", segment.TagConfig{Step: 10})
	next := int64(1)
	want := func() {
		t.Helper()
		wantTake(t, s, segment.Request{Tag: "x", AtLeast: next}, segment.Range{First: next, Length: 10, Step: 10})
		next += 10
	}
	fail := func(ctx context.Context) {
		if r, err := s.Take(ctx, segment.Request{Tag: "x"}); err == nil {
			t.Errorf("Take() = %+v, want an error", r)
		}
	}
	want()
	for range 10 {
		p.during(loseReplies, func() { fail(t.Context()) })
		next += 10
		want()
		p.during(loseRequests, func() { fail(t.Context()) })
		want()
		p.during(delayRequests, func() {
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			fail(ctx)
		})
		want()
		p.deliver()
		next += 10
		want()
	}
	p.during(loseReplies, func() {
		if err := s.CreateTag(t.Context(), "y", segment.TagConfig{}); err == nil || errors.Is(err, segment.ErrTagExists) {
			t.Errorf("CreateTag() = %v, want the error of a lost reply", err)
		}
	})
	if err := s.CreateTag(t.Context(), "y", segment.TagConfig{Start: 5}); !errors.Is(err, segment.ErrTagExists) {
		t.Errorf("CreateTag() = %v, want ErrTagExists", err)
	}
	wantTake(t, s, segment.Request{Tag: "y", Size: 1}, segment.Range{First: 1, Length: 1, Step: 1000})
}

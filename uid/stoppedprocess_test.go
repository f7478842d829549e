//go:build unix

package uid_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/uniq"
	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign"
)

// A process is stopped by SIGSTOP and continued, while 8 goroutines take UIDs from both kinds of
// generator: there is no duplicate and no negative UID, UIDs increase in each goroutine, and they are
// fresh again. It is stopped for 4 s, or for a minute if RINGUID_MINUTE is set.
func TestStoppedProcess(t *testing.T) {
	if path := os.Getenv("RINGUID_TEST_STOP"); path != "" {
		if err := generateUntilStopFile(path); err != nil {
			t.Fatal(err)
		}
		return
	}
	testkit.Slow(t, "it is stopped for 4 s")
	t.Parallel()
	length := 4 * time.Second
	if os.Getenv("RINGUID_MINUTE") != "" {
		length = time.Minute
	}
	folder := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestStoppedProcess$", "-test.count=1", "-test.v")
	cmd.Env = append(os.Environ(), "RINGUID_TEST_STOP="+folder)
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	time.Sleep(500 * time.Millisecond)
	if err := unix.Kill(cmd.Process.Pid, unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	time.Sleep(length)
	if err := unix.Kill(cmd.Process.Pid, unix.SIGCONT); err != nil {
		t.Fatal(err)
	}
	time.Sleep(1500 * time.Millisecond)
	if err := os.WriteFile(filepath.Join(folder, "stop"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	err := cmd.Wait()
	if err != nil || !strings.Contains(out.String(), "UIDs, all different") {
		t.Errorf("%v\n%s", err, out.String())
	}
	t.Log(out.String())
}

// generateUntilStopFile takes UIDs from both kinds of generator until there is a file named stop.
func generateUntilStopFile(folder string) error {
	workers := workerassign.NewFile(filepath.Join(folder, "worker"))
	c, err := uid.NewCached(context.Background(), workers)
	if err != nil {
		return err
	}
	defer c.Close()
	d, err := uid.NewDefault(context.Background(), workers)
	if err != nil {
		return err
	}
	defer d.Close()
	var (
		seen  uniq.Set
		all   sync.WaitGroup
		stop  atomic.Bool
		total atomic.Int64
		mu    sync.Mutex
		fault error
	)
	fail := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		fault = fmt.Errorf(format, args...)
		stop.Store(true)
	}
	start, first := time.Now(), time.Now().Round(0)
	// How far the wall clock has moved relative to the monotonic clock since then.
	movedBy := func(t time.Time) time.Duration { return t.Round(0).Sub(first) - t.Sub(start) }
	const accuracy = 10 * time.Millisecond
	for n := range 8 {
		all.Go(func() {
			g := []uid.Generator{c, d}[n%2]
			w, last := seen.Writer(), uid.ID(-1)
			moved, trusted := time.Duration(0), start
			for !stop.Load() {
				before := time.Now()
				// A step forward is followed at the next reading, which is within a second; a long one at
				// the second reading after that, at the latest.
				if by := movedBy(before); by-moved > time.Hour {
					moved, trusted = by, before.Add(3100*time.Millisecond)
				} else if by-moved > 100*time.Millisecond {
					moved, trusted = by, before.Add(1100*time.Millisecond)
				} else if moved-by > 100*time.Millisecond {
					moved = by
				}
				id, err := g.Next()
				if err != nil || id <= last || !w.Add(int64(id)) {
					fail("Next() = %d, %v after %d, or it is a duplicate", id, err, last)
					return
				}
				// A Default generator's time is that of the call, within the accuracy of its clock: the wall clock and
				// the monotonic clock are read one after the other. The ring's may be older just after the process
				// continues, before the padder has run.
				if p := g.Parse(id); g == d && before.After(trusted) && p.Time.Before(before.Add(-time.Second-accuracy)) {
					fail("%v was returned at %v", p, before)
					return
				}
				last = id
				total.Add(1)
				if total.Load()%64 == 0 {
					time.Sleep(time.Millisecond)
				}
			}
		})
	}
	least, most := time.Duration(0), time.Duration(0)
	for !stop.Load() {
		moved := movedBy(time.Now())
		least, most = min(least, moved), max(most, moved)
		if _, err := os.Stat(filepath.Join(folder, "stop")); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	id, err := c.Next()
	if err != nil {
		return err
	}
	if behind := time.Since(c.Parse(id).Time); behind > uid.DefaultMaxStaleness {
		fail("%v is %v behind the clock, more than a second after the process continued", c.Parse(id), behind)
	}
	stop.Store(true)
	all.Wait()
	if fault != nil {
		return fault
	}
	if n := seen.Len(); n != total.Load() {
		return fmt.Errorf("%d of %d UIDs are distinct", n, total.Load())
	}
	fmt.Printf("%d UIDs, all different, while the wall clock was moved by %v\n", total.Load(), (most - least).Round(time.Second))
	return nil
}

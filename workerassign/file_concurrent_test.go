package workerassign

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/ringuid/ringuid/internal/testkit"
)

// Many goroutines, each with its own File, receive each number once, without gaps.
func TestInvariant1FileGoroutines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "worker")
	goroutines, each := 16, 20
	if testing.Short() {
		goroutines, each = 4, 5
	}
	var (
		mu   sync.Mutex
		seen = map[int64]bool{}
		all  sync.WaitGroup
	)
	for range goroutines {
		all.Go(func() {
			f := NewFile(path)
			for range each {
				id := assign(t, f)
				mu.Lock()
				if seen[id] || id < 1 || id > int64(goroutines*each) {
					t.Errorf("worker ID %d was assigned twice, or is out of range", id)
				}
				seen[id] = true
				mu.Unlock()
			}
		})
	}
	all.Wait()
	if len(seen) != goroutines*each {
		t.Errorf("%d worker IDs, want %d", len(seen), goroutines*each)
	}
}

// Many processes use one file concurrently, and some of them are killed. No worker ID is assigned
// twice.
func TestInvariant1FileProcesses(t *testing.T) {
	testkit.Slow(t, "it starts processes")
	const processes, each = 12, 25
	if path := testkit.ChildArg(); path != "" {
		f := NewFile(path)
		for range each {
			fmt.Println(assign(t, f))
		}
		return
	}
	seen, counts := map[int64]bool{}, [processes]int{}
	args := slices.Repeat([]string{filepath.Join(t.TempDir(), "worker")}, processes)
	testkit.RunChildren(t, args, func(n int, c *testkit.Child, line string) {
		id, err := strconv.ParseInt(line, 10, 64)
		if err != nil || id < 1 || seen[id] {
			t.Errorf("process %d: worker ID %q was assigned twice, or is invalid", n, line)
		}
		seen[id] = true
		if counts[n]++; n%4 == 0 && counts[n] == 1+n {
			c.Kill()
		}
	})
	for n, count := range counts {
		if count != each && n%4 != 0 {
			t.Errorf("process %d received %d worker IDs, want %d", n, count, each)
		}
	}
}

package workerassign

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

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
	if path := os.Getenv("RINGUID_TEST_FILE"); path != "" {
		f := NewFile(path)
		for range 25 {
			fmt.Println("id", assign(t, f))
		}
		return
	}
	path := filepath.Join(t.TempDir(), "worker")
	const processes = 12
	var (
		all     sync.WaitGroup
		outputs [processes]string
	)
	for n := range processes {
		all.Go(func() {
			cmd := exec.Command(os.Args[0], "-test.run=^TestInvariant1FileProcesses$", "-test.count=1")
			cmd.Env = append(os.Environ(), "RINGUID_TEST_FILE="+path)
			var out strings.Builder
			cmd.Stdout = &out
			if err := cmd.Start(); err != nil {
				t.Error(err)
				return
			}
			killed := n%4 == 0
			if killed {
				time.AfterFunc(time.Duration(10+5*n)*time.Millisecond, func() { cmd.Process.Kill() })
			}
			if err := cmd.Wait(); err != nil && !killed {
				t.Errorf("process %d: %v\n%s", n, err, out.String())
			}
			outputs[n] = out.String()
		})
	}
	all.Wait()
	seen := map[int64]bool{}
	for n, out := range outputs {
		count := 0
		for line := range strings.Lines(out) {
			text, ok := strings.CutPrefix(line, "id ")
			if !ok || !strings.HasSuffix(text, "\n") {
				continue
			}
			id, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
			if err != nil || id < 1 || seen[id] {
				t.Errorf("process %d: worker ID %q was assigned twice, or is invalid", n, text)
			}
			seen[id] = true
			count++
		}
		if count != 25 && n%4 != 0 {
			t.Errorf("process %d received %d worker IDs, want 25", n, count)
		}
	}
}

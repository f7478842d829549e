package filestore_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/uniq"
	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/stores/filestore"
)

var fileProcessTags = []string{"orders", "invoices", "tickets"}

// fileProcess is what each process of TestFileProcesses does: it takes ranges in several goroutines, with several
// Files of one path, and writes each of them to its standard output, until it is killed or has taken enough.
func fileProcess(t *testing.T, path string, goroutines, takes int) {
	files := []*filestore.Store{filestore.New(path), filestore.New(path)}
	var running sync.WaitGroup
	for g := range goroutines {
		running.Go(func() {
			var ends [3]int64
			for n := range takes {
				i := (n + g) % 5 % 3
				// Without a deadline: the lock is not fair, so one of 512 goroutines may wait for minutes.
				got, err := files[g%2].Take(context.Background(), segment.Request{Tag: fileProcessTags[i], Size: int64(n*7+g) % 23, AtLeast: ends[i]})
				if err != nil {
					fmt.Printf("error %v\n", err)
					return
				}
				ends[i] = got.First + got.Length
				fmt.Printf("range %d %d %d\n", i, got.First, got.Length)
			}
		})
	}
	running.Wait()
	fmt.Println("done")
}

// fileProcesses runs processes that take from one file, and checks all numbers.
type fileProcesses struct {
	t                 *testing.T
	path              string
	goroutines, takes int

	mu     sync.Mutex
	seen   [3]uniq.Set
	ranges int
}

// run runs one process. If killAfter is not 0, it is killed after about as many ranges. It reports whether the process
// has ended by itself.
func (p *fileProcesses) run(killAfter int) bool {
	child := testkit.StartChild(p.t, fmt.Sprintf("%d %d %s", p.goroutines, p.takes, p.path))
	defer child.Wait()
	defer child.Process.Kill()
	count := 0
	for line := range child.Lines() {
		count++
		var tag int
		var first, length int64
		switch {
		case line == "done":
			return true
		case strings.HasPrefix(line, "range "):
			if _, err := fmt.Sscanf(line, "range %d %d %d", &tag, &first, &length); err != nil {
				p.t.Errorf("a process wrote %q", line)
				continue
			}
			p.add(tag, first, length)
		default:
			p.t.Errorf("a process wrote %q", line)
		}
		if count == killAfter {
			child.Process.Kill() // what it has written is still read
		}
	}
	return false
}

// add records a range.
func (p *fileProcesses) add(tag int, first, length int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ranges++
	w := p.seen[tag].Writer()
	for n := first; n < first+length; n++ {
		if !w.Add(n) {
			p.t.Errorf("the number %d of tag %s was handed out twice", n, fileProcessTags[tag])
			return
		}
	}
}

// Any number of processes and goroutines take from one file, and some are killed at any moment: no number is
// handed out twice. In full size: 64 processes with 8 goroutines each, and 100 kills.
func TestFileProcesses(t *testing.T) {
	if arg := testkit.ChildArg(); arg != "" {
		var goroutines, takes int
		fields := strings.SplitN(arg, " ", 3)
		if _, err := fmt.Sscan(fields[0]+" "+fields[1], &goroutines, &takes); err != nil {
			t.Fatal(err)
		}
		fileProcess(t, fields[2], goroutines, takes)
		return
	}
	processes, kills := 4, 12
	p := &fileProcesses{t: t, path: filepath.Join(t.TempDir(), "segments"), goroutines: 4, takes: 60}
	switch {
	case testkit.IsFull():
		processes, kills, p.goroutines = 64, 100, 8
	case testing.Short():
		processes, kills, p.takes = 2, 3, 20
	}
	f := filestore.New(p.path)
	for _, tag := range fileProcessTags {
		if err := f.CreateTag(t.Context(), tag, segment.TagConfig{Step: 9}); err != nil {
			t.Fatal(err)
		}
	}
	began := time.Now()
	var mu sync.Mutex
	var running sync.WaitGroup
	for range processes {
		running.Go(func() {
			for !t.Failed() {
				mu.Lock()
				killAfter := 0
				if kills > 0 {
					kills--
					killAfter = 1 + rand.IntN(p.goroutines*p.takes/2)
				}
				mu.Unlock()
				switch ended := p.run(killAfter); {
				case ended && killAfter > 0: // before it was killed
					mu.Lock()
					kills++
					mu.Unlock()
				case ended:
					return
				}
			}
		})
	}
	running.Wait()
	for i, tag := range fileProcessTags {
		numbers := p.seen[i].Len()
		got, err := f.Take(t.Context(), segment.Request{Tag: tag})
		if err != nil {
			t.Fatal(err)
		}
		if numbers == 0 || got.First < numbers+1 {
			t.Errorf("tag %s: %d numbers were handed out, and the next range is %+v", tag, numbers, got)
		}
		t.Logf("tag %s: %d numbers, and %d in gaps", tag, numbers, got.First-1-numbers)
	}
	took := time.Since(began)
	t.Logf("%d ranges in %v: %.0f per second", p.ranges, took.Round(time.Millisecond), float64(p.ranges)/took.Seconds())
}

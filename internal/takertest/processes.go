package takertest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringuid/ringuid/segment"
)

// processEnv is the address of the store, in the environment of the processes that Processes starts.
const processEnv = "RINGUID_TEST_TAKER"

// ProcessAddress returns the address of the store in a process that Processes has started, and "" in others.
func ProcessAddress() string { return os.Getenv(processEnv) }

// counts returns the numbers of processes, of goroutines of each, and of ranges of each goroutine.
func counts() (processes, goroutines, ranges int) {
	if full() {
		return 64, 8, 20
	}
	return 6, 8, 20
}

// Processes checks that several processes with several goroutines each take all numbers from 1 on, and none twice. A
// process is the test program with the test of t. The test calls RunProcess instead if ProcessAddress is not empty.
func Processes(t *testing.T, address string, src segment.Creator) {
	Create(t, src)
	k := New(t)
	processes, goroutines, ranges := counts()
	begin := time.Now()
	var wg sync.WaitGroup
	var outs []*bufio.Scanner
	var goes []io.WriteCloser
	for range processes {
		name, _, _ := strings.Cut(t.Name(), "/")
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+name+"$", "-test.count=1")
		cmd.Env = append(os.Environ(), processEnv+"="+address)
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			cmd.Process.Kill()
			cmd.Wait()
		})
		outs, goes = append(outs, bufio.NewScanner(out)), append(goes, in)
	}
	for _, out := range outs { // until all are connected
		if !out.Scan() || out.Text() != "ready" {
			t.Fatalf("a process does not start: %s", out.Text())
		}
	}
	t.Logf("the processes were started in %v", time.Since(begin))
	begin = time.Now()
	for _, in := range goes {
		in.Close()
	}
	var mu sync.Mutex
	var first, last time.Duration // when the first and the last process ended
	for _, out := range outs {
		wg.Go(func() {
			w, n := k.Writer(), 0
			for out.Scan() {
				r := segment.Range{Stride: 1}
				if _, err := fmt.Sscanf(out.Text(), "%d %d", &r.First, &r.Length); err != nil {
					continue // the output of package testing
				}
				k.Add(w, r)
				n++
			}
			if n != goroutines*ranges {
				t.Errorf("a process has taken %d ranges; want %d", n, goroutines*ranges)
			}
			mu.Lock()
			defer mu.Unlock()
			last = time.Since(begin)
			if first == 0 {
				first = last
			}
		})
	}
	wg.Wait()
	t.Logf("%d processes with %d goroutines: the first ended after %v, the last after %v", processes, goroutines, first, last)
	k.Check()
	if n := k.set.Len(); n != k.Last() { // no call has failed, so there are no gaps
		t.Errorf("%d numbers up to %d were taken; want all", n, k.Last())
	}
}

// RunProcess takes ranges, and prints them.
func RunProcess(t *testing.T, src segment.Source) {
	_, goroutines, ranges := counts()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	src.Take(ctx, segment.Request{Tag: "missing"}) // waits for the connection
	fmt.Println("ready")
	io.Copy(io.Discard, os.Stdin)
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			for range ranges {
				r, err := src.Take(ctx, segment.Request{Tag: Tag, Size: rand.Int64N(maxSize)})
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				fmt.Println(r.First, r.Length)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
}

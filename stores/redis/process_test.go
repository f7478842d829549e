//go:build unix

package redis_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/redistest"
	"github.com/ringuid/ringuid/stores/redis"
	"github.com/ringuid/ringuid/workerassign"
)

// processEnv is the address of the server, in the environment of the process that TestStoppedProcess starts.
const processEnv = "RINGUID_TEST_PROCESS"

// A process is stopped for longer than its lease, and another takes its slot. When it continues, it stamps
// nothing beyond its grant, takes another slot, and no UID is generated twice.
func TestStoppedProcess(t *testing.T) {
	if address := os.Getenv(processEnv); address != "" {
		printUIDs(t, address, os.Getenv(processEnv+"_KIND") == "cached")
		return
	}
	for _, kind := range []string{"cached", "default"} {
		t.Run(kind, func(t *testing.T) {
			server := redistest.Start(t)
			cmd := exec.Command(os.Args[0], "-test.run=^TestStoppedProcess$")
			cmd.Env = append(os.Environ(), processEnv+"="+server.Address(), processEnv+"_KIND="+kind)
			cmd.Stderr = os.Stderr
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer cmd.Wait()
			defer cmd.Process.Kill()

			f := newFleet()
			uids := make(chan int64, 1<<20)
			go func() {
				defer close(uids)
				for lines := bufio.NewScanner(out); lines.Scan(); {
					if id, err := strconv.ParseInt(lines.Text(), 10, 64); err == nil {
						uids <- id
					}
				}
			}()
			w := f.set.Writer()
			add := func(id int64) (unit, worker int64) {
				if !w.Add(id) {
					f.duplicates.Add(1)
				}
				f.generated.Add(1)
				unit, worker, _ = layout().Split(id)
				return unit, worker
			}
			var worker int64
			for range 1000 {
				_, worker = add(<-uids)
			}
			cmd.Process.Signal(syscall.SIGSTOP)
			other := assigner(redis.New(connect(t, server.Address())), workerassign.WithWorkerID(worker))
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			defer cancel()
			g, err := newGenerator(ctx, other, kind == "cached") // waits until the slot is free
			if err != nil {
				t.Fatal(err)
			}
			defer g.Close()
			if err := f.take(w, g, 100); err != nil {
				t.Fatal(err)
			}
			first, err := g.Next()
			if err != nil {
				t.Fatal(err)
			}
			begin := g.Parse(first) // 100 UIDs and up to two milliseconds after the beginning of the lease
			cmd.Process.Signal(syscall.SIGCONT)
			own, others := 0, 0
			for end := time.After(1500 * time.Millisecond); end != nil; {
				select {
				case id := <-uids:
					unit, w := add(id)
					if w != worker {
						others++
						continue
					}
					own++
					if at := g.Format().Epoch().Add(time.Duration(unit) * time.Millisecond); !at.Before(begin.Time) {
						t.Fatalf("the process stamped %v with worker ID %d after it had lost the slot; the next lease began before %v", at, worker, begin.Time)
					}
				case <-end:
					end = nil
				default:
					f.take(w, g, 10)
					time.Sleep(time.Millisecond)
				}
			}
			t.Logf("after it continued, the process generated %d UIDs with worker ID %d and %d with others; in all %s", own, worker, others, f.end())
			if others < 100 || f.duplicates.Load() != 0 {
				t.Errorf("%d UIDs with another worker ID, want at least 100; %d duplicates", others, f.duplicates.Load())
			}
		})
	}
}

// printUIDs generates UIDs until the process is killed. It prints each when it has been generated.
func printUIDs(t *testing.T, address string, cached bool) {
	a := assigner(redis.New(connect(t, address)), workerassign.WithNewPool())
	g, err := newGenerator(t.Context(), a, cached)
	if err != nil {
		t.Fatal(err)
	}
	for {
		for range 20 {
			id, err := g.Next()
			if err != nil {
				break // the lease was lost, and is replaced in the background
			}
			fmt.Println(int64(id))
		}
		time.Sleep(2 * time.Millisecond)
	}
}

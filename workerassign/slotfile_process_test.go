package workerassign_test

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/workerassign"
)

// slotFileOptions make slots free soon after their holders were killed.
var slotFileOptions = []workerassign.RecycledOption{
	workerassign.WithClockBound(20 * time.Millisecond), workerassign.WithSkew(0), workerassign.WithHorizon(time.Second),
}

// slotFileRequest is the request of a generator with so many worker IDs.
func slotFileRequest(workerIDs int64) workerassign.Request {
	return workerassign.Request{Format: "test", MaxWorkerID: workerIDs - 1}
}

// grantedSpan is a span of UID time that a lease was granted.
type grantedSpan struct {
	workerID, from, until int64 // times in Unix milliseconds
	process               int
}

// checkDisjoint fails the test if two spans of one worker ID overlap (invariant 1).
func checkDisjoint(t *testing.T, spans []grantedSpan) {
	t.Helper()
	slices.SortFunc(spans, func(a, b grantedSpan) int {
		return cmp.Or(cmp.Compare(a.workerID, b.workerID), cmp.Compare(a.from, b.from))
	})
	for n := 1; n < len(spans); n++ {
		if a, b := spans[n-1], spans[n]; a.workerID == b.workerID && a.until > b.from {
			t.Errorf("the spans %+v and %+v overlap", a, b)
		}
	}
}

// R2, R3, R5: many processes lease the slots of a file, and some of them are killed. The spans of each
// worker ID are disjoint, all processes get leases, and slots of killed processes are used again.
func TestInvariant1SlotFileProcesses(t *testing.T) {
	testkit.Slow(t, "it starts processes")
	const processes, workerIDs, leases = 10, 12, 15
	if path := os.Getenv("RINGUID_TEST_SLOT_FILE"); path != "" {
		a := workerassign.NewRecycled(workerassign.NewSlotFile(path), slotFileOptions...)
		for range leases {
			l, err := a.Assign(context.Background(), slotFileRequest(workerIDs))
			if err != nil {
				t.Fatal(err)
			}
			granted := l.NotBefore()
			for range 3 {
				granted, err = l.Reserve(context.Background(), time.Now().Add(100*time.Millisecond))
				if errors.Is(err, workerassign.ErrLeaseLost) { // this process was slow, and others need slots
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				fmt.Println("span", l.WorkerID(), l.NotBefore().UnixMilli(), granted.UnixMilli())
			}
			used := l.NotBefore()
			if span := granted.Sub(used); span > 0 {
				used = used.Add(rand.N(span + 1))
			}
			if rand.IntN(2) == 0 {
				used = time.Time{}
			}
			fmt.Println("used", max(used.UnixMilli(), l.NotBefore().UnixMilli())) // before it may be granted to another
			if err := l.Release(context.Background(), used); err != nil {
				t.Fatal(err)
			}
		}
		return
	}
	path := filepath.Join(t.TempDir(), "slots")
	var (
		all     sync.WaitGroup
		outputs [processes]string
	)
	for n := range processes {
		all.Go(func() {
			cmd := exec.Command(os.Args[0], "-test.run=^TestInvariant1SlotFileProcesses$", "-test.count=1")
			cmd.Env = append(os.Environ(), "RINGUID_TEST_SLOT_FILE="+path)
			var out strings.Builder
			cmd.Stdout = &out
			if err := cmd.Start(); err != nil {
				t.Error(err)
				return
			}
			killed := n%3 == 0
			if killed {
				time.AfterFunc(time.Duration(100+50*n)*time.Millisecond, func() { cmd.Process.Kill() })
			}
			if err := cmd.Wait(); err != nil && !killed {
				t.Errorf("process %d: %v\n%s", n, err, out.String())
			}
			outputs[n] = out.String()
		})
	}
	all.Wait()
	var spans []grantedSpan
	for n, out := range outputs {
		s := grantedSpan{process: n}
		add := func() {
			if s.until > s.from {
				spans = append(spans, s)
			}
			s = grantedSpan{process: n}
		}
		for line := range strings.Lines(out) {
			if !strings.HasSuffix(line, "\n") {
				continue
			}
			var used int64
			next := grantedSpan{process: n}
			if _, err := fmt.Sscanf(line, "used %d", &used); err == nil {
				s.until = min(s.until, used)
				add()
			} else if _, err := fmt.Sscanf(line, "span %d %d %d", &next.workerID, &next.from, &next.until); err == nil {
				s = next
			}
		}
		add() // it was killed
	}
	if len(spans) < processes {
		t.Errorf("only %d spans were granted", len(spans))
	}
	checkDisjoint(t, spans)
	state, err := workerassign.NewRecycled(workerassign.NewSlotFile(path)).State(context.Background())
	if err != nil || state.Pool.Slots > workerIDs || int(state.Pool.Slots) != len(state.Slots) {
		t.Errorf("the pool has %d slots, %d of them in the file, %v; want at most %d", state.Pool.Slots, len(state.Slots), err, workerIDs)
	}
}

// R3: a process that was stopped beyond its lease, and whose slot was taken by another, is granted nothing
// any more when it continues, and takes another slot.
func TestR3SlotFileProcessStopped(t *testing.T) {
	testkit.Slow(t, "it starts processes")
	if path := os.Getenv("RINGUID_TEST_SLOT_FILE"); path != "" {
		leaseUntilLost(t, path)
		return
	}
	path := filepath.Join(t.TempDir(), "slots")
	cmd := exec.Command(os.Args[0], "-test.run=^TestR3SlotFileProcessStopped$", "-test.count=1")
	cmd.Env = append(os.Environ(), "RINGUID_TEST_SLOT_FILE="+path)
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	lines := bufio.NewScanner(pipe)
	next := func() string {
		if !lines.Scan() {
			t.Fatalf("the process ended: %v", lines.Err())
		}
		return lines.Text()
	}
	first := next()
	stop, resume := stopProcess(t, cmd.Process)
	stop()
	a := workerassign.NewRecycled(workerassign.NewSlotFile(path), append(slotFileOptions, workerassign.WithWorkerID(0))...)
	l, err := a.Assign(context.Background(), slotFileRequest(2)) // waits until the slot is free
	if err != nil {
		t.Fatal(err)
	}
	granted, err := l.Reserve(context.Background(), time.Now().Add(500*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	resume()
	spans := []grantedSpan{{l.WorkerID(), l.NotBefore().UnixMilli(), granted.UnixMilli(), 1}}
	last := grantedSpan{}
	for line := first; line != "lost"; line = next() {
		if _, err := fmt.Sscanf(line, "span %d %d %d", &last.workerID, &last.from, &last.until); err != nil {
			t.Fatalf("the process wrote %q: %v", line, err)
		}
	}
	spans = append(spans, last)
	if _, err := fmt.Sscanf(next(), "span %d %d %d", &last.workerID, &last.from, &last.until); err != nil {
		t.Fatal(err)
	}
	if last.workerID != 1 {
		t.Errorf("the process that lost its lease got worker ID %d, want 1", last.workerID)
	}
	checkDisjoint(t, append(spans, last))
}

// leaseUntilLost extends a lease until it is lost, and then takes another.
func leaseUntilLost(t *testing.T, path string) {
	a := workerassign.NewRecycled(workerassign.NewSlotFile(path), slotFileOptions...)
	for lost := false; ; {
		l, err := a.Assign(context.Background(), slotFileRequest(2))
		if err != nil {
			t.Fatal(err)
		}
		for {
			granted, err := l.Reserve(context.Background(), time.Now().Add(100*time.Millisecond))
			if errors.Is(err, workerassign.ErrLeaseLost) {
				fmt.Println("lost")
				lost = true
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			fmt.Println("span", l.WorkerID(), l.NotBefore().UnixMilli(), granted.UnixMilli())
			if lost {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
}

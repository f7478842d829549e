package filestore_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/stores/filestore"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// slotFileOptions make slots free soon after their holders were killed.
var slotFileOptions = []recycled.Option{
	recycled.WithClockBound(20 * time.Millisecond), recycled.WithSkew(0), recycled.WithHorizon(time.Second),
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

// printSpan prints what a lease was granted, for parseSpan.
func printSpan(l workerassign.Lease, granted time.Time) {
	fmt.Println("span", l.WorkerID(), l.NotBefore().UnixMilli(), granted.UnixMilli())
}

func parseSpan(t *testing.T, line string) (s grantedSpan) {
	t.Helper()
	if !scan(line, "span %d %d %d", &s.workerID, &s.from, &s.until) {
		t.Errorf("a process wrote %q", line)
	}
	return s
}

// scan reports whether a line has a form.
func scan(line, form string, values ...any) bool {
	_, err := fmt.Sscanf(line, form, values...)
	return err == nil
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
	if path := testkit.ChildArg(); path != "" {
		a := recycled.New(filestore.New(path), slotFileOptions...)
		for range leases {
			l, err := a.Assign(testkit.Patient(t), slotFileRequest(workerIDs))
			if err != nil {
				t.Fatal(err)
			}
			granted := workerassign.Grant{Until: l.NotBefore()}
			for range 3 {
				granted, err = l.Reserve(testkit.Patient(t), time.Now().Add(100*time.Millisecond))
				if errors.Is(err, workerassign.ErrLeaseLost) { // this process was slow, and others need slots
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				printSpan(l, granted.Until)
			}
			used := l.NotBefore()
			if span := granted.Until.Sub(used); span > 0 {
				used = used.Add(rand.N(span + 1))
			}
			if rand.IntN(2) == 0 {
				used = time.Time{}
			}
			fmt.Println("used", max(used.UnixMilli(), l.NotBefore().UnixMilli())) // before it may be granted to another
			if err := l.Release(testkit.Patient(t), used); err != nil {
				t.Fatal(err)
			}
		}
		return
	}
	var (
		path  = filepath.Join(t.TempDir(), "slots")
		spans []grantedSpan
		last  [processes]grantedSpan // of each process
		lines [processes]int
	)
	testkit.RunChildren(t, slices.Repeat([]string{path}, processes), func(n int, c *testkit.Child, line string) {
		if used := int64(0); scan(line, "used %d", &used) {
			last[n].until = min(last[n].until, used)
			spans = append(spans, last[n])
			last[n] = grantedSpan{}
		} else {
			last[n] = parseSpan(t, line)
			last[n].process = n
		}
		if lines[n]++; n%3 == 0 && lines[n] == 5+4*n {
			time.AfterFunc(rand.N(10*time.Millisecond), c.Kill)
		}
	})
	spans = append(spans, last[:]...) // of those that were killed
	spans = slices.DeleteFunc(spans, func(s grantedSpan) bool { return s.until <= s.from })
	if len(spans) < processes {
		t.Errorf("only %d spans were granted", len(spans))
	}
	checkDisjoint(t, spans)
	state, err := recycled.New(filestore.New(path)).State(context.Background())
	if err != nil || state.Pool.Slots > workerIDs || int(state.Pool.Slots) != len(state.Slots) {
		t.Errorf("the pool has %d slots, %d of them in the file, %v; want at most %d", state.Pool.Slots, len(state.Slots), err, workerIDs)
	}
}

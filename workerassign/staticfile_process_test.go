package workerassign_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/millis"
	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/workerassign"
)

// grantUntilKilled is what a child does: it takes a lease, extends it until the child is killed, and prints the worker ID and the
// beginning of the lease, and then the worker ID and the end of each grant.
func grantUntilKilled(t *testing.T, a workerassign.Assigner) {
	l, err := a.Assign(testkit.Patient(t), slotFileRequest(8))
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(l.WorkerID(), l.NotBefore().UnixMilli())
	for until := millis.Later(l.NotBefore(), time.Now()); ; until = until.Add(time.Millisecond) {
		granted, err := l.Reserve(context.Background(), until)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println(l.WorkerID(), granted.Until.UnixMilli())
	}
}

// grantSequence checks what processes print that use one file, one after the other: all have the same worker ID, and no time is
// granted twice.
type grantSequence struct {
	workerID, last int64 // -1 before the first line; the end of what was granted
}

// run runs a process, which calls grantUntilKilled, and kills it a moment after its second line. It calls running before that. If
// running is nil, it kills the process while it starts, perhaps.
func (s *grantSequence) run(t *testing.T, c *testkit.Child, running func()) {
	t.Helper()
	kill := func() { time.AfterFunc(rand.N(40*time.Millisecond), c.Kill) }
	if running == nil {
		kill()
	}
	count := 0
	for line := range c.Lines() {
		var id, at int64
		if _, err := fmt.Sscanf(line, "%d %d", &id, &at); err != nil {
			t.Fatalf("the process wrote %q", line)
		}
		if at < s.last || s.workerID >= 0 && id != s.workerID {
			t.Errorf("a process has worker ID %d at %d; the one before had worker ID %d up to %d", id, at, s.workerID, s.last)
		}
		s.workerID, s.last = id, at
		if count++; count == 2 && running != nil {
			running()
			kill()
		}
	}
	c.Wait()
	if count < 2 && running != nil {
		t.Errorf("a process wrote %d lines", count)
	}
}

// wantInUse checks that an assigner gets no lease while a process has the file.
func wantInUse(t *testing.T, a workerassign.Assigner) {
	t.Helper()
	if l, err := a.Assign(testkit.Patient(t), slotFileRequest(8)); l != nil || !errors.Is(err, workerassign.ErrInUse) {
		t.Errorf("Assign() while a process has the file = %v, %v; want ErrInUse", l, err)
	}
}

// R2, R3: processes that are killed at any moment leave a file with which the next one begins after the end
// of all that was granted. While a process runs, no other gets the worker ID.
func TestInvariant1StaticFileProcesses(t *testing.T) {
	testkit.Slow(t, "it starts processes")
	newAssigner := func(path string) workerassign.Assigner {
		return workerassign.StaticFile(7, path, workerassign.WithNewFile(), discardLog())
	}
	if path := testkit.ChildArg(); path != "" {
		grantUntilKilled(t, newAssigner(path))
	}
	path := filepath.Join(t.TempDir(), "static")
	s := grantSequence{workerID: 7}
	for range 12 {
		s.run(t, testkit.StartChild(t, path), func() { wantInUse(t, newAssigner(path)) })
	}
	l, err := newAssigner(path).Assign(testkit.Patient(t), slotFileRequest(8))
	if err != nil || l.WorkerID() != 7 || l.NotBefore().UnixMilli() < s.last {
		t.Errorf("Assign() = %v, %v; want a lease that begins at or after %d", l, err, s.last)
	}
}

package workerassign_test

import (
	"path/filepath"
	"testing"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/leasetest"
	"github.com/ringuid/ringuid/workerassign"
)

// R2, R3: processes that are killed at any moment leave a file with which the next one begins after the end
// of all that was granted. While a process runs, no other gets the worker ID.
func TestInvariant1StaticFileProcesses(t *testing.T) {
	testkit.Slow(t, "it starts processes")
	newAssigner := func(path string) workerassign.Assigner {
		return workerassign.StaticFile(7, path, workerassign.WithNewFile(), discardLog())
	}
	if path := testkit.ChildArg(); path != "" {
		leasetest.GrantUntilKilled(t, newAssigner(path))
	}
	path := filepath.Join(t.TempDir(), "static")
	s := leasetest.GrantSequence{WorkerID: 7}
	for range 12 {
		s.Run(t, testkit.StartChild(t, path), func() { leasetest.WantInUse(t, newAssigner(path)) })
	}
	l, err := newAssigner(path).Assign(testkit.Patient(t), leasetest.Request(8))
	if err != nil || l.WorkerID() != 7 || l.NotBefore().UnixMilli() < s.Last {
		t.Errorf("Assign() = %v, %v; want a lease that begins at or after %d", l, err, s.Last)
	}
}

package recycled_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/leasetest"
	"github.com/ringuid/ringuid/stores/filestore"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// R2, R3: processes with one file are killed at any moment. Each keeps the worker ID, and begins after the end of all that
// was granted before, also while the store is away. While a process runs, no other gets the file.
func TestInvariant1SavedProcesses(t *testing.T) {
	testkit.Slow(t, "it starts processes")
	newAssigner := func(directory string) workerassign.Assigner {
		r := recycled.New(filestore.New(filepath.Join(directory, "store", "slots"), filestore.WithLogger(slog.New(slog.DiscardHandler))), recycled.WithHorizon(time.Hour), discardLog())
		return recycled.Saved(r, filepath.Join(directory, "saved"), recycled.WithSpan(time.Hour))
	}
	if directory := testkit.ChildArg(); directory != "" {
		leasetest.GrantUntilKilled(t, newAssigner(directory))
	}
	directory := t.TempDir()
	store, away := filepath.Join(directory, "store"), filepath.Join(directory, "away")
	if err := os.Mkdir(store, 0o700); err != nil {
		t.Fatal(err)
	}
	rename := func(from, to string) {
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	s := leasetest.GrantSequence{WorkerID: -1}
	for n := range 12 {
		isDown := n > 0 && n%3 == 0
		if isDown {
			rename(store, away)
		}
		running := func() { leasetest.WantInUse(t, newAssigner(directory)) }
		if n%4 == 1 {
			running = nil
		}
		s.Run(t, testkit.StartChild(t, directory), running)
		if isDown {
			rename(away, store)
		}
	}
}

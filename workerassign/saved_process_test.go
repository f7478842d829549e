package workerassign_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/workerassign"
)

// R2, R3: processes with one file are killed at any moment. Each keeps the worker ID, and begins after the end of all that
// was granted before, also while the store is away. While a process runs, no other gets the file.
func TestInvariant1SavedProcesses(t *testing.T) {
	testkit.Slow(t, "it starts processes")
	quiet := workerassign.WithLogger(slog.New(slog.DiscardHandler))
	newAssigner := func(directory string) workerassign.Assigner {
		r := workerassign.NewRecycled(workerassign.NewSlotFile(filepath.Join(directory, "store", "slots"), quiet), workerassign.WithHorizon(time.Hour), quiet)
		return workerassign.Saved(r, filepath.Join(directory, "saved"), workerassign.WithSpan(time.Hour), quiet)
	}
	if directory := os.Getenv("RINGUID_TEST_SAVED"); directory != "" {
		l, err := newAssigner(directory).Assign(context.Background(), slotFileRequest(8))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println(l.WorkerID(), l.NotBefore().UnixMilli())
		for until := later(l.NotBefore(), time.Now()); ; until = until.Add(time.Millisecond) {
			granted, err := l.Reserve(context.Background(), until)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Println(l.WorkerID(), granted.UnixMilli())
		}
	}
	directory := t.TempDir()
	store, away := filepath.Join(directory, "store"), filepath.Join(directory, "away")
	if err := os.Mkdir(store, 0o700); err != nil {
		t.Fatal(err)
	}
	workerID, last := int64(-1), int64(0) // the end of what was granted
	for n := range 12 {
		isDown := n > 0 && n%3 == 0
		if isDown {
			if err := os.Rename(store, away); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.Command(os.Args[0], "-test.run=^TestInvariant1SavedProcesses$", "-test.count=1")
		cmd.Env = append(os.Environ(), "RINGUID_TEST_SAVED="+directory)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines, count := bufio.NewReader(out), 0
		if n%4 == 1 { // killed while it starts, perhaps
			time.AfterFunc(time.Duration(5*n)*time.Millisecond, func() { cmd.Process.Kill() })
		}
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				break
			}
			var id, at int64
			if _, err := fmt.Sscanf(line, "%d %d\n", &id, &at); err != nil {
				t.Fatalf("process %d wrote %q", n, line)
			}
			if at < last || workerID >= 0 && id != workerID {
				t.Errorf("process %d has worker ID %d at %d; the one before had worker ID %d up to %d", n, id, at, workerID, last)
			}
			workerID, last = id, at
			if count++; count == 2 {
				if l, err := newAssigner(directory).Assign(context.Background(), slotFileRequest(8)); l != nil || !errors.Is(err, workerassign.ErrInUse) && n%4 != 1 {
					t.Errorf("Assign() while a process has the file = %v, %v; want ErrInUse", l, err)
				}
				time.AfterFunc(time.Duration(5+3*n)*time.Millisecond, func() { cmd.Process.Kill() })
			}
		}
		cmd.Wait()
		if count < 2 && n%4 != 1 {
			t.Errorf("process %d wrote %d lines", n, count)
		}
		if isDown {
			if err := os.Rename(away, store); err != nil {
				t.Fatal(err)
			}
		}
	}
}

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

// R2, R3: processes that are killed at any moment leave a file with which the next one begins after the end
// of all that was granted. While a process runs, no other gets the worker ID.
func TestInvariant1StaticFileProcesses(t *testing.T) {
	testkit.Slow(t, "it starts processes")
	newAssigner := func(path string) workerassign.Assigner {
		return workerassign.StaticFile(7, path, workerassign.WithNewFile(), workerassign.WithLogger(slog.New(slog.DiscardHandler)))
	}
	if path := os.Getenv("RINGUID_TEST_STATIC_FILE"); path != "" {
		l, err := newAssigner(path).Assign(context.Background(), workerassign.Request{})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println(l.NotBefore().UnixMilli())
		for until := later(l.NotBefore(), time.Now()); ; until = until.Add(time.Millisecond) {
			granted, err := l.Reserve(context.Background(), until)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Println(granted.UnixMilli())
		}
	}
	path := filepath.Join(t.TempDir(), "static")
	last := int64(0) // the end of what was granted
	for n := range 12 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestInvariant1StaticFileProcesses$", "-test.count=1")
		cmd.Env = append(os.Environ(), "RINGUID_TEST_STATIC_FILE="+path)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines, count := bufio.NewReader(out), 0
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				break
			}
			var at int64
			if _, err := fmt.Sscanf(line, "%d\n", &at); err != nil {
				t.Fatalf("process %d wrote %q", n, line)
			}
			if at < last {
				t.Errorf("process %d was granted a time that ends at or begins at %d, and %d was granted before", n, at, last)
			}
			last = at
			if count++; count == 2 {
				if l, err := newAssigner(path).Assign(context.Background(), workerassign.Request{}); l != nil || !errors.Is(err, workerassign.ErrInUse) {
					t.Errorf("Assign() while a process has the file = %v, %v; want ErrInUse", l, err)
				}
				time.AfterFunc(time.Duration(5+3*n)*time.Millisecond, func() { cmd.Process.Kill() })
			}
		}
		cmd.Wait()
		if count < 2 {
			t.Errorf("process %d wrote %d lines", n, count)
		}
	}
	l, err := newAssigner(path).Assign(context.Background(), workerassign.Request{})
	if err != nil || l.WorkerID() != 7 || l.NotBefore().UnixMilli() < last {
		t.Errorf("Assign() = %v, %v; want a lease that begins at or after %d", l, err, last)
	}
}

// later returns the later of two times.
func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringuid/ringuid/cmd/ringuid/internal/server"
)

// A command that waits for standard input ends when its context does.
func TestStdinInterrupted(t *testing.T) {
	for _, line := range []string{"parse", "plan"} {
		ctx, cancel := context.WithCancel(t.Context())
		in, keyboard := io.Pipe() // nobody types
		asks := true
		var stdout, stderr bytes.Buffer
		a := &App{Context: ctx, Stdin: in, Stdout: &stdout, Stderr: &stderr, asks: &asks, LookupEnv: func(string) (string, bool) { return "", false }}
		ended := make(chan int, 1)
		go func() { ended <- a.execute([]string{line}) }()
		cancel()
		if status := <-ended; status != exitInterrupted || stdout.String() != "" || !strings.Contains(stderr.String(), "interrupted") {
			t.Errorf("%s: status %d, %q, %q", line, status, &stdout, &stderr)
		}
		keyboard.Close()
	}
}

// An output that cannot be written is a failure of each command, and of each help.
func TestFullDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "worker")
	takeIDs(t, nil, "--store", path)
	for _, line := range []string{
		"next --store PATH", "next -n 100000 --store PATH", "parse 1", "parse 1 --json", "plan --layout 1-28-22-13", "plan --nodes 1 --rate 1 --years 1", "plan --layout 1-28-22-13 --json",
		"move 1-28-22-13 1-29-21-13", "move 1-28-22-13 1-29-21-13 --json", "move 1-28-22-13 1-28-22-13", "tag create orders --tag-store PATH", "schema mysql", "doctor --store PATH", "doctor --store PATH --json", "worker-file show PATH",
		"worker-file show PATH2", "worker-file show PATH --json", "worker-file set PATH 100", "bench --rounds 1 --time 1us", "completion -c bash", "--version", "--help", "next --help", "worker-file set --help",
	} {
		var stderr bytes.Buffer
		a := &App{Context: t.Context(), Stdin: strings.NewReader(""), Stdout: fullDisk{}, Stderr: &stderr, LookupEnv: func(string) (string, bool) { return "", false }}
		if status := a.execute(strings.Fields(strings.ReplaceAll(line, "PATH", path))); status != exitFailed || !strings.HasSuffix(stderr.String(), "ringuid: "+errFull.Error()+"\n") {
			t.Errorf("%s: status %d, %q", line, status, &stderr)
		}
	}
}

var errFull = errors.New("no space left")

// fullDisk is a writer that fails.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

// A command whose output nobody reads ends when its context does.
func TestOutputInterrupted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "worker")
	for _, line := range []string{"next -n 10000 --store " + path, "parse 1", "schema mysql"} {
		ctx, cancel := context.WithCancel(t.Context())
		reader, out := io.Pipe()
		var stderr bytes.Buffer
		a := &App{Context: ctx, Stdin: strings.NewReader(""), Stdout: out, Stderr: &stderr, LookupEnv: func(string) (string, bool) { return "", false }}
		ended := make(chan int, 1)
		go func() { ended <- a.execute(strings.Fields(line)) }()
		if _, err := reader.Read(make([]byte, 1)); err != nil { // it is writing, and nobody reads the rest
			t.Fatal(err)
		}
		cancel()
		if status := <-ended; status != exitInterrupted || !strings.Contains(stderr.String(), "interrupted") {
			t.Errorf("%s: status %d, %q", line, status, &stderr)
		}
		reader.Close()
	}
}

// An error of a driver with several lines is printed in one line, which scripts show to people.
func TestErrorInOneLine(t *testing.T) {
	for text, want := range map[string]string{
		"failed to connect to `db`:\n\thost a: refused\n\thost b: refused": "failed to connect to `db`: host a: refused; host b: refused",
		"first\nsecond": "first; second", "plain": "plain", "end\n": "end",
	} {
		var stderr bytes.Buffer
		a := &App{Context: t.Context(), Stderr: &stderr}
		if status := a.exitStatus(errors.New(text)); status != exitFailed || stderr.String() != "ringuid: "+want+"\n" {
			t.Errorf("%q: status %d, %q", text, status, &stderr)
		}
	}
}

// The error of a server that could not end in order is not hidden by the signal that has ended it.
func TestExitStatusOfShutdown(t *testing.T) {
	signal := errors.New("interrupt signal received")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(signal)
	for _, tt := range []struct {
		err    error
		status int
		text   string
	}{
		{nil, exitOK, ""},
		{context.Canceled, exitInterrupted, "ringuid: interrupted\n"},
		{signal, exitInterrupted, "ringuid: interrupted\n"},
		{fmt.Errorf("a part is done: %w", context.Canceled), exitInterrupted, "ringuid: interrupted: a part is done: context canceled\n"},
		{shutdownError{errors.New("server: 3 requests did not end")}, exitFailed, "ringuid: server: 3 requests did not end\n"},
		{fmt.Errorf("at the end: %w", shutdownError{errors.New("x")}), exitFailed, "ringuid: at the end: x\n"},
	} {
		var stderr bytes.Buffer
		a := &App{Context: ctx, Stderr: &stderr}
		if status := a.exitStatus(tt.err); status != tt.status || stderr.String() != tt.text {
			t.Errorf("%v: status %d, %q; want %d, %q", tt.err, status, &stderr, tt.status, tt.text)
		}
	}
}

// A store of the server that cannot be reached is not an error of the command line.
func TestServeStoreDown(t *testing.T) {
	cfg := server.DefaultConfig()
	for store, isUsage := range map[string]bool{"etcd://user:secret@127.0.0.1:1": false, "redis://127.0.0.1:1/x": true} {
		cfg.Store = store
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := openServed(ctx, cfg, nil)
		var usage usageError
		if err == nil || errors.As(err, &usage) != isUsage || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", store, err)
		}
	}
}

package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
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

// The error of a server that could not end in order is not hidden by the signal that has ended it.
func TestExitStatusOfShutdown(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tt := range []struct {
		err    error
		status int
		text   string
	}{
		{nil, exitOK, ""},
		{context.Canceled, exitInterrupted, "ringuid: interrupted\n"},
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

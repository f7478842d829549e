package testserver

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"syscall"
	"testing"

	"github.com/ringuid/ringuid/internal/testkit"
)

// newShell returns a process that runs a script. It answers as soon as the script has created the file whose name is its
// process ID.
func newShell(tb testing.TB, script string) *Process {
	var p *Process
	p = New(tb, Kind{
		Command: func() *exec.Cmd { return exec.Command("sh", "-c", script) },
		Ping: func(context.Context) error {
			_, err := os.Stat(p.Path(strconv.Itoa(p.PID())))
			return err
		},
		Ports:     1,
		Terminate: syscall.SIGTERM,
	})
	return p
}

// Pause stops the child processes too, and Kill and the end of the test kill them.
func TestChildProcesses(t *testing.T) {
	var all []process
	t.Run("server", func(t *testing.T) {
		p := newShell(t, "sleep 1000 & sleep 1000 & echo > $$; wait")
		p.StartNew()
		if all = p.processes(); len(all) != 3 {
			t.Fatalf("the server has %d processes, want 3", len(all))
		}
		p.Pause()
		if slices.ContainsFunc(all, process.proceeds) {
			t.Error("a process of a paused server proceeds")
		}
		p.Resume()
		testkit.Eventually(t, "all processes proceed", func() bool {
			return !slices.ContainsFunc(all, func(q process) bool { return !q.proceeds() })
		})
		p.Kill()
		if slices.ContainsFunc(all, process.running) || p.Running() {
			t.Error("a process of a killed server runs")
		}
		p.Restart()
		all = p.processes()
	})
	if len(all) != 3 || slices.ContainsFunc(all, process.running) {
		t.Error("a process runs after the end of its test")
	}
}

// Start returns an error if the server ends, and Run if the program fails.
func TestEnded(t *testing.T) {
	p := newShell(t, "echo reason; exit 1")
	if err := p.Start(); !errors.Is(err, errEnded) || p.Log() != "reason\n" || p.Running() {
		t.Errorf("Start() = %v, with the log %q", err, p.Log())
	}
	if err := p.Run("sh", "-c", "echo $TMPDIR >&2; exit 3"); err == nil {
		t.Error("Run of a program that fails returned no error")
	}
}

// Stop asks a server to end, also if it is paused.
func TestStop(t *testing.T) {
	p := newShell(t, `trap "echo ended; exit" TERM; echo > $$; while :; do sleep 0.01; done`)
	p.StartNew()
	p.Pause()
	p.Stop()
	if p.Log() != "ended\n" {
		t.Errorf("the log is %q", p.Log())
	}
}

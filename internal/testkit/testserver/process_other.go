//go:build !linux

package testserver

import (
	"os/exec"

	"github.com/ringuid/ringuid/internal/testkit"
)

// account does nothing: on this system, the tests must not run as root.
type account struct{}

func findAccount([]string, string) (account, error) { return account{}, nil }

func (account) own(string) error { return nil }

// startProcess starts a process, and closes exited when it has ended.
func startProcess(cmd *exec.Cmd, _ account, exited chan<- struct{}) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() {
		cmd.Wait()
		close(exited)
	}()
	return nil
}

// killAll kills the main process of the server. Its child processes notice that and end.
func (p *Process) killAll() { p.cmd.Process.Kill() }

// Pause calls testkit.Missing: it is implemented on Linux only.
func (p *Process) Pause() { testkit.Missing(p.tb, "pausing a server is implemented on Linux only") }

// Resume has no effect without Pause.
func (p *Process) Resume() {}

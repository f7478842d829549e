//go:build !linux

package testserver

import "os/exec"

// startProcess starts a process, and closes exited when it has ended.
func startProcess(cmd *exec.Cmd, exited chan<- struct{}) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() {
		cmd.Wait()
		close(exited)
	}()
	return nil
}

// Pause skips the test: it is implemented on Linux only.
func (p *Process) Pause() { p.tb.Skip("pausing a server is implemented on Linux only") }

// Continue has no effect without Pause.
func (p *Process) Continue() {}

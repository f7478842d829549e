//go:build !linux

package mariadbtest

import (
	"os"
	"os/exec"
)

// run starts a process, and closes exited when it is gone.
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

// terminate asks a process to end, where there is a way to.
func terminate(p *os.Process) { p.Signal(os.Interrupt) }

//go:build !linux

package redistest

import (
	"errors"
	"os"
	"os/exec"
)

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

// terminate asks a process to shut down, on systems where that is possible.
func terminate(p *os.Process) { p.Signal(os.Interrupt) }

// pause would stop a process until resume.
func pause(*os.Process) error { return errors.ErrUnsupported }

// resume continues a process, which was never paused on this system.
func resume(*os.Process) error { return nil }

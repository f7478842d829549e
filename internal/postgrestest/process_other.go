//go:build !linux

package postgrestest

import (
	"errors"
	"os"
	"os/exec"
)

// giveToAccount does nothing: on this system, the tests must not run as root.
func giveToAccount(string) error { return nil }

// setAccount does nothing: on this system, the tests must not run as root.
func setAccount(*exec.Cmd) error { return nil }

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

// terminate asks a server to shut down, on systems where that is possible.
func terminate(p *os.Process) { p.Signal(os.Interrupt) }

// killAll kills the main process of a server. Its child processes notice that and end.
func killAll(p *os.Process) { p.Kill() }

// pauseAll is not possible on this system.
func pauseAll(*os.Process) error {
	return errors.New("the processes of a server cannot be paused on this system")
}

// resumeAll does nothing.
func resumeAll(*os.Process) {}

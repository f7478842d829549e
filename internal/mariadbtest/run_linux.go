package mariadbtest

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

// run starts a process that the system kills when this one dies, and closes exited when it
// is gone. The system watches the thread that started it, so that one waits for it.
func startProcess(cmd *exec.Cmd, exited chan<- struct{}) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			cmd.Wait()
			close(exited)
		}
	}()
	return <-started
}

// terminate asks a process to end.
func terminate(p *os.Process) { p.Signal(syscall.SIGTERM) }

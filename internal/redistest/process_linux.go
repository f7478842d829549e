package redistest

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

// startProcess starts a process, and closes exited when it has ended. The kernel kills the process when
// the thread that started it ends. So a separate goroutine is locked to that thread and waits for the
// process.
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

// terminate asks a process to shut down.
func terminate(p *os.Process) { p.Signal(syscall.SIGTERM) }

// pause stops a process until resume.
func pause(p *os.Process) error { return p.Signal(syscall.SIGSTOP) }

// resume continues a process.
func resume(p *os.Process) error { return p.Signal(syscall.SIGCONT) }

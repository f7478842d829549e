package postgrestest

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// account returns the user and group that the servers run as, if this process is root.
func account() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(u.Uid, 10, 32)
		if err != nil {
			return nil, err
		}
		gid, err := strconv.ParseUint(u.Gid, 10, 32)
		if err != nil {
			return nil, err
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
	}
	return nil, fmt.Errorf("PostgreSQL refuses to run as root, and there is no user postgres or nobody")
}

// giveToAccount makes the servers' account the owner of a directory.
func giveToAccount(directory string) error {
	credential, err := account()
	if err != nil || credential == nil {
		return err
	}
	// The account must be able to enter the directories above.
	for above := filepath.Dir(directory); ; above = filepath.Dir(above) {
		info, err := os.Stat(above)
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o001 == 0 {
			return fmt.Errorf("PostgreSQL runs as another user than root, which may not enter %s: run chmod o+x %s, or set TMPDIR", above, above)
		}
		if above == filepath.Dir(above) {
			return os.Chown(directory, int(credential.Uid), int(credential.Gid))
		}
	}
}

// setAccount makes a process run as the servers' account. The kernel kills the process when the thread that
// has started it ends.
func setAccount(cmd *exec.Cmd) error {
	credential, err := account()
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Credential: credential}
	return err
}

// startProcess starts a process, and closes exited when it has ended. A separate goroutine is locked to the
// thread that starts the process, and waits for it.
func startProcess(cmd *exec.Cmd, exited chan<- struct{}) error {
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

// terminate asks a server to shut down: to end all sessions, but to write everything.
func terminate(p *os.Process) { p.Signal(syscall.SIGINT) }

// killAll kills a server and its child processes. The main process is stopped first, so that it neither
// starts further children nor reacts to the end of one.
func killAll(p *os.Process) {
	stopMain(p)
	children := childrenOf(p.Pid)
	for _, child := range children {
		syscall.Kill(child, syscall.SIGKILL)
	}
	p.Kill()
	// A server does not start while a child of the former one exists.
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		alive := false
		for _, child := range children {
			state, _ := processState(child)
			alive = alive || state != "" && state != "Z" && state != "X"
		}
		if !alive {
			return
		}
	}
}

// stopMain stops the main process of a server. When it returns, the process starts no further children.
func stopMain(p *os.Process) error {
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if state, _ := processState(p.Pid); state != "R" && state != "S" && state != "D" {
			return nil
		}
	}
	return fmt.Errorf("process %d does not stop", p.Pid)
}

// pauseAll stops a server and its child processes.
func pauseAll(p *os.Process) error {
	if err := stopMain(p); err != nil {
		return err
	}
	for _, child := range childrenOf(p.Pid) {
		syscall.Kill(child, syscall.SIGSTOP)
	}
	return nil
}

// resumeAll continues a server and its child processes.
func resumeAll(p *os.Process) {
	for _, child := range childrenOf(p.Pid) {
		syscall.Kill(child, syscall.SIGCONT)
	}
	p.Signal(syscall.SIGCONT)
}

// childrenOf returns the child processes of a process.
func childrenOf(parent int) (children []int) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if _, ppid := processState(pid); ppid == parent {
			children = append(children, pid)
		}
	}
	return children
}

// processState returns the state of a process and its parent; "" and 0 if it does not exist.
func processState(pid int) (state string, parent int) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", 0
	}
	// The name, in parentheses, may contain spaces and parentheses.
	fields := strings.Fields(string(text)[strings.LastIndexByte(string(text), ')')+1:])
	if len(fields) < 2 {
		return "", 0
	}
	parent, _ = strconv.Atoi(fields[1])
	return fields[0], parent
}

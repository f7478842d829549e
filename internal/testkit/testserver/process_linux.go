package testserver

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/ringuid/ringuid/internal/testkit"
)

// account is the account that a server runs with, if it is not that of the test.
type account struct{ *syscall.Credential }

// findAccount returns the first account that exists, if this process is root and a name is given. It must be able to enter the
// directory that contains another directory.
func findAccount(names []string, directory string) (account, error) {
	if os.Geteuid() != 0 || len(names) == 0 {
		return account{}, nil
	}
	for above := filepath.Dir(directory); ; above = filepath.Dir(above) {
		info, err := os.Stat(above)
		if err != nil {
			return account{}, err
		}
		if info.Mode().Perm()&0o001 == 0 {
			return account{}, fmt.Errorf("the server runs as another user than root, which may not enter %s: run chmod o+x %s, or set TMPDIR", above, above)
		}
		if above == filepath.Dir(above) {
			break
		}
	}
	for _, name := range names {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		return account{&syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, errors.Join(err1, err2)
	}
	return account{}, fmt.Errorf("the server must not run as root, and there is no user %s", strings.Join(names, " or "))
}

// own makes the account the owner of a directory and of everything in it.
func (a account) own(directory string) error {
	if a.Credential == nil {
		return nil
	}
	return filepath.WalkDir(directory, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, int(a.Uid), int(a.Gid)))
	})
}

// startProcess starts a process, and closes exited when it has ended. The kernel kills the process when the thread that
// started it ends. So a separate goroutine is locked to that thread and waits for the process.
func startProcess(cmd *exec.Cmd, a account, exited chan<- struct{}) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Credential: a.Credential}
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

// Pause stops all processes of the server until Resume. It returns when all of their threads have stopped.
func (p *Process) Pause() {
	p.tb.Helper()
	p.stopAll()
}

// stopAll is Pause, and returns the processes. It stops a process only after its parent: a process that starts another one may
// have to wait until that one has executed its program, and does not stop meanwhile.
func (p *Process) stopAll() []process {
	p.tb.Helper()
	stopped := map[int]bool{}
	for {
		var next []process
		all := p.processes()
		for _, q := range all {
			if !stopped[q.pid] && (q.pid == p.PID() || stopped[q.parent]) {
				syscall.Kill(q.pid, syscall.SIGSTOP)
				next = append(next, q)
			}
		}
		if len(next) == 0 { // all had stopped before they were listed, so none has started another one since
			return all
		}
		testkit.Eventually(p.tb, "all processes of the server stop", func() bool { return !slices.ContainsFunc(next, process.proceeds) })
		for _, q := range next {
			stopped[q.pid] = true
		}
	}
}

// Resume continues all processes of the server after Pause.
func (p *Process) Resume() {
	for _, q := range slices.Backward(p.processes()) {
		syscall.Kill(q.pid, syscall.SIGCONT)
	}
}

// killAll kills all processes of the server. They are stopped first, so that none starts another one or reacts to the end of
// one. Other processes must have ended too when it returns: PostgreSQL does not start while a child of the former server
// exists.
func (p *Process) killAll() {
	p.tb.Helper()
	all := p.stopAll()
	for _, q := range all {
		syscall.Kill(q.pid, syscall.SIGKILL)
	}
	testkit.Eventually(p.tb, "all processes of the server end", func() bool { return !slices.ContainsFunc(all, process.running) })
}

// process is one process of a server. Another process may have the same ID later, but not the same time of its start.
type process struct {
	pid, parent int
	started     string
}

// processes returns the main process of the server and its descendants, each after its parent, or nil if the main process
// has ended.
func (p *Process) processes() (all []process) {
	children := map[int][]process{}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		p.tb.Fatal(err)
	}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		switch _, parent, started := stat(filepath.Join("/proc", entry.Name(), "stat")); {
		case pid == p.PID() && p.Running():
			all = append(all, process{pid, parent, started})
		case parent != 0:
			children[parent] = append(children[parent], process{pid, parent, started})
		}
	}
	for i := 0; i < len(all); i++ {
		all = append(all, children[all[i].pid]...)
	}
	return all
}

// running reports whether the process has not ended.
func (q process) running() bool {
	state, _, started := stat(fmt.Sprintf("/proc/%d/stat", q.pid))
	return started == q.started && !strings.Contains("ZX", state)
}

// proceeds reports whether a thread of the process has neither stopped nor ended.
func (q process) proceeds() bool {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", q.pid))
	return slices.ContainsFunc(files, func(file string) bool {
		state, _, _ := stat(file)
		return !strings.Contains("TZX", state)
	})
}

// stat reads the state of a process or a thread, its parent and the time of its start from a file of /proc. The state and the
// time are empty if it does not exist.
func stat(file string) (state string, parent int, started string) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", 0, ""
	}
	// The name, in parentheses, may contain spaces and parentheses.
	fields := strings.Fields(string(text)[strings.LastIndexByte(string(text), ')')+1:])
	if len(fields) < 20 {
		return "", 0, ""
	}
	parent, _ = strconv.Atoi(fields[1])
	return fields[0], parent, fields[19]
}

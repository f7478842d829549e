// Package testserver runs the server processes of tests: it starts them on free ports, stops, kills, pauses and restarts
// them, and keeps their logs. The packages for the kinds of servers are on it: mariadbtest, postgrestest, redistest,
// etcdtest and zookeepertest.
package testserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/freeport"
)

const (
	startTimeout = 5 * time.Minute  // how long a server may take until it answers
	pingTimeout  = 5 * time.Second  // how long one attempt may take: a server that is starting may accept a connection and never answer
	stopTimeout  = 20 * time.Second // how long a server may take to shut down
)

// Kind is what differs between the kinds of servers.
type Kind struct {
	// Command returns what to start, with the ports of the process. Its Env has additional environment variables.
	Command func() *exec.Cmd

	// Ping returns nil if this server, and not another one on its port, serves requests.
	Ping func(context.Context) error

	// Ports is how many ports the server uses. The first one is that for clients.
	Ports int

	// Terminate asks the server to shut down. If Repeat is set, the server may ignore it, and receives it again. If
	// StopAtEnd is set, the server is shut down at the end of the test, and otherwise killed.
	Terminate         os.Signal
	Repeat, StopAtEnd bool

	// Accounts, if not empty, are accounts of the system. If the test runs as root, the server runs with the first one that
	// exists.
	Accounts []string

	// OnDisk is whether the directory is not in memory (MemoryEnv).
	OnDisk bool
}

// Process is a server process with a directory of its own. Its methods must not be called concurrently.
type Process struct {
	tb        testing.TB
	kind      Kind
	directory string
	account   account
	ports     []int
	environ   []string // additional environment variables of all programs
	cmd       *exec.Cmd
	exited    chan struct{} // closed when the current process has ended
	clock     *clock        // of UseClock; nil: that of the system
}

// Require calls testkit.Slow, and testkit.Missing if one of the programs is not installed. install says what to install.
func Require(tb testing.TB, install string, programs ...string) {
	tb.Helper()
	testkit.Slow(tb, "it starts a server")
	for _, name := range programs {
		if _, err := FindProgram(name); err != nil {
			testkit.Missing(tb, name, " was not found: install ", install, ", or run make test, which does")
		}
	}
}

// FindProgram returns the path of a program. It also searches the directories of PostgreSQL, the newest version first, which
// Debian does not add to PATH, and those that are usually not in the PATH of users other than root.
func FindProgram(name string) (string, error) {
	if found, _ := filepath.Glob("/usr/lib/postgresql/[1-9][0-9]/bin/" + name); len(found) > 0 {
		return found[len(found)-1], nil
	}
	for _, directory := range []string{"", "/usr/sbin", "/usr/local/sbin", "/usr/local/bin"} {
		if path, err := exec.LookPath(filepath.Join(directory, name)); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s: %w", name, exec.ErrNotFound)
}

// MemoryEnv is the name of an environment variable with a directory in memory, for the directories of servers. make test sets it
// where there is much memory.
const MemoryEnv = "RINGUID_TEST_MEMORY"

// New returns a process that is not started yet, with a temporary directory. At the end of the test, the process is ended
// and the directory is removed.
func New(tb testing.TB, kind Kind) *Process {
	tb.Helper()
	// This is not the test's own temporary directory, whose name can be too long for a socket.
	parent := os.Getenv(MemoryEnv)
	if kind.OnDisk {
		parent = ""
	}
	directory, err := os.MkdirTemp(parent, "ringuid-srv")
	if err != nil {
		tb.Fatal(err)
	}
	p := &Process{tb: tb, kind: kind, directory: directory, ports: make([]int, kind.Ports)}
	tb.Cleanup(func() {
		if kind.StopAtEnd {
			p.Stop()
		} else {
			p.Kill()
		}
		if tb.Failed() {
			tb.Logf("the log of the server at %s ends with:\n%s", p.Address(), p.Log())
		}
		os.RemoveAll(directory)
	})
	for _, variable := range os.Environ() { // no setting of the user applies
		if !strings.HasPrefix(variable, "PG") && !strings.HasPrefix(variable, "LC_") && !strings.HasPrefix(variable, "LANG") {
			p.environ = append(p.environ, variable)
		}
	}
	p.environ = append(p.environ, "LC_ALL=C", "TMPDIR="+p.Path("tmp"))
	if err := os.Mkdir(p.Path("tmp"), 0o700); err != nil {
		tb.Fatal(err)
	}
	if p.account, err = findAccount(kind.Accounts, directory); err == nil {
		err = p.account.own(directory)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// StartNew starts the server on free ports, and waits until it answers.
func (p *Process) StartNew() {
	p.tb.Helper()
	StartOnFreePorts(p.tb, func() error { return p.Start() }, p)
}

// StartOnFreePorts gives free ports to the servers of a cluster and calls start, which starts them. It does so up to five
// times, because another process may take a port before a server listens on it, which then ends.
func StartOnFreePorts(tb testing.TB, start func() error, processes ...*Process) {
	tb.Helper()
	err := errEnded
	for attempt := 0; attempt < 5 && errors.Is(err, errEnded); attempt++ {
		n := 0
		for _, p := range processes {
			p.Kill()
			n += len(p.ports)
		}
		ports, failure := freeport.Choose(n)
		if failure != nil {
			tb.Fatal(failure)
		}
		for _, p := range processes {
			ports = ports[copy(p.ports, ports):]
		}
		if err = start(); err == nil {
			return
		}
	}
	tb.Fatalf("the server does not start: %v", err)
}

// Start starts the process, with arguments that come after those of the kind, and waits until the server answers.
func (p *Process) Start(args ...string) error {
	if err := p.Launch(args...); err != nil {
		return err
	}
	return p.Wait()
}

// Launch is Start without waiting for the server, which may need others of its cluster.
func (p *Process) Launch(args ...string) error {
	log, err := os.OpenFile(p.Path("log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := p.kind.Command()
	cmd.Args = append(cmd.Args, args...)
	cmd.Stdout, cmd.Stderr = log, log
	exited, err := p.run(cmd)
	if err == nil {
		p.cmd, p.exited = cmd, exited
	}
	return err
}

// run starts a program with the account, directory and environment of the server. The channel is closed when it has ended.
func (p *Process) run(cmd *exec.Cmd) (exited chan struct{}, err error) {
	cmd.Dir = p.directory
	cmd.Env = append(p.environ[:len(p.environ):len(p.environ)], cmd.Env...)
	exited = make(chan struct{})
	return exited, startProcess(cmd, p.account, exited)
}

// Run runs another program of the server to its end, with the same account, directory and environment.
func (p *Process) Run(name string, args ...string) error {
	path, err := FindProgram(name)
	if err != nil {
		return err
	}
	cmd := exec.Command(path, args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = 10 * time.Second // if a process that it has started remains
	exited, err := p.run(cmd)
	if err != nil {
		return err
	}
	kill := time.AfterFunc(startTimeout, func() { cmd.Process.Kill() })
	defer kill.Stop()
	if <-exited; !cmd.ProcessState.Success() {
		return fmt.Errorf("%s %q: %v\n%s", name, args, cmd.ProcessState, out.Bytes())
	}
	return nil
}

// errEnded is the reason why a server does not answer if its process has ended.
var errEnded = errors.New("the process ended")

// Wait waits until the server answers.
func (p *Process) Wait() error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	var err error
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		select {
		case <-p.exited:
			return errEnded
		case <-ctx.Done():
			p.Kill()
			return fmt.Errorf("no answer after %v: %w", startTimeout, err)
		case <-time.After(pause):
		}
		if err = p.ping(ctx); err == nil {
			return nil
		}
	}
}

func (p *Process) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	return p.kind.Ping(ctx)
}

// Restart starts the server again after Kill or Stop, with the same data and the same ports.
func (p *Process) Restart() {
	p.tb.Helper()
	p.RestartWith()
}

// RestartWith is Restart with arguments as in Start. It retries, because a client connection of another process may use a port
// for a short time.
func (p *Process) RestartWith(args ...string) {
	p.tb.Helper()
	testkit.Retry(p.tb, "the server restarts", func() error { return p.Start(args...) })
}

// Kill kills all processes of the server with SIGKILL, which has the same effect as a crash: nothing is written that was not
// written before.
func (p *Process) Kill() {
	p.tb.Helper()
	if p.Running() {
		p.killAll()
		<-p.exited
	}
}

// Stop shuts the server down. If that takes longer than 20 seconds, it kills the server.
func (p *Process) Stop() {
	p.tb.Helper()
	if !p.Running() {
		return
	}
	p.Resume() // a paused process does not shut down
	deadline := time.After(stopTimeout)
	for {
		if p.cmd.Process.Signal(p.kind.Terminate) != nil { // the system has no such signal, or the process has just ended
			p.Kill()
		}
		var again <-chan time.Time
		if p.kind.Repeat {
			again = time.After(200 * time.Millisecond)
		}
		select {
		case <-p.exited:
			return
		case <-deadline:
			p.Kill()
		case <-again:
		}
	}
}

// Running reports whether the process was started and has not ended.
func (p *Process) Running() bool {
	if p.cmd == nil {
		return false
	}
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// PID returns the process ID of the server's main process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Directory returns the directory with all files of the server.
func (p *Process) Directory() string { return p.directory }

// Path returns the path of a file in the server's directory.
func (p *Process) Path(name string) string { return filepath.Join(p.directory, name) }

// Port returns the server's port with index i.
func (p *Process) Port(i int) int { return p.ports[i] }

// AddressOf returns the host and port of the server's port with index i.
func (p *Process) AddressOf(i int) string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(p.ports[i]))
}

// Address returns the host and port of the server for clients.
func (p *Process) Address() string { return p.AddressOf(0) }

// Log returns the end of the server's log.
func (p *Process) Log() string {
	text, err := os.ReadFile(p.Path("log"))
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-4_000):])
}

// faultCase is in the names of the cases of suites in which the server is killed, or does not answer.
var faultCase = regexp.MustCompile("Killed|Restart|Paused|(Requests|Replies|RepliesOfCreateTag|Tags)Lost|WritesLost$")

// CaseTimeout returns how long the client of a case of a suite should wait for an answer: a minute, or only short if the case is one in
// which the server is killed or does not answer.
func CaseTimeout(tb testing.TB, short time.Duration) time.Duration {
	if faultCase.MatchString(tb.Name()) {
		return short
	}
	return time.Minute
}

// Package testserver runs one server process of a test: it starts it, kills, pauses and restarts it, and
// keeps its log. The packages for the kinds of servers use it, for example etcdtest and zookeepertest.
package testserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/freeport"
)

// startTimeout bounds how long a server may take until it answers.
const startTimeout = 60 * time.Second

// Process is a server process with a directory of its own. Its methods must not be called concurrently.
type Process struct {
	Directory string

	tb      testing.TB
	command func() *exec.Cmd
	ping    func(context.Context) error
	cmd     *exec.Cmd
	exited  chan struct{} // closed when the current process has ended
}

// New returns a process that is not started yet, with a temporary directory. At the end of the test, the
// process is killed and the directory is removed. command returns what to start; ping returns nil when the
// server answers.
func New(tb testing.TB, command func() *exec.Cmd, ping func(context.Context) error) *Process {
	tb.Helper()
	// This is not the test's own temporary directory, whose name can be too long for a socket.
	directory, err := os.MkdirTemp("", "ringuid-srv")
	if err != nil {
		tb.Fatal(err)
	}
	p := &Process{Directory: directory, tb: tb, command: command, ping: ping}
	tb.Cleanup(func() {
		p.Kill()
		if tb.Failed() {
			tb.Logf("the server's log ends with:\n%s", p.Log())
		}
		os.RemoveAll(directory)
	})
	return p
}

// Start starts the process and waits until the server answers.
func (p *Process) Start() error {
	if err := p.Launch(); err != nil {
		return err
	}
	return p.Wait()
}

// Launch starts the process and does not wait for the server, which may need others of its cluster.
func (p *Process) Launch() error {
	log, err := os.OpenFile(p.Path("log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	p.cmd = p.command()
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = p.Directory, log, log
	p.exited = make(chan struct{})
	if err := startProcess(p.cmd, p.exited); err != nil {
		p.cmd = nil
		return err
	}
	return nil
}

// Wait waits until the server answers.
func (p *Process) Wait() error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	var err error
	for {
		select {
		case <-p.exited:
			return errors.New("the process ended")
		case <-ctx.Done():
			p.Kill()
			return fmt.Errorf("no answer after %v: %w", startTimeout, err)
		case <-time.After(10 * time.Millisecond):
		}
		if err = p.pingOnce(ctx); err == nil {
			return nil
		}
	}
}

// pingOnce is ping with a limit: a server that is starting may accept a connection and never answer.
func (p *Process) pingOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	return p.ping(ctx)
}

// Restart starts the server again after Kill, with the same data and the same ports. It tries for up to a
// minute, because a client connection of another process may use a port for a short time.
func (p *Process) Restart() {
	p.tb.Helper()
	for deadline := time.Now().Add(startTimeout); ; time.Sleep(200 * time.Millisecond) {
		err := p.Start()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			p.tb.Fatalf("the server does not restart: %v\n%s", err, p.Log())
		}
	}
}

// Kill kills the server with SIGKILL, which has the same effect as a crash of the process.
func (p *Process) Kill() {
	if p.cmd == nil {
		return
	}
	p.cmd.Process.Kill()
	<-p.exited
}

// Path returns the path of a file in the server's directory.
func (p *Process) Path(name string) string { return filepath.Join(p.Directory, name) }

// Log returns the end of the server's log.
func (p *Process) Log() string {
	text, err := os.ReadFile(p.Path("log"))
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-4_000):])
}

// FreePort returns a free port of the loopback interface.
func FreePort(tb testing.TB) int {
	tb.Helper()
	port, err := freeport.One()
	if err != nil {
		tb.Fatal(err)
	}
	return port
}

// Address returns the address of a port of the loopback interface.
func Address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

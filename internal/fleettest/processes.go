//go:build unix

package fleettest

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/ringuid/ringuid/uid"
)

// processesEnv is the address of the store, in the environment of the processes that a test starts.
const processesEnv = "RINGUID_TEST_PROCESSES"

// Processes is processes that run generators. A process is the test program with one test. That test calls
// ProcessAddress first, and then RunProcess if the result is not empty. The UIDs are checked by a Fleet.
type Processes struct {
	fleet *Fleet
	test  string // its name

	uids   atomic.Int64
	starts atomic.Int64 // of generators

	mu      sync.Mutex
	running map[*exec.Cmd]chan struct{} // closed when all that the process printed has been checked
}

// NewProcesses returns processes of the test t, which end with it. It starts none.
func NewProcesses(t *testing.T, f *Fleet) *Processes {
	name, _, _ := strings.Cut(t.Name(), "/")
	p := &Processes{fleet: f, test: name, running: map[*exec.Cmd]chan struct{}{}}
	t.Cleanup(p.KillAll)
	return p
}

// Start starts a process that reaches the store at an address. It does not wait until the process has a lease.
func (p *Processes) Start(t *testing.T, address string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^"+p.test+"$", "-test.count=1")
	cmd.Env = append(os.Environ(), processesEnv+"="+address)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	read := make(chan struct{})
	p.mu.Lock()
	p.running[cmd] = read
	p.mu.Unlock()
	go func() {
		defer close(read)
		w := p.fleet.Writer()
		for lines := bufio.NewScanner(out); lines.Scan(); {
			switch id, err := strconv.ParseInt(lines.Text(), 10, 64); {
			case err == nil:
				p.fleet.Add(w, uid.ID(id))
				p.uids.Add(1)
			case lines.Text() == startLine:
				p.starts.Add(1)
			}
		}
	}()
	return cmd
}

// Kill kills a process with SIGKILL, and returns when all that it printed has been checked.
func (p *Processes) Kill(cmd *exec.Cmd) {
	p.mu.Lock()
	read := p.running[cmd]
	delete(p.running, cmd)
	p.mu.Unlock()
	if read == nil {
		return
	}
	cmd.Process.Kill()
	<-read
	cmd.Wait()
}

// Signal sends a signal to n of the running processes.
func (p *Processes) Signal(t *testing.T, which syscall.Signal, n int) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for cmd := range p.running {
		if n == 0 {
			return
		}
		if err := cmd.Process.Signal(which); err != nil {
			t.Fatal(err)
		}
		n--
	}
}

// KillAll kills all processes.
func (p *Processes) KillAll() {
	p.mu.Lock()
	all := make([]*exec.Cmd, 0, len(p.running))
	for cmd := range p.running {
		all = append(all, cmd)
	}
	p.mu.Unlock()
	for _, cmd := range all {
		p.Kill(cmd)
	}
}

// Wait waits until the processes have generated that many more UIDs, by that many more generators. It fails the
// test if that takes too long.
func (p *Processes) Wait(t *testing.T, uids, starts int64, timeout time.Duration) {
	t.Helper()
	uids, starts = p.uids.Load()+uids, p.starts.Load()+starts
	for begin := time.Now(); p.uids.Load() < uids || p.starts.Load() < starts; time.Sleep(time.Millisecond) {
		if time.Since(begin) > timeout {
			t.Fatalf("after %v, %d UIDs and %d starts of generators are missing", timeout, uids-p.uids.Load(), starts-p.starts.Load())
		}
	}
}

// Counts returns how many UIDs the processes have generated, and how many generators they have started.
func (p *Processes) Counts() (uids, starts int64) { return p.uids.Load(), p.starts.Load() }

// ProcessAddress returns the address of the store in a process that Processes has started, and "" in others.
func ProcessAddress() string { return os.Getenv(processesEnv) }

// IsProcess reports whether this is a process that Processes or StoppedProcess has started. A test that starts a
// server before its subtests call StoppedProcess must not do so in a process.
func IsProcess() bool { return ProcessAddress() != "" || os.Getenv(processEnv) != "" }

// startLine is what a process prints when it has started a generator.
const startLine = "start"

// RunProcess starts generators one after the other until the process is killed, and prints each UID after it has
// been generated. Half of the generators are Cached ones. Some are not closed, as if they had crashed.
func RunProcess(life, pause time.Duration, newGenerator func(ctx context.Context, cached bool) (uid.Generator, error)) {
	for {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		g, err := newGenerator(ctx, rand.IntN(2) == 0)
		cancel()
		if err != nil {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		fmt.Println(startLine)
		for end := time.Now().Add(rand.N(life)); time.Now().Before(end); time.Sleep(rand.N(pause)) {
			var printed strings.Builder
			ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
			for range 10 {
				id, err := g.NextContext(ctx)
				if err != nil {
					break
				}
				fmt.Fprintln(&printed, int64(id))
			}
			cancel()
			os.Stdout.WriteString(printed.String())
		}
		if rand.IntN(4) > 0 {
			g.Close()
		}
	}
}

// WaitLeases waits until the fleet has that many more leases, and has generated UIDs. It fails the test if that takes
// too long. Leases of generators that were started just before may count or not: see WaitAllLeases.
func (f *Fleet) WaitLeases(t *testing.T, leases int64, timeout time.Duration) {
	t.Helper()
	f.WaitAllLeases(t, f.leases.Load()+leases, timeout)
}

// WaitAllLeases waits until the fleet has had that many leases in all, and generates UIDs. It fails the test if that takes
// too long.
func (f *Fleet) WaitAllLeases(t *testing.T, leases int64, timeout time.Duration) {
	t.Helper()
	generated := f.generated.Load()
	for begin := time.Now(); f.leases.Load() < leases || f.generated.Load() == generated; time.Sleep(time.Millisecond) {
		if time.Since(begin) > timeout {
			t.Fatalf("after %v, %d leases are missing, and %d UIDs were generated", timeout, leases-f.leases.Load(), f.generated.Load()-generated)
		}
	}
}

// Duplicates returns how many UIDs were generated a second time.
func (f *Fleet) Duplicates() int64 { return f.duplicates.Load() }

//go:build unix

package fleettest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/ledger"
	"github.com/ringuid/ringuid/uid"
)

// processesArg begins the argument of the processes that Processes starts.
const processesArg = "generators "

// Processes is processes that run generators. A process is a child with the test. That test calls ProcessAddress first, and
// then RunProcess if the result is not empty. The UIDs, and the calls of the store, are checked by a Fleet.
type Processes struct {
	fleet *Fleet

	uids   atomic.Int64
	starts atomic.Int64 // of generators

	running map[*testkit.Child]chan struct{} // closed when all that the process printed has been checked
}

// NewProcesses returns processes, which end with the test that starts them. It starts none.
func NewProcesses(f *Fleet) *Processes {
	return &Processes{fleet: f, running: map[*testkit.Child]chan struct{}{}}
}

// Start starts a process that reaches the store at an address. It does not wait until the process has a lease.
func (p *Processes) Start(t *testing.T, address string) *testkit.Child {
	t.Helper()
	child, read := testkit.StartChild(t, processesArg+address), make(chan struct{})
	p.running[child] = read
	go func() {
		defer close(read)
		w, feed := p.fleet.Writer(), p.fleet.log.Feed()
		for line := range child.Lines() {
			switch id, err := strconv.ParseInt(line, 10, 64); {
			case feed(line):
			case err == nil:
				p.fleet.Add(w, uid.ID(id))
				p.uids.Add(1)
			case line == startLine:
				p.starts.Add(1)
			}
		}
	}()
	return child
}

// Kill kills a process with SIGKILL, and returns when all that it printed has been checked.
func (p *Processes) Kill(child *testkit.Child) {
	child.Process.Kill()
	<-p.running[child]
	delete(p.running, child)
}

// Pause stops n of the running processes, until Resume.
func (p *Processes) Pause(n int) {
	for child := range p.running {
		if n--; n < 0 {
			return
		}
		child.Pause()
	}
}

// Resume continues all processes.
func (p *Processes) Resume() {
	for child := range p.running {
		child.Resume()
	}
}

// KillAll kills all processes.
func (p *Processes) KillAll() {
	for child := range p.running {
		p.Kill(child)
	}
}

// Wait waits until the processes have generated that many more UIDs, by that many more generators.
func (p *Processes) Wait(t *testing.T, uids, starts int64) {
	t.Helper()
	uids, starts = p.uids.Load()+uids, p.starts.Load()+starts
	testkit.Retry(t, "the processes go on", func() error {
		if p.uids.Load() < uids || p.starts.Load() < starts {
			return fmt.Errorf("%d UIDs and %d starts of generators are missing", uids-p.uids.Load(), starts-p.starts.Load())
		}
		return nil
	})
}

// Counts returns how many UIDs the processes have generated, and how many generators they have started.
func (p *Processes) Counts() (uids, starts int64) { return p.uids.Load(), p.starts.Load() }

// ProcessAddress returns the address of the store in a process that Processes has started, and "" in others.
func ProcessAddress() string {
	if address, ok := strings.CutPrefix(testkit.ChildArg(), processesArg); ok {
		return address
	}
	return ""
}

// startLine is what a process prints when it has started a generator.
const startLine = "start"

// RunProcess starts generators one after the other until the process is killed, and prints each UID after it has
// been generated. Half of the generators are Cached ones. Some are not closed, as if they had crashed. s, which the generators' assigner
// uses, is of ledger.NewChild.
func RunProcess(s *ledger.Client, life, pause time.Duration, newGenerator func(ctx context.Context, cached bool) (uid.Generator, error)) {
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
				parts := g.Parse(id)
				s.Stamp(parts.WorkerID, parts.Time)
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

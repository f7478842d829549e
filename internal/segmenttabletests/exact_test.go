//go:build unix

package segmenttabletests

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/ringuid/ringuid/internal/fleettest"
	"github.com/ringuid/ringuid/internal/mariadbtest"
	"github.com/ringuid/ringuid/segment"
)

// processEnv has the data source name and the addresses for the processes that a test starts.
const processEnv = "RINGUID_TEST_TAKERS"

// tag is the tag that all processes take ranges of.
const tag = "orders"

// fullOr returns full if RINGUID_FULL is set, and otherwise less.
func fullOr(full, less int) int {
	if os.Getenv(fleettest.FullEnv) != "" {
		return full
	}
	return less
}

// isTaker runs a taker if this is a process that startTakers has started.
func isTaker(t *testing.T) bool {
	arguments := strings.Fields(os.Getenv(processEnv))
	if len(arguments) == 0 {
		return false
	}
	var takes int
	fmt.Sscan(arguments[0], &takes)
	runTaker(t, takes, arguments[1], arguments[2:])
	return true
}

// runTaker takes ranges in 8 goroutines, and prints each. One of them follows Leaf's statements, if there is one
// server: on several nodes, the driver's prepared statements hide rollbacks. If takes is 0, it ends when it is
// killed.
func runTaker(t *testing.T, takes int, dsn string, addresses []string) {
	db := open(t, dsn, addresses...)
	db.SetMaxOpenConns(4)
	timeout := time.Minute
	if takes == 0 {
		timeout = 2 * time.Second
	}
	source := segment.NewTable(db, segment.WithAttemptTimeout(timeout))
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			var end int64 // what this goroutine remembers
			for n := 0; takes == 0 || n < takes; {
				var taken segment.Range
				var err error
				size := []int64{0, 1, 7, 100, 0, 3, 1000, 0}[g]
				if g == 0 && len(addresses) == 1 {
					taken, err = takeLikeLeaf(context.Background(), sqlx.NewDb(db, "mysql"), tag, rand.Int64N(3)*11)
				} else {
					taken, err = source.Take(context.Background(), segment.Request{Tag: tag, Size: size, AtLeast: end})
				}
				if err != nil {
					fmt.Println("error", strings.ReplaceAll(err.Error(), "\n", " "))
					time.Sleep(rand.N(20 * time.Millisecond))
					continue
				}
				end = taken.First + taken.Length
				fmt.Println("range", taken.First, taken.Length)
				n++
			}
		})
	}
	all.Wait()
}

// takers is processes that take ranges.
type takers struct {
	numbers numbers
	total   atomic.Int64 // of numbers
	ranges  atomic.Int64

	mu     sync.Mutex
	errors map[string]int
	all    []*taker
}

type taker struct {
	cmd  *exec.Cmd
	read chan struct{} // closed when all that the process printed was checked
}

// startTakers starts processes. They are killed at the end of the test.
func startTakers(t *testing.T, processes, takes int, dsn string, addresses ...string) *takers {
	t.Helper()
	all := &takers{errors: map[string]int{}}
	t.Cleanup(all.kill)
	for range processes {
		all.start(t, takes, dsn, addresses...)
	}
	return all
}

func (p *takers) start(t *testing.T, takes int, dsn string, addresses ...string) *taker {
	t.Helper()
	name, _, _ := strings.Cut(t.Name(), "/")
	one := &taker{cmd: exec.Command(os.Args[0], "-test.run=^"+name+"$", "-test.count=1"), read: make(chan struct{})}
	one.cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d %s %s", processEnv, takes, dsn, strings.Join(addresses, " ")))
	one.cmd.Stderr = os.Stderr
	out, err := one.cmd.StdoutPipe()
	if err == nil {
		err = one.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	p.mu.Lock()
	p.all = append(p.all, one)
	p.mu.Unlock()
	go func() {
		defer close(one.read)
		w := p.numbers.set.Writer()
		for lines := bufio.NewScanner(out); lines.Scan(); {
			var taken segment.Range
			if _, err := fmt.Sscanf(lines.Text(), "range %d %d", &taken.First, &taken.Length); err == nil {
				taken.Stride = 1
				p.numbers.add(t, w, taken)
				p.total.Add(taken.Length)
				p.ranges.Add(1)
			} else if text, ok := strings.CutPrefix(lines.Text(), "error "); ok {
				p.mu.Lock()
				p.errors[text]++
				p.mu.Unlock()
			}
		}
	}()
	return one
}

// end waits until a process has ended.
func (one *taker) end() error {
	<-one.read
	return one.cmd.Wait()
}

// wait waits until all processes have ended.
func (p *takers) wait(t *testing.T) {
	t.Helper()
	for _, one := range p.all {
		if err := one.end(); err != nil {
			t.Error(err)
		}
	}
	p.all = nil
}

// kill kills all processes.
func (p *takers) kill() {
	for _, one := range p.all {
		one.cmd.Process.Kill()
		one.end()
	}
	p.all = nil
}

// more waits until there are n more ranges.
func (p *takers) more(t *testing.T, n int64) {
	t.Helper()
	want := p.ranges.Load() + n
	for deadline := time.Now().Add(time.Minute); p.ranges.Load() < want; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			p.mu.Lock()
			defer p.mu.Unlock()
			t.Fatalf("%d ranges are missing after a minute; the errors were %v", want-p.ranges.Load(), p.errors)
		}
	}
}

// Many processes with several goroutines, which ask for several sizes while the row's step changes, and which follow
// Leaf's statements, receive each number once: the numbers are exactly those up to max_id.
func TestTableProcesses(t *testing.T) {
	if isTaker(t) {
		return
	}
	s := mariadbtest.Start(t, "--max-connections=1000")
	name, db := database(t, s)
	insertTag(db, tag, 1, 50)
	all := startTakers(t, fullOr(64, 6), fullOr(30, 40), s.DSN("root", "", name), s.Address())
	for i := range 20 {
		all.more(t, int64(fullOr(64, 6)*8))
		db.MustExec("UPDATE leaf_alloc SET step = ?", 10+17*(i%4))
	}
	all.wait(t)
	all.mu.Lock()
	defer all.mu.Unlock()
	if len(all.errors) > 0 {
		t.Errorf("errors: %v", all.errors)
	}
	t.Logf("%d ranges, %d numbers", all.ranges.Load(), all.total.Load())
	if got := maxID(t, db, tag); got != all.total.Load()+1 || all.numbers.set.Len() != all.total.Load() {
		t.Errorf("max_id is %d, and %d numbers were handed out, %d different ones; want a difference of 1", got, all.total.Load(), all.numbers.set.Len())
	}
}

// The server and processes are killed, and stopped, while processes take ranges. No number is handed out twice.
func TestTableKills(t *testing.T) {
	if isTaker(t) {
		return
	}
	s := mariadbtest.Start(t, "--max-connections=1000")
	name, db := database(t, s)
	insertTag(db, tag, 1, 50)
	dsn := s.DSN("root", "", name)
	all := startTakers(t, 4, 0, dsn, s.Address())
	all.more(t, 50)
	for i := range fullOr(100, 5) {
		switch i % 3 {
		case 0:
			s.Kill()
			s.Restart()
		case 1: // a process, which may be in a transaction
			victim := all.all[0]
			all.all = all.all[1:]
			victim.cmd.Process.Kill()
			victim.end()
			all.start(t, 0, dsn, s.Address())
		default: // the server, and then a process
			signal(t, s, syscall.SIGSTOP)
			time.Sleep(20 * time.Millisecond)
			signal(t, s, syscall.SIGCONT)
			all.all[1].cmd.Process.Signal(syscall.SIGSTOP)
			time.Sleep(20 * time.Millisecond)
			all.all[1].cmd.Process.Signal(syscall.SIGCONT)
		}
		all.more(t, 30)
	}
	all.kill()
	t.Logf("%d ranges, %d numbers", all.ranges.Load(), all.total.Load())
	if got := maxID(t, db, tag); got <= all.total.Load() || all.numbers.set.Len() != all.total.Load() {
		t.Errorf("max_id is %d, and %d numbers were handed out, %d different ones; want max_id to be greater", got, all.total.Load(), all.numbers.set.Len())
	}
}

package takertest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/segment"
)

// Count returns how many processes a test starts.
func Count() int { return testkit.Size(6, 16) }

// Processes are copies of the test program that take ranges. The test calls RunProcess instead if ProcessArg is not empty.
type Processes struct {
	*Takers
	arg string
	all []*process
}

type process struct {
	*testkit.Child
	ready, ended chan struct{}
}

// StartProcesses starts n processes that take a number of ranges in each of their goroutines, or until they are killed if
// takes is 0. The tag must not exist yet: they begin together, when it does. arg is for them.
func StartProcesses(t *testing.T, n, takes int, arg string) *Processes {
	t.Helper()
	p := &Processes{Takers: New(t), arg: fmt.Sprint(takes, " ", arg)}
	for range n {
		p.start()
	}
	for _, one := range p.all {
		<-one.ready
	}
	t.Cleanup(p.KillAll) // before the Cleanup of each child
	return p
}

func (p *Processes) start() {
	one := &process{testkit.StartChild(p.tb, p.arg), make(chan struct{}), make(chan struct{})}
	p.all = append(p.all, one)
	go func() {
		defer close(one.ended)
		isReady := sync.OnceFunc(func() { close(one.ready) })
		defer isReady()
		w := p.set.Writer()
		for line := range one.Lines() {
			r := segment.Range{Stride: 1}
			if _, err := fmt.Sscanf(line, "range %d %d", &r.First, &r.Length); err == nil {
				p.add(w, r)
			} else if text, ok := strings.CutPrefix(line, "error "); ok {
				p.fail(text)
			} else if text, ok := strings.CutPrefix(line, "wrong "); ok {
				p.tb.Error(text)
			}
			isReady()
		}
	}()
}

// Replace kills the process that was started first, and starts another one.
func (p *Processes) Replace() {
	p.all[0].kill()
	p.all = p.all[1:]
	p.start()
}

// First returns the process that was started first.
func (p *Processes) First() *testkit.Child { return p.all[0].Child }

// Join waits until all processes have ended by themselves.
func (p *Processes) Join() {
	p.tb.Helper()
	for _, one := range p.all {
		<-one.ended
		if err := one.Wait(); err != nil {
			p.tb.Error(err)
		}
	}
	p.all = nil
}

// KillAll kills all processes. What they have written is counted.
func (p *Processes) KillAll() {
	for _, one := range p.all {
		one.kill()
	}
	p.all = nil
}

func (one *process) kill() {
	one.Process.Kill()
	<-one.ended
	one.Wait()
}

// ProcessArg returns the argument of a process that StartProcesses has started, and "" in others.
func ProcessArg() string {
	_, arg, _ := strings.Cut(testkit.ChildArg(), " ")
	return arg
}

// RunProcess takes ranges in 8 goroutines, and prints them. take calls Take of a source. Only goroutine 0 may ignore
// the size of a request, as Leaf's statements do.
func RunProcess(t *testing.T, take func(ctx context.Context, goroutine int, r segment.Request) (segment.Range, error)) {
	const greatestFailures = 1000 // in a row, if takes is limited
	var takes int
	fmt.Sscan(testkit.ChildArg(), &takes)
	for begun := false; !begun; time.Sleep(rand.N(100 * time.Millisecond)) {
		switch got, err := take(t.Context(), 1, segment.Request{Tag: Tag, Size: 1}); {
		case err == nil:
			begun = true
			fmt.Println("range", got.First, got.Length)
		case errors.Is(err, segment.ErrNoTag):
			fmt.Println("ready")
		default:
			fmt.Println("error", oneLine(err))
		}
	}
	var running sync.WaitGroup
	for g := range 8 {
		running.Go(func() {
			r := segment.Request{Tag: Tag}
			for n, failures := 0, 0; takes == 0 || n < takes && failures < greatestFailures; {
				r.Size = randomSize()
				ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute) // hundreds wait for one row
				got, err := take(ctx, g, r)
				cancel()
				switch {
				case err == nil:
					fmt.Println("range", got.First, got.Length)
					if got.First < r.AtLeast || r.Size > 0 && got.Length != r.Size && g > 0 {
						fmt.Printf("wrong Take(%+v) = %+v\n", r, got)
					}
					r.AtLeast = int64(g%2) * (got.First + got.Length) // half of them remember it
					n, failures = n+1, 0
				default:
					fmt.Println("error", oneLine(err))
					failures++
					// Not more often, because hundreds of goroutines would keep a server that starts again from doing so.
					time.Sleep(rand.N(time.Duration(min(failures, 25)) * 20 * time.Millisecond))
				}
			}
		})
	}
	running.Wait()
}

func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", " ") }

// TestProcesses checks that processes take all numbers from 1 on, and none twice. arg is the address of the store, and src
// a source of it. open returns one of a process.
func TestProcesses(t *testing.T, start func() (arg string, src segment.Creator), open func(arg string) segment.Source) {
	if arg := ProcessArg(); arg != "" {
		src := open(arg)
		RunProcess(t, func(ctx context.Context, _ int, r segment.Request) (segment.Range, error) { return src.Take(ctx, r) })
		return
	}
	arg, src := start()
	p := StartProcesses(t, Count(), 20, arg)
	Create(t, src)
	p.Join()
	p.CheckDense()
}

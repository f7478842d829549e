// Command guest runs in the virtual machine of clonetest. It takes UIDs from generators of each assigner, and writes a line for each
// UID to standard output, which is a serial port. It reads commands from standard input. Lines begin with a letter:
//
//	g NUMBER KIND TYPE GROUP    a generator: its assigner, Cached or Default, and plain or renewed
//	u NUMBER PHASE UID          a UID, with the phase that the generator was in when the take began
//	x NUMBER PHASE ERROR        the first error of takes in a phase
//	e NUMBER                    the assigner has extended the lease
//	v NUMBER                    the assigner has found that the grant is void
//	r NUMBER WRAPPED ERROR      Renew has returned: which error it wraps, or nil
//	c DRIFT                     how far the wall clock has moved, since the start, against the monotonic clock, in nanoseconds
//	d COMMAND                   a command is done
//
// The commands: copied sets the phase of all generators; renew calls Renew of the generators of the group renewed; close closes all;
// suspend suspends the machine to memory; a number sets the wall clock to that many seconds since 1970.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringuid/ringuid/bitsalloc"
	"github.com/ringuid/ringuid/internal/testkit/clonetest/setup"
	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

func main() {
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

func run() error {
	text, err := os.ReadFile("/setup.json")
	if err != nil {
		return err
	}
	var s setup.Setup
	if err := json.Unmarshal(text, &s); err != nil {
		return err
	}
	assigners, err := s.Assigners("/data")
	if err != nil {
		return err
	}
	var all []*generator
	for kind, create := range assigners {
		for _, cached := range []bool{true, false} {
			for _, group := range []string{"plain", "renewed"} {
				if kind == setup.StrictClock && group == "plain" {
					continue // as another one
				}
				g := &generator{Assigner: create(len(all)), number: len(all), renewed: group == "renewed"}
				if err := g.start(cached); err != nil {
					return fmt.Errorf("%s: %w", kind, err)
				}
				name := "Default"
				if cached {
					name = "Cached"
				}
				printLine("g %d %s %s %s", g.number, kind, name, group)
				all = append(all, g)
			}
		}
	}
	for _, g := range all {
		go g.take()
	}
	go printDrift()
	printLine("d start")
	for commands := bufio.NewScanner(os.Stdin); commands.Scan(); {
		command := strings.TrimSpace(commands.Text())
		go func() {
			if err := executeOnMachine(command); err != nil {
				log.Printf("%s: %v", command, err)
			}
			var done sync.WaitGroup
			for _, g := range all {
				done.Go(func() { g.execute(command) })
			}
			done.Wait()
			printLine("d %s", command)
		}()
	}
	return errors.New("standard input has ended")
}

// executeOnMachine executes a command that is for the machine. It ignores others.
func executeOnMachine(command string) error {
	if _, err := strconv.ParseInt(command, 10, 64); err == nil {
		return exec.Command("date", "-s", "@"+command).Run()
	}
	if command == "suspend" {
		return os.WriteFile("/sys/power/state", []byte("mem"), 0)
	}
	return nil
}

var printing sync.Mutex

// printLine prints a line. One write for each line keeps lines of several goroutines apart.
func printLine(format string, args ...any) {
	line := strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", " ") + "\n"
	printing.Lock()
	defer printing.Unlock()
	if _, err := os.Stdout.WriteString(line); err != nil {
		log.Fatal(err)
	}
}

// printDrift prints, again and again, how far the wall clock has moved against the monotonic clock: what a trigger on jumps of the
// clock would see.
func printDrift() {
	for start := time.Now(); ; time.Sleep(time.Second / 4) {
		now := time.Now()
		printLine("c %d", now.Round(0).Sub(start.Round(0))-now.Sub(start))
	}
}

// generator is a generator with its assigner, of which it watches the leases.
type generator struct {
	workerassign.Assigner
	uid.Generator
	number  int
	renewed bool         // its group
	phase   atomic.Int32 // see package setup
	isVoid  atomic.Bool
}

func (g *generator) start(cached bool) error {
	layout, err := bitsalloc.New(30, 20, 13)
	if err != nil {
		return err
	}
	logger := slog.New(slog.NewTextHandler(os.Stderr, nil)).With("generator", g.number)
	if cached {
		g.Generator, err = uid.NewCached(context.Background(), g, uid.WithLayout(layout), uid.WithLogger(logger))
	} else {
		g.Generator, err = uid.NewDefault(context.Background(), g, uid.WithLayout(layout), uid.WithLogger(logger))
	}
	return err
}

// Assign implements workerassign.Assigner. A generator that has found its grant void takes another lease after it has dropped all
// UIDs of the former one. So takes that begin after this call are in the phase Lost.
func (g *generator) Assign(ctx context.Context, r workerassign.Request) (workerassign.Lease, error) {
	if g.isVoid.Load() {
		g.raise(setup.Lost)
	}
	l, err := g.Assigner.Assign(ctx, r)
	if err != nil {
		return nil, err
	}
	return lease{l, g}, nil
}

// lease is a lease of a generator.
type lease struct {
	workerassign.Lease
	g *generator
}

func (l lease) Reserve(ctx context.Context, until time.Time) (workerassign.Grant, error) {
	granted, err := l.Lease.Reserve(ctx, until)
	switch {
	case err == nil:
		printLine("e %d", l.g.number)
	case errors.Is(err, workerassign.ErrVoid) && !l.g.isVoid.Swap(true):
		printLine("v %d", l.g.number)
	}
	return granted, err
}

// raise sets the phase, which never goes back.
func (g *generator) raise(phase int32) {
	for old := g.phase.Load(); old < phase && !g.phase.CompareAndSwap(old, phase); old = g.phase.Load() {
	}
}

// take takes UIDs until the generator is closed.
func (g *generator) take() {
	failed := map[int32]bool{}
	for ; ; time.Sleep(time.Second / 10) {
		phase := g.phase.Load()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		id, err := g.NextContext(ctx)
		cancel()
		switch {
		case errors.Is(err, uid.ErrClosed):
			return
		case err == nil:
			printLine("u %d %d %d", g.number, phase, int64(id))
		case !failed[phase] && !errors.Is(err, context.DeadlineExceeded):
			failed[phase] = true
			printLine("x %d %d %v", g.number, phase, err)
		}
	}
}

// execute executes a command.
func (g *generator) execute(command string) {
	switch {
	case command == "copied":
		g.raise(setup.Copied)
	case command == "renew" && g.renewed:
		err := g.Renew(context.Background())
		g.raise(setup.Renewed)
		switch {
		case err == nil:
			printLine("r %d nil", g.number)
		case errors.Is(err, workerassign.ErrRenewal):
			printLine("r %d ErrRenewal %v", g.number, err)
		case errors.Is(err, recycled.ErrClockSkew):
			printLine("r %d ErrClockSkew %v", g.number, err)
		default:
			printLine("r %d another %v", g.number, err)
		}
	case command == "close":
		if err := g.Close(); err != nil {
			log.Print(err)
		}
	}
}

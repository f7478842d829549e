//go:build unix

package fleettest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign"
)

// Kill kills the server many times in the middle of Assign, Reserve and Release, while generators run. No UID
// is generated twice. newAssigner returns another client of the store.
func Kill(t *testing.T, newAssigner func() workerassign.Assigner, kill, restart func()) {
	KillTimes(t, Kills(), newAssigner, kill, restart)
}

// KillTimes is Kill with a given number of kills.
func KillTimes(t *testing.T, kills int, newAssigner func() workerassign.Assigner, kill, restart func()) {
	f := New()
	for n := range 4 {
		f.Run(newAssigner(), n%2 == 0, time.Duration(n)*time.Second)
	}
	for range 3 {
		f.RunLeases(newAssigner())
	}
	idle, inCall := 0, [calls + 1]int{}
	for n := range kills {
		before, leases := f.generated.Load(), f.leases.Load()
		// The server is killed as soon as there are leases and UIDs again, at an unforeseen moment. A floor may delay
		// the UIDs.
		for end := time.Now().Add(20 * time.Second); (f.leases.Load() < leases+10 || f.generated.Load() == before) && time.Now().Before(end); {
			time.Sleep(time.Millisecond)
		}
		time.Sleep(rand.N(300 * time.Millisecond))
		if f.generated.Load() == before || f.leases.Load() < leases+10 {
			idle++
		}
		inCall[f.waitForCall(call(n)%calls)]++
		kill()
		restart()
	}
	t.Logf("the server was killed %d times, in the middle of %d calls of Assign, %d of Reserve and %d of Release", kills, inCall[callAssign], inCall[callReserve], inCall[callRelease])
	if kills >= 2*int(calls) && min(inCall[callAssign], inCall[callReserve], inCall[callRelease]) < kills/6 {
		t.Errorf("too few kills were in the middle of one of the calls, want at least %d", kills/6)
	}
	if idle > 0 {
		t.Errorf("the generators did not recover before %d of %d kills", idle, kills)
	}
	f.Check(t, int64(kills)*100)
}

// Pause pauses the server for longer than a grant: UIDs flow until its end, and then takes fail with
// uid.ErrLease, or wait for the lease as long as their contexts allow, if the store's call has not returned
// yet. When the server continues, so do the generators.
func Pause(t *testing.T, newAssigner func() workerassign.Assigner, pause, resume func()) {
	for _, cached := range []bool{true, false} {
		f := New()
		w := f.Writer()
		g, err := NewGenerator(t.Context(), newAssigner(), cached)
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		use := func(d time.Duration) (last time.Time, err error) {
			for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(time.Millisecond) {
				if takeErr := f.Take(w, g, 10); takeErr != nil {
					err = takeErr
				} else {
					last, err = time.Now(), nil
				}
			}
			return last, err
		}
		if _, err := use(300 * time.Millisecond); err != nil {
			t.Fatalf("cached %v: before the pause: %v", cached, err)
		}
		pause()
		paused := time.Now()
		last, err := use(3 * Horizon)
		resume()
		named := errors.Is(err, uid.ErrLease) || errors.Is(err, context.DeadlineExceeded) && strings.Contains(err.Error(), "the lease")
		if !named || last.Sub(paused) > Horizon+clockBound {
			t.Errorf("cached %v: UIDs flowed for %v of the pause, and then takes failed: %v; want at most %v, and ErrLease", cached, last.Sub(paused), err, Horizon+clockBound)
		}
		resumed := time.Now()
		for err = errors.New("no take"); err != nil && time.Since(resumed) < 30*time.Second; {
			_, err = use(10 * time.Millisecond)
		}
		if err != nil {
			t.Errorf("cached %v: %v after the pause: %v", cached, time.Since(resumed), err)
		}
		t.Logf("cached %v: UIDs flowed for %v of the pause, and again %v after it", cached, last.Sub(paused), time.Since(resumed))
		f.Check(t, 100)
	}
}

// processEnv is the address of the server, in the environment of the process that Stopped starts.
const processEnv = "RINGUID_TEST_PROCESS"

// StoppedProcess stops a process for longer than its lease, while another takes its slot. When it continues,
// it stamps nothing beyond its grant, takes another slot, and no UID is generated twice. The process is
// the test program with the test of t. newAssigner returns a client of the store at an address.
func StoppedProcess(t *testing.T, start func(t *testing.T) (address string), newAssigner func(t *testing.T, address string, opts ...workerassign.RecycledOption) workerassign.Assigner) {
	if address := os.Getenv(processEnv); address != "" {
		printUIDs(t, newAssigner(t, address, workerassign.WithNewPool()), os.Getenv(processEnv+"_KIND") == "cached")
		return
	}
	for _, kind := range []string{"cached", "default"} {
		t.Run(kind, func(t *testing.T) {
			p := process{t: t, fleet: New(), address: start(t), cached: kind == "cached"}
			p.run(newAssigner)
		})
	}
}

// process is one run of StoppedProcess.
type process struct {
	t       *testing.T
	fleet   *Fleet
	address string
	cached  bool
	uids    chan int64 // of the process
}

func (p *process) run(newAssigner func(t *testing.T, address string, opts ...workerassign.RecycledOption) workerassign.Assigner) {
	t, f := p.t, p.fleet
	cmd := p.start()
	defer cmd.Wait()
	defer cmd.Process.Kill()
	w := f.Writer()
	add := func(id int64) (unit, worker int64) {
		f.Add(w, uid.ID(id))
		unit, worker, _ = Layout().Split(id)
		return unit, worker
	}
	var worker int64
	for range 1000 {
		id, ok := <-p.uids
		if !ok {
			t.Fatal("the process has ended")
		}
		_, worker = add(id)
	}
	cmd.Process.Signal(syscall.SIGSTOP)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	g, err := NewGenerator(ctx, newAssigner(t, p.address, workerassign.WithWorkerID(worker)), p.cached) // waits until the slot is free
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	first, err := g.Next()
	if err != nil {
		t.Fatal(err)
	}
	f.Add(w, first)
	begin := g.Parse(first).Time
	cmd.Process.Signal(syscall.SIGCONT)
	own, others := 0, 0
	for end := time.After(4 * time.Second); end != nil; {
		select {
		case id := <-p.uids:
			unit, w := add(id)
			if w != worker {
				others++
				continue
			}
			own++
			if at := g.Format().Epoch().Add(time.Duration(unit) * time.Millisecond); !at.Before(begin) {
				t.Fatalf("the process stamped %v with worker ID %d after it had lost the slot; the next lease's first UID is of %v", at, worker, begin)
			}
		case <-end:
			end = nil
		default:
			f.Take(w, g, 10)
			time.Sleep(time.Millisecond)
		}
	}
	t.Logf("after it continued, the process generated %d UIDs with worker ID %d and %d with others; in all %s", own, worker, others, f.End())
	if others < 100 || f.duplicates.Load() != 0 {
		t.Errorf("%d UIDs with another worker ID, want at least 100; %d duplicates, want 0", others, f.duplicates.Load())
	}
}

// start starts the process, whose UIDs are sent to p.uids.
func (p *process) start() *exec.Cmd {
	name, _, _ := cutLast(p.t.Name(), '/')
	cmd := exec.Command(os.Args[0], "-test.run=^"+name+"$")
	kind := "default"
	if p.cached {
		kind = "cached"
	}
	cmd.Env = append(os.Environ(), processEnv+"="+p.address, processEnv+"_KIND="+kind)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.uids = make(chan int64, 1<<20)
	go func() {
		defer close(p.uids)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if id, err := strconv.ParseInt(lines.Text(), 10, 64); err == nil {
				p.uids <- id
			}
		}
	}()
	return cmd
}

// cutLast slices s around the last separator.
func cutLast(s string, separator byte) (before, after string, found bool) {
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] == separator {
			return s[:i], s[i+1:], true
		}
	}
	return s, "", false
}

// printUIDs generates UIDs until the process is killed. It prints each when it has been generated.
func printUIDs(t *testing.T, a workerassign.Assigner, cached bool) {
	g, err := NewGenerator(t.Context(), a, cached)
	if err != nil {
		t.Fatal(err)
	}
	for {
		for range 20 {
			id, err := g.Next()
			if err != nil {
				break // the lease was lost, and is replaced in the background
			}
			fmt.Println(int64(id))
		}
		time.Sleep(2 * time.Millisecond)
	}
}

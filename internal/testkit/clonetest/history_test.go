//go:build linux && amd64

package clonetest

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/clonetest/setup"
)

// history is what a machine has printed: the original, or a copy after its resume.
type history struct {
	tb      testing.TB
	name    string
	machine *machine

	mu         sync.Mutex
	generators []*generator
	done       map[string]bool // commands
	drifts     []time.Duration // of the wall clock against the monotonic clock
	bad        []string        // lines that have no meaning
}

// generator is what a machine has printed about one generator.
type generator struct {
	assigner, kind, group string
	taken                 map[int64]take
	inPhase               [setup.Renewed + 1]int
	extensions            int
	voidAt                time.Time                 // zero: not
	renewed               string                    // which error Renew has returned, or nil; "": it has not returned
	renewErr              string                    // its text
	failures              [setup.Renewed + 1]string // the first error of takes in each phase
	renewedAt             time.Time
}

// take is a UID that was taken.
type take struct {
	phase int
	at    time.Time // when its line was read
}

// run lets a machine run, and records what it prints. The generators of a copy are those of the original.
func run(tb testing.TB, name string, m *machine, original *history, partial string) *history {
	h := &history{tb: tb, name: name, machine: m, done: map[string]bool{}}
	if original != nil {
		for _, g := range original.generators {
			h.generators = append(h.generators, newGenerator(g.assigner, g.kind, g.group))
		}
	}
	m.resume(partial, h.add)
	return h
}

func newGenerator(assigner, kind, group string) *generator {
	return &generator{assigner: assigner, kind: kind, group: group, taken: map[int64]take{}}
}

// String returns what identifies the generator.
func (g *generator) String() string { return g.assigner + " " + g.kind + " " + g.group }

// add records a line.
func (h *history) add(line string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.parse(line) && len(h.bad) < 10 {
		h.bad = append(h.bad, line)
	}
}

func (h *history) parse(line string) bool {
	kind, rest, _ := strings.Cut(line, " ")
	switch kind {
	case "d":
		h.done[rest] = true
		return true
	case "c":
		var drift time.Duration
		_, err := fmt.Sscan(rest, &drift)
		h.drifts = append(h.drifts, drift)
		return err == nil
	}
	var n, phase int
	if _, err := fmt.Sscan(rest, &n); err != nil || n < 0 {
		return false
	}
	_, rest, _ = strings.Cut(rest, " ")
	if kind == "g" {
		fields := strings.Fields(rest)
		if n != len(h.generators) || len(fields) != 3 {
			return false
		}
		h.generators = append(h.generators, newGenerator(fields[0], fields[1], fields[2]))
		return true
	}
	if n >= len(h.generators) {
		return kind == "e" // it is being started
	}
	g, now := h.generators[n], time.Now()
	if kind == "u" || kind == "x" {
		if _, err := fmt.Sscan(rest, &phase); err != nil || phase < 0 || phase > setup.Renewed {
			return false
		}
		_, rest, _ = strings.Cut(rest, " ")
	}
	switch kind {
	case "u":
		var id int64
		if _, err := fmt.Sscan(rest, &id); err != nil {
			return false
		}
		if _, twice := g.taken[id]; twice {
			h.bad = append(h.bad, fmt.Sprintf("%v returned %d twice", g, id))
		}
		g.taken[id] = take{phase, now}
		g.inPhase[phase]++
	case "x":
		g.failures[phase] = rest
	case "e":
		g.extensions++
	case "v":
		g.voidAt = now
	case "r":
		g.renewed, g.renewErr, _ = strings.Cut(rest, " ")
		g.renewedAt = now
	default:
		return false
	}
	return true
}

// await waits until holds returns true for each generator that is chosen. Nothing is added meanwhile.
func (h *history) await(what string, chosen func(*generator) bool, holds func(*generator) bool) {
	h.tb.Helper()
	testkit.Retry(h.tb, h.name+": "+what, func() error {
		h.mustRun()
		h.mu.Lock()
		defer h.mu.Unlock()
		for _, g := range h.generators {
			if chosen(g) && !holds(g) {
				return fmt.Errorf("not %v: %d UIDs by phase, void at %v, errors %q", g, g.inPhase, g.voidAt, g.failures)
			}
		}
		return nil
	})
}

// mustRun fails the test if the machine has ended, for example because the program in the guest has failed.
func (h *history) mustRun() {
	h.tb.Helper()
	if !h.machine.Running() {
		h.tb.Fatalf("%s has ended", h.name)
	}
}

// awaitDone waits until the guest has executed a command.
func (h *history) awaitDone(command string) {
	h.tb.Helper()
	testkit.Eventually(h.tb, h.name+": "+command, func() bool {
		h.mustRun()
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.done[command]
	})
}

// execute sends a command, and waits until the guest has executed it.
func (h *history) execute(command string) {
	h.tb.Helper()
	h.machine.command(command)
	h.awaitDone(command)
}

// suspend suspends a machine for some seconds, as an operating system does. A trigger on jumps of the clock would find that it was
// copied.
func (h *history) suspend() {
	h.tb.Helper()
	h.machine.command("suspend")
	h.machine.awaitStatus("suspended")
	const duration = 3 * time.Second
	time.Sleep(duration)
	h.machine.must("system_wakeup", nil)
	h.awaitDone("suspend")
	var drift time.Duration
	testkit.Eventually(h.tb, "the wall clock jumps", func() bool {
		h.mustRun()
		h.mu.Lock()
		defer h.mu.Unlock()
		drift = h.drifts[len(h.drifts)-1]
		return drift > duration/2
	})
	h.tb.Logf("%s was suspended for %v; its wall clock moved against its monotonic clock by %v", h.name, duration, drift)
}

// checkLines fails the test if a line had no meaning, or if one generator has returned a UID twice.
func (h *history) checkLines() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, line := range h.bad {
		h.tb.Errorf("%s: %s", h.name, line)
	}
}

package proof

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
)

// sizeEnv is the name of the environment variable that says what to check: "small" or "full". Without it, the models are
// not run, because that takes all CPUs for a minute.
const sizeEnv = "RINGUID_PROOF"

// A search is what the model checker looks for.
type search int

const (
	safety    search = iota // assertions, and what holds when no process can continue
	noCycle                 // no process runs endlessly without progress, whatever the others do
	fairClaim               // the claim at the end of the model, with weak fairness: each process that can continue does so at some time
)

// A config is a configuration of a model: its defines, and what is searched for.
type config struct {
	name    string
	model   string // the file
	defines string // separated by spaces
	search  search
	full    bool   // for make proof-full only
	pan     string // more arguments for the checker
}

// A mutant is a configuration of a model that is broken on purpose by a define.
type mutant struct {
	name     string // what is broken
	define   string
	property string // the property that it violates
	config   config // the configuration in which that is found
	want     string // what the checker's message must contain
}

// An outcome is what the checker has found.
type outcome struct {
	errors   int
	message  string // of the first violation
	complete bool
	states   int64
	depth    int
	memory   float64 // MB
	elapsed  time.Duration
}

var (
	errorsPattern = regexp.MustCompile(`errors: (\d+)`)
	statesPattern = regexp.MustCompile(`(?m)^\s*(\d+(?:\.\d+)?(?:e\+\d+)?) states, stored`)
	depthPattern  = regexp.MustCompile(`depth reached (\d+)`)
	memoryPattern = regexp.MustCompile(`(?m)^\s*(\d+\.\d+)\s+total actual memory usage`)
	violated      = regexp.MustCompile(`(?m)^pan:\d+: (.*)$`)
)

// check runs the model checker on a configuration.
func check(t *testing.T, c config, mutation string) outcome {
	t.Helper()
	for _, program := range []string{"spin", "gcc"} {
		if _, err := exec.LookPath(program); err != nil {
			testkit.Missing(t, program+" is not installed")
		}
	}
	dir := t.TempDir()
	model, err := filepath.Abs(c.model)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	args := []string{"-a"}
	for define := range strings.FieldsSeq(c.defines + " " + mutation) {
		args = append(args, "-D"+define)
	}
	compile := []string{"-w", "-o", "pan", "pan.c", "-DVECTORSZ=512", "-DMEMLIM=8000"}
	search := []string{"-m100000", "-E"} // -E: the model itself checks the states in which no process can continue
	switch c.search {
	case safety:
		compile = append(compile, "-DSAFETY", "-DNOFAIR")
	case noCycle:
		args = append(args, "-DCYCLES")
		compile = append(compile, "-DNP", "-DNOFAIR")
		search = append(search, "-l")
	case fairClaim:
		args = append(args, "-DCYCLES", "-DLIVE")
		compile = append(compile, "-DNFAIR=3")
		search = append(search, "-a", "-f")
	}
	optimization := "-O1"
	if mutation != "" && !c.full {
		optimization = "-O0" // compiling takes longer than the search
	}
	if c.full {
		optimization = "-O2"
		compile = append(compile, "-DCOLLAPSE") // it requires less memory
	}
	run(t, dir, "spin", append(args, model)...)
	run(t, dir, "gcc", append(compile, optimization)...)
	text := run(t, dir, "./pan", append(search, strings.Fields(c.pan)...)...)

	o := outcome{elapsed: time.Since(began)}
	number := func(p *regexp.Regexp) float64 {
		m := p.FindStringSubmatch(text)
		if m == nil {
			t.Fatalf("the checker has printed nothing like %q:\n%s", p, text)
		}
		n, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	o.errors, o.states = int(number(errorsPattern)), int64(number(statesPattern))
	o.depth, o.memory = int(number(depthPattern)), number(memoryPattern)
	if m := violated.FindStringSubmatch(text); m != nil {
		o.message = m[1]
	}
	o.complete = !strings.Contains(text, "Search not completed") && !strings.Contains(text, "search depth too small")
	return o
}

// run runs a program in dir and returns what it prints.
func run(t *testing.T, dir, program string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Hour)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil && program != "./pan" {
		t.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// table collects the lines of a table, for the tests that run in parallel.
type table struct {
	mu    sync.Mutex
	lines map[string]string
}

func (tb *table) add(key, format string, args ...any) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	if tb.lines == nil {
		tb.lines = map[string]string{}
	}
	tb.lines[key] = fmt.Sprintf(format, args...)
}

// write writes the table with the given order of its lines.
func (tb *table) write(head string, keys []string) {
	var out bytes.Buffer
	w := tabwriter.NewWriter(&out, 0, 0, 1, ' ', 0)
	fmt.Fprintln(w, head)
	for _, key := range keys {
		if line := tb.lines[key]; line != "" {
			fmt.Fprintln(w, line)
		}
	}
	w.Flush()
	os.Stdout.Write(out.Bytes())
}

// skipUnlessAsked skips a test unless make proof or make proof-full runs it.
func skipUnlessAsked(t *testing.T) (full bool) {
	t.Helper()
	switch size := os.Getenv(sizeEnv); size {
	case "small":
	case "full":
		full = true
	case "":
		t.Skip("it takes a minute of both cores: make proof runs it, and so does make test if the models have changed")
	default:
		t.Fatalf("%s is %q; must be small or full", sizeEnv, size)
	}
	return full
}

// All properties hold in all configurations.
func TestModels(t *testing.T) {
	full := skipUnlessAsked(t)
	var tb table
	var names []string
	t.Run("all", func(t *testing.T) {
		for _, c := range configs {
			if c.full != full {
				continue
			}
			names = append(names, c.name)
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				o := check(t, c, "")
				t.Logf("%d errors, %d states, %.1f s: %s", o.errors, o.states, o.elapsed.Seconds(), o.message)
				tb.add(c.name, "| %s\t| %s\t| %d\t| %d\t| %.0f\t| %.1f\t|", c.name, c.describe(), o.states, o.depth, o.memory, o.elapsed.Seconds())
				if o.errors != 0 || !o.complete {
					t.Errorf("%d errors, complete: %v; %s", o.errors, o.complete, cmp.Or(o.message, "no message"))
				}
			})
		}
	})
	tb.write("| configuration\t| defines\t| states\t| depth\t| MB\t| s\t|\n| ---\t| ---\t| ---:\t| ---:\t| ---:\t| ---:\t|", names)
}

// Each mutant is refuted, with a violation of its property.
func TestMutants(t *testing.T) {
	full := skipUnlessAsked(t)
	var tb table
	var names []string
	t.Run("all", func(t *testing.T) {
		for _, m := range mutants {
			if m.config.full != full {
				continue
			}
			name := strings.TrimSuffix(m.config.model, ".pml") + " " + m.define + " " + m.property
			names = append(names, name)
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				o := check(t, m.config, m.define)
				t.Logf("%d errors, %d states, %.1f s: %s", o.errors, o.states, o.elapsed.Seconds(), o.message)
				tb.add(name, "| %s\t| %s\t| %d\t| %d\t| %.1f\t|", m.name, m.property, o.states, o.depth, o.elapsed.Seconds())
				if o.errors == 0 || !strings.Contains(o.message, m.want) {
					t.Errorf("%s: %d errors, %q in %d states; want a violation of %q that contains %q", m.name, o.errors, o.message, o.states, m.property, m.want)
				}
			})
		}
	})
	tb.write("| mutant\t| violates\t| states\t| depth\t| s\t|\n| ---\t| ---\t| ---:\t| ---:\t| ---:\t|", names)
}

// describe returns the defines of a configuration, and what is searched for.
func (c config) describe() string {
	return strings.ReplaceAll(c.defines, " ", ", ") + [...]string{"", " (cycles)", " (weak fairness)"}[c.search]
}

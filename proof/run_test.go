package proof

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
)

// sizeEnv is the name of the environment variable that says what to check: "small" or "full". Without it, the small
// configurations are checked, unless checkedFile says that they were: that takes all CPUs for a minute.
const sizeEnv = "RINGUID_PROOF"

// checkedFile has a checksum of all files that a search depends on, as they were when all small configurations passed. TestModels writes it.
const checkedFile = "checked.txt"

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

// printTable prints a table, without the rows of tests that did not run.
func printTable(head string, rows []string) {
	var out bytes.Buffer
	w := tabwriter.NewWriter(&out, 0, 0, 1, ' ', 0)
	fmt.Fprintln(w, head)
	for _, row := range rows {
		if row != "" {
			fmt.Fprintln(w, row)
		}
	}
	w.Flush()
	os.Stdout.Write(out.Bytes())
}

// toCheck reports whether the models must be checked, and whether in the large configurations.
func toCheck(t *testing.T) (must, full bool) {
	t.Helper()
	switch size := os.Getenv(sizeEnv); size {
	case "small":
	case "full":
		return true, true
	case "":
		checked, err := os.ReadFile(checkedFile)
		if err != nil {
			t.Fatal(err)
		}
		if strings.TrimSpace(string(checked)) == sources(t) {
			t.Log("the models, their configurations and the functions that they stand for are those that were checked, see", checkedFile)
			return false, false
		}
		testkit.Slow(t, "the models have changed, and it takes a minute of all CPUs")
	default:
		t.Fatalf("%s is %q; must be small or full", sizeEnv, size)
	}
	return true, false
}

// sources returns a checksum of the models, their configurations, and the checksums of the functions that they stand for.
func sources(t *testing.T) string {
	t.Helper()
	h := sha256.New()
	for _, pattern := range []string{"*.pml", "*_test.go", modelledFile} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatal(pattern, err)
		}
		for _, name := range files { // in lexical order
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintln(h, name, len(text))
			h.Write(text)
		}
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

// All properties hold in all configurations, and each mutant is refuted, with a violation of its property.
func TestModels(t *testing.T) {
	must, full := toCheck(t)
	if !must {
		return
	}
	var checked, refuted []string // the rows of the tables
	t.Run("models", func(t *testing.T) {
		for _, c := range configs {
			if c.full != full {
				continue
			}
			row := len(checked)
			checked = append(checked, "")
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				o := check(t, c, "")
				checked[row] = fmt.Sprintf("| %s\t| %s\t| %d\t| %d\t| %.0f\t| %.1f\t|", c.name, c.describe(), o.states, o.depth, o.memory, o.elapsed.Seconds())
				if o.errors != 0 || !o.complete {
					t.Errorf("%d errors, complete: %v; %s", o.errors, o.complete, cmp.Or(o.message, "no message"))
				}
			})
		}
	})
	t.Run("mutants", func(t *testing.T) {
		for _, m := range mutants {
			if m.config.full != full {
				continue
			}
			name := strings.TrimSuffix(m.config.model, ".pml") + " " + m.define + " " + m.property
			row := len(refuted)
			refuted = append(refuted, "")
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				o := check(t, m.config, m.define)
				refuted[row] = fmt.Sprintf("| %s\t| %s\t| %d\t| %d\t| %.1f\t|", m.name, m.property, o.states, o.depth, o.elapsed.Seconds())
				if o.errors == 0 || !strings.Contains(o.message, m.want) {
					t.Errorf("%s: %d errors, %q in %d states; want a violation of %q that contains %q", m.name, o.errors, o.message, o.states, m.property, m.want)
				}
			})
		}
	})
	printTable("| configuration\t| defines\t| states\t| depth\t| MB\t| s\t|\n| ---\t| ---\t| ---:\t| ---:\t| ---:\t| ---:\t|", checked)
	printTable("| mutant\t| violates\t| states\t| depth\t| s\t|\n| ---\t| ---\t| ---:\t| ---:\t| ---:\t|", refuted)
	if all := !slices.Contains(checked, "") && !slices.Contains(refuted, ""); all && !full && !t.Failed() { // -run can leave out some
		if err := os.WriteFile(checkedFile, []byte(sources(t)+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// describe returns the defines of a configuration, and what is searched for.
func (c config) describe() string {
	return strings.ReplaceAll(c.defines, " ", ", ") + [...]string{"", " (cycles)", " (weak fairness)"}[c.search]
}

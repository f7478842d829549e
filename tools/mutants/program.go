package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// mostMemory is how much address space a test program may use, in KiB. A mutant that requests more and more fails then.
const mostMemory = 8 << 20

// program is a test program of a package.
type program struct {
	path, directory string // it runs in the directory of the package
}

// compile compiles the tests of a package with other texts of some of its files.
func compile(p *goPackage, texts map[string][]byte, dir string) (program, error) {
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for name, text := range texts {
		other := filepath.Join(dir, name)
		if err := os.WriteFile(other, text, 0o600); err != nil {
			return program{}, err
		}
		overlay.Replace[filepath.Join(p.directory, name)] = other
	}
	text, err := json.Marshal(overlay)
	if err != nil {
		return program{}, err
	}
	description, path := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "tests")
	if err := os.WriteFile(description, text, 0o600); err != nil {
		return program{}, err
	}
	out, err := exec.Command("go", "test", "-c", "-vet=off", "-overlay", description, "-o", path, p.path).CombinedOutput()
	if err != nil {
		return program{}, fmt.Errorf("compiling the tests of %s: %w\n%s", p.path, err, out)
	}
	return program{path, p.directory}, nil
}

// tests returns the names of the tests, examples and fuzz tests of the program.
func (p program) tests() (names []string, err error) {
	cmd := exec.Command(p.path, "-test.list", "^(Test|Example|Fuzz)")
	cmd.Dir = p.directory
	out, err := cmd.Output()
	return strings.Fields(string(out)), err
}

// ending is how a run of tests ended.
type ending struct {
	passed, hung bool
	tests        []string // those that failed, or that ran when it hung, as far as known
	output       []byte
	took         time.Duration
}

var (
	failedPattern  = regexp.MustCompile(`(?m)^--- FAIL: (\w+)`)
	runningPattern = regexp.MustCompile(`(?m)^\t\t?((?:Test|Example|Fuzz)\w*)(?:/\S*)? \(`)
)

// run runs some of the short tests, or all of them if none is named, with additional variables of the environment. Tests that have
// not ended within the limit hang.
func (p program) run(tests []string, limit time.Duration, variables ...string) (e ending, err error) {
	dir, err := openTemp("t")
	if err != nil {
		return e, err
	}
	defer os.RemoveAll(dir)
	pattern := "."
	if len(tests) > 0 {
		pattern = "^(" + strings.Join(tests, "|") + ")$"
	}
	// The program ends itself when the time is over, and says what ran. The context is for one that cannot.
	ctx, cancel := context.WithTimeout(context.Background(), limit+10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", `ulimit -v "$0" && exec "$@"`, fmt.Sprint(mostMemory), p.path,
		"-test.short", "-test.failfast", "-test.paniconexit0", "-test.run", pattern, "-test.timeout", limit.String())
	cmd.Dir = p.directory
	cmd.Env = append(os.Environ(), append(variables, "TMPDIR="+dir)...)
	cmd.WaitDelay = time.Second // for processes that the tests have left
	inGroup(cmd)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	began := time.Now()
	err = cmd.Run()
	e = ending{passed: err == nil, took: time.Since(began), output: out.Bytes()}
	killGroup(cmd)
	if cmd.ProcessState == nil {
		return e, err
	}
	e.tests = namesIn(failedPattern, e.output)
	if ctx.Err() != nil || bytes.Contains(e.output, []byte("panic: test timed out after ")) {
		// If a test has failed before another one hung, it is the one to look at: it takes less time.
		if e.hung = len(e.tests) == 0; e.hung {
			e.tests = namesIn(runningPattern, e.output)
		}
	}
	return e, nil
}

// namesIn returns what a pattern finds in an output, each once.
func namesIn(pattern *regexp.Regexp, output []byte) (names []string) {
	for _, m := range pattern.FindAllSubmatch(output, -1) {
		if name := string(m[1]); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// openTemp makes a temporary directory that is open as /tmp is, because some tests start processes of other users. The name is short,
// because the path of a socket must be short.
func openTemp(prefix string) (dir string, err error) {
	if dir, err = os.MkdirTemp("", prefix); err != nil {
		return "", err
	}
	return dir, os.Chmod(dir, 0o777|os.ModeSticky)
}

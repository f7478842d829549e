package cli

import (
	"bytes"
	"context"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"
)

// A result is what a command line has printed and returned.
type result struct {
	status         int
	stdout, stderr string
	isLate         bool // a worker ID was not released in time; stderr has no line about it
}

// run runs a command line. env has the variables of the environment, as NAME=value; the state is in a directory of the test.
func run(t *testing.T, stdin string, env []string, args ...string) result {
	t.Helper()
	return runReading(t, strings.NewReader(stdin), env, args...)
}

// runReading is run with another standard input.
func runReading(t *testing.T, stdin io.Reader, env []string, args ...string) result {
	t.Helper()
	variables := map[string]string{"XDG_STATE_HOME": t.TempDir()}
	var environ []string
	for _, e := range env {
		environ = append(environ, e)
		name, value, _ := strings.Cut(e, "=")
		variables[name] = value
	}
	var stdout, stderr bytes.Buffer
	asks := false
	a := &App{
		Context: context.Background(), Stdin: stdin, Stdout: &stdout, Stderr: &stderr,
		LookupEnv: func(name string) (string, bool) {
			value, ok := variables[name]
			return value, ok
		},
		Environ: environ,
		now:     func() time.Time { return time.Date(2026, 11, 22, 4, 30, 0, 0, time.UTC) },
		asks:    &asks,
	}
	if variables["TEST_ASKS"] != "" {
		asks = true
	}
	status := a.execute(args)
	return result{status, stdout.String(), late.ReplaceAllString(stderr.String(), ""), late.MatchString(stderr.String())}
}

// late is what a command says if its store has not released a worker ID within five seconds, because the disk is slow: it has succeeded
// nevertheless.
var late = regexp.MustCompile(`(?m)^.*(was not released|was not given back).*(context deadline exceeded|no answer within|still running after).*\n`)

// fails checks that a command line fails with a status, prints nothing on standard output, and says the text.
func fails(t *testing.T, status int, text string, env []string, args ...string) {
	t.Helper()
	r := run(t, "", env, args...)
	if r.status != status || r.stdout != "" || !strings.Contains(r.stderr, text) {
		t.Errorf("ringuid %q: status %d, stdout %q, stderr %q\nwant status %d, nothing on stdout, and %q", args, r.status, r.stdout, r.stderr, status, text)
	}
}

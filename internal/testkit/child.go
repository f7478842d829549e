package testkit

import (
	"bufio"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
)

// childEnv is the name of the environment variable with the argument of a child.
const childEnv = "RINGUID_TEST_CHILD"

// Child is another process of the test program, which runs only the test that has started it. The test calls ChildArg to
// find out in which process it runs. A child ends with the test that started it.
type Child struct {
	*exec.Cmd
	tb     testing.TB
	out    *bufio.Reader
	killed atomic.Bool // by Kill
}

// ChildArg returns the argument of this process if StartChild has started it, and "" otherwise.
func ChildArg() string { return os.Getenv(childEnv) }

// StartChild starts a child with an argument, which must not be empty, and with additional environment variables. What the child
// writes to standard error is that of the test.
func StartChild(tb testing.TB, arg string, env ...string) *Child {
	tb.Helper()
	return StartChildWith(tb, nil, arg, env...)
}

// StartChildWith is StartChild for a program that runs the test program, such as an emulator: command is its name and its
// arguments.
func StartChildWith(tb testing.TB, command []string, arg string, env ...string) *Child {
	tb.Helper()
	name, _, _ := strings.Cut(tb.Name(), "/")
	command = append(command[:len(command):len(command)], os.Args[0], "-test.run=^"+name+"$", "-test.count=1",
		fmt.Sprintf("-test.short=%v", testing.Short()))
	c := &Child{Cmd: exec.Command(command[0], command[1:]...), tb: tb}
	c.Env = append(append(os.Environ(), childEnv+"="+arg), env...)
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		tb.Fatal(err)
	}
	c.out = bufio.NewReader(out)
	tb.Cleanup(func() {
		c.Process.Kill()
		c.Wait()
	})
	return c
}

// Lines returns the complete lines that the child writes to standard output, until it ends, without those that package
// testing writes at its end. Then Wait returns how it has ended.
func (c *Child) Lines() iter.Seq[string] {
	return func(yield func(string) bool) {
		for {
			line, err := c.out.ReadString('\n')
			if err != nil {
				return
			}
			line = strings.TrimSuffix(line, "\n")
			isTestings := line == "PASS" || line == "FAIL" || strings.HasPrefix(line, "coverage: ")
			if !isTestings && !yield(line) {
				return
			}
		}
	}
}

// Line returns the next of Lines. It fails the test if there is none.
func (c *Child) Line() string {
	c.tb.Helper()
	for line := range c.Lines() {
		return line
	}
	c.tb.Fatalf("the child has ended: %v", c.Wait())
	return ""
}

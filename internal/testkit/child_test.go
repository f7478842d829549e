//go:build unix

package testkit

import (
	"fmt"
	"io"
	"os"
	"slices"
	"testing"
	"time"
)

func TestChild(t *testing.T) {
	if arg := ChildArg(); arg != "" {
		fmt.Println(arg)
		fmt.Println(os.Getenv("RINGUID_TEST_MORE"))
		fmt.Println("coverage: 1.0% of statements") // as package testing does with -cover
		if arg == "waits" {
			fmt.Print("incomplete")
			time.Sleep(time.Hour)
		}
		return
	}
	c := StartChild(t, "first", "RINGUID_TEST_MORE=second")
	if line := c.Line(); line != "first" {
		t.Errorf("Line() = %q", line)
	}
	if lines := slices.Collect(c.Lines()); !slices.Equal(lines, []string{"second"}) {
		t.Errorf("Lines() = %q", lines)
	}
	if err := c.Wait(); err != nil {
		t.Error(err)
	}
	// What a child has written when it is killed is still read, but no part of a line.
	c = StartChild(t, "waits")
	c.Line()
	c.Line()
	c.Pause()
	c.Resume()
	c.Process.Kill()
	if lines := slices.Collect(c.Lines()); len(lines) != 0 {
		t.Errorf("Lines() = %q", lines)
	}
	if rest, err := io.ReadAll(c.out); len(rest) != 0 || err != nil {
		t.Errorf("%q, %v", rest, err)
	}
	if err := c.Wait(); err == nil {
		t.Error("Wait of a child that was killed returned no error")
	}
}

// RunChildren calls its function with the lines of all children. A child that fails fails the test, unless it was killed.
func TestRunChildren(t *testing.T) {
	if arg := ChildArg(); arg != "" {
		fmt.Println(arg)
		switch arg {
		case "killed":
			time.Sleep(time.Hour)
		case "fails":
			os.Exit(1)
		}
		return
	}
	got := map[int]string{}
	RunChildren(t, []string{"killed", "first", "second"}, func(n int, c *Child, line string) {
		got[n] += line
		if n == 0 {
			c.Kill()
		}
	})
	if len(got) != 3 || got[0] != "killed" || got[1] != "first" || got[2] != "second" {
		t.Errorf("the children wrote %q", got)
	}
	failed := &failingTB{TB: t}
	RunChildren(failed, []string{"fails"}, func(int, *Child, string) {})
	if failed.text != "child 0: exit status 1" {
		t.Errorf("a child that fails: %q", failed.text)
	}
}

// failingTB records the failure of a test.
type failingTB struct {
	testing.TB
	text string
}

func (o *failingTB) Errorf(format string, args ...any) { o.text = fmt.Sprintf(format, args...) }

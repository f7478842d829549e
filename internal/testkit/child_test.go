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
	c.Continue()
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

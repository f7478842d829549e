package sample

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"testing/synctest"
	"time"
)

func equal[T comparable](t *testing.T, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestConstants(t *testing.T) {
	t.Parallel()
	equal(t, limit, 18)
	equal(t, first, -1)
	equal(t, wide, 255)
	equal(t, len(table{}), 15)
	equal(t, spare > 0, true)
}

func TestVariables(t *testing.T) {
	t.Parallel()
	equal(t, early, 4)
	equal(t, pause, 5000*time.Microsecond)
	equal(t, started, true)
}

func TestIntegers(t *testing.T) {
	t.Parallel()
	equal(t, integers(3, 9), -7)
	counts, u := map[string]int{"all": 3}, uint8(255)
	count(counts, &u)
	equal(t, counts["all"], 2)
	equal(t, u, 0)
	equal(t, least(2, 3), 2)
	equal(t, least(name("b"), "a"), "a")
	equal(t, half(0), false)
}

func TestFloats(t *testing.T) {
	t.Parallel()
	equal(t, floats(3), 7.25)
}

func TestBools(t *testing.T) {
	t.Parallel()
	equal(t, isLong(2*time.Second), true)
	equal(t, isLong(time.Second), false)
	equal(t, isShort(time.Second), false)
	equal(t, isEnd(fmt.Errorf("with %w", io.EOF)), true)
	equal(t, isEnd(nil), false)
}

func TestWait(t *testing.T) {
	wait(6)
}

// The functions also run in a bubble of package synctest.
func TestBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Hour)
		equal(t, integers(0, 0), 0)
	})
}

func TestChild(t *testing.T) {
	const role = "SAMPLE_CHILD"
	if os.Getenv(role) != "" {
		os.Exit(child(42))
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestChild$")
	cmd.Env = append(os.Environ(), role+"=1")
	err := cmd.Run()
	equal(t, cmp.Or(err, error(nil)).Error(), "exit status 40")
}

func Example() {
	for _, n := range []int{-1, 2, 3, 4, 255} {
		fmt.Printf("%q ", describe(n))
	}
	// Output:
	// "" "small," "small,three" "" "wide"
}

package choice

import (
	"slices"
	"strings"
	"testing"
)

// change lets the program make a change, until the test ends.
func change(t *testing.T, n int) {
	t.Cleanup(func() { made = 0 })
	made = n
}

// The change with the number is made, and no other one.
func TestOf(t *testing.T) {
	for n, want := range []string{"<", "<", "<=", ">=", "<"} {
		change(t, n)
		if got := Of(2, "<", "<=", ">="); got != want {
			t.Errorf("the change %d: %s, want %s", n, got, want)
		}
		if got := Made(3); got != (n == 3) {
			t.Errorf("the change %d: Made(3) = %v", n, got)
		}
	}
}

// Each operator does what Go's does.
func TestOperators(t *testing.T) {
	for _, c := range [][2]int{{1, 2}, {2, 2}, {3, 2}} {
		x, y := c[0], c[1]
		for operator, want := range map[string]bool{"<": x < y, "<=": x <= y, ">": x > y, ">=": x >= y} {
			if got := Ordered(x, y, operator); got != want {
				t.Errorf("%d %s %d = %v", x, operator, y, got)
			}
		}
	}
	for operator, want := range map[string]int{"+": 9, "-": 5, "*": 14, "/": 3, "%": 1} {
		if got := Integer(7, 2, operator); got != want {
			t.Errorf("7 %s 2 = %d", operator, got)
		}
	}
	for operator, want := range map[string]float64{"+": 9, "-": 5, "*": 14, "/": 3.5} {
		if got := Float(7.0, 2.0, operator); got != want {
			t.Errorf("7.0 %s 2.0 = %g", operator, got)
		}
	}
}

// An unknown operator and an invalid number panic: otherwise a mutant would seem to live.
func TestPanics(t *testing.T) {
	for name, call := range map[string]func(){
		"Ordered": func() { Ordered(1, 2, "+") }, "Integer": func() { Integer(1, 2, "<") }, "Float": func() { Float(1.0, 2.0, "%") },
		"text": func() { number("x") }, "zero": func() { number("0") }, "great": func() { number("16384") }, "path": func() { recordTo("/does/not/exist") },
	} {
		func() {
			defer func() {
				if text, ok := recover().(string); !ok || !strings.HasPrefix(text, "choice: ") {
					t.Errorf("%s: panic %q", name, text)
				}
			}()
			call()
		}()
	}
	if got := []int{number(""), number("1"), number("16383")}; !slices.Equal(got, []int{0, 1, Most}) {
		t.Error("numbers:", got)
	}
}

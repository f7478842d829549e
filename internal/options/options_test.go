package options

import (
	"fmt"
	"testing"
)

// Options that are nil are reported, and the others are applied in their order.
func TestApply(t *testing.T) {
	var got []string
	fail := func(format string, args ...any) { got = append(got, fmt.Sprintf(format, args...)) }
	Apply([]func(string){func(s string) { got = append(got, s+"1") }, nil, func(s string) { got = append(got, s+"2") }},
		func(o func(string)) { o("f") }, fail)
	Apply([]fmt.Stringer{nil, text("i")}, func(o fmt.Stringer) { got = append(got, o.String()) }, fail)
	if want := "[f1 an option is nil; must not be nil f2 an option is nil; must not be nil i]"; fmt.Sprint(got) != want {
		t.Errorf("%q, want %q", fmt.Sprint(got), want)
	}
}

type text string

func (t text) String() string { return string(t) }

// Package sample has operators of all kinds. The comments say what the test of command mutants expects: for each operator of the line,
// what it becomes, and the status.
package sample

import (
	"errors"
	"io"
	"time"
)

const (
	limit = 9 * 2    // / KILLED
	spare = 2 + 1    // - LIVED
	first = -1       // + KILLED
	wide  = 1<<8 - 1 // + KILLED
)

var _ uint8 = 255 - 0 + 0 // + LIVED, - LIVED

var _ uint8 = 254 - 1 // + LIVED

var _ uint8 = 255 - 1 // + NOT VIABLE

// They are calculated before any test.
var (
	early = three() + 1          // - KILLED
	pause = 5 * time.Millisecond // / KILLED
)

var started bool

func init() {
	started = three() > 2 // >= LIVED, <= KILLED
}

func three() int { return 3 }

// table is as long as a constant.
type table [limit - 3]uint8 // + KILLED

func describe(n int) (text string) {
	switch {
	case n < 4 && // <= KILLED, >= KILLED
		n != first: // == KILLED
		text = "small" + "," // - NOT VIABLE
	case n == wide: // != KILLED
		text = "wide"
	}
	switch n {
	case 2 + 1: // - KILLED
		text += "three"
	case len(text) - 2: // + LIVED
		text += "length"
	}
	return text
}

func integers(n int, u uint8) int {
	n++                        // -- KILLED
	for i := 0; i*i < 4; i++ { // / KILLED, <= KILLED, >= KILLED, -- KILLED
		n -= i
	}
	return -n*2 + // + KILLED, / KILLED, - KILLED
		n%5 - // * KILLED, + KILLED
		int(u/2) // * KILLED
}

func floats(f float64) float64 {
	return f/2 + // * KILLED, - KILLED
		-f + // + KILLED, - KILLED
		3*f - 0.5*0.5 // / KILLED, + KILLED, / KILLED
}

func count(counts map[string]int, u *uint8) {
	counts["all"]-- // ++ KILLED
	*u++            // -- KILLED
}

// flag is a bool with a name, which no bool can be assigned to.
type flag bool

func isLong(d time.Duration) flag {
	return d >= 2*time.Second // > KILLED, < KILLED, / KILLED
}

func isShort(d time.Duration) flag {
	return d != time.Second // == KILLED
}

type name string

func least[T int | name](x, y T) T {
	if x < y { // <= LIVED, >= KILLED
		return x
	}
	return y
}

// isEnd compares interfaces.
func isEnd(err error) bool {
	return err != nil && errors.Unwrap(err) == io.EOF // == KILLED, != KILLED
}

// wait waits permanently with a change.
func wait(n int) {
	if n > 7 { // >= LIVED, <= TIMED OUT
		<-make(chan int)
	}
}

// child is called in another process only.
func child(n int) int {
	return n - 2 // + KILLED
}

// half evaluates its second operand only if n is positive, which no test has.
func half(n int) bool {
	return n > 0 && n/2 == 1 // >= LIVED, <= LIVED, * LIVED, != LIVED
}

// nobody is never called.
func nobody(n int) int {
	return n + 1 // - NOT COVERED
}

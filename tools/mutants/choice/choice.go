// Package choice makes one of many changes in a program. Command mutants rewrites the operators of a package into calls of this
// package, compiles its tests once, and runs them with the number of one change in the environment. Without a number, the program
// does what it did before.
//
// The number is read before any code of the rewritten package runs. Processes that the tests start inherit it. All functions may be
// called concurrently.
package choice

import (
	"cmp"
	"os"
	"strconv"
)

const (
	// Number is the environment variable with the number of the change that is made, from 1 on. None is made if it is empty.
	Number = "MUTANT_NUMBER"
	// Reached is the environment variable with the path of a file that NewRecording has written. If it is not empty, the number of each
	// change whose operator is evaluated is recorded there.
	Reached = "MUTANT_REACHED"
	// Most is the greatest number.
	Most = 1<<14 - 1
)

// These are global, because the calls are all over the rewritten package, also in the initialization of its variables.
var (
	made    = number(os.Getenv(Number))
	reached = recordTo(os.Getenv(Reached))
)

// number parses a number. It panics if that is invalid, so that no test runs without the change that it was to have.
func number(text string) int {
	if text == "" {
		return 0
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > Most {
		panic("choice: invalid number " + strconv.Quote(text))
	}
	return n
}

// Made reports whether the change n is made.
func Made(n int) bool {
	if reached != nil {
		reached[n].Store(1)
	}
	return n == made
}

// Of returns the first operator, or the one of a change: the changes from first on replace it by the other operators.
func Of(first int, operators ...string) string {
	for i, operator := range operators[1:] {
		if Made(first + i) {
			return operator
		}
	}
	return operators[0]
}

// Ordered compares x with y.
func Ordered[T cmp.Ordered](x, y T, operator string) bool {
	switch operator {
	case "<":
		return x < y
	case "<=":
		return x <= y
	case ">":
		return x > y
	case ">=":
		return x >= y
	}
	panic("choice: no comparison: " + operator)
}

// IntegerType is the constraint of integers.
type IntegerType interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr
}

// Integer returns the result of an operator for two integers.
func Integer[T IntegerType](x, y T, operator string) T {
	switch operator {
	case "+":
		return x + y
	case "-":
		return x - y
	case "*":
		return x * y
	case "/":
		return x / y
	case "%":
		return x % y
	}
	panic("choice: no operator for integers: " + operator)
}

// Float returns the result of an operator for two floating-point numbers.
func Float[T ~float32 | ~float64](x, y T, operator string) T {
	switch operator {
	case "+":
		return x + y
	case "-":
		return x - y
	case "*":
		return x * y
	case "/":
		return x / y
	}
	panic("choice: no operator for floating-point numbers: " + operator)
}

package workerassign

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// binary is what a worker ID should be: the outermost wrapper's number first, each in so many
// binary digits, then the store's in what is left.
func binaryDigits(fields []int64, widths []int) string {
	var s strings.Builder
	for i, f := range fields {
		fmt.Fprintf(&s, "%0*b", widths[i], f)
	}
	return s.String()
}

// FuzzNested nests Divide and Prefix as the bytes say, three for each wrapper, outermost first,
// and compares worker IDs with digits written one after the other.
func FuzzNested(f *testing.F) {
	f.Add(int64(1023), []byte{0, 2, 0}, int64(0))
	f.Add(int64(1<<22-1), []byte{1, 5, 3, 0, 2, 0, 0, 3, 0}, int64(4711))
	f.Add(int64(math.MaxInt64), []byte{0, 61, 0}, int64(3))
	f.Add(int64(math.MaxInt64), []byte{1, 61, 255, 0, 1, 0}, int64(1))
	f.Add(int64(1023), []byte{0, 1, 0, 1, 2, 3, 0, 2, 0}, int64(0))
	f.Add(int64(1), []byte{0, 1, 0}, int64(0))
	f.Add(int64(1000), []byte{1, 9, 0}, int64(-1))
	f.Add(int64(-1), []byte{0, 0, 0, 1, 200, 7}, int64(math.MaxInt64))
	f.Fuzz(func(t *testing.T, most int64, wrappers []byte, first int64) {
		var (
			a    Assigner = countFrom(first)
			left          = 63 // the greatest n for which 2^n-1 is at most most
		)
		for left > 0 && math.MaxInt64>>(63-left) > most {
			left--
		}
		var (
			valid   = most >= 1
			fields  []int64
			widths  []int
			divides []int // which of the fields count parts
		)
		for ; len(wrappers) >= 3 && len(widths) < 8; wrappers = wrappers[3:] {
			kind, width, prefix := wrappers[0], int(int8(wrappers[1])), int64(wrappers[2])
			valid = valid && width >= 1 && width <= maxWrapperBits && width < left
			left -= width
			if kind%2 == 0 {
				divides, prefix = append(divides, len(fields)), 0
			} else if valid {
				valid = prefix < 1<<width
			}
			fields, widths = append(fields, prefix), append(widths, width)
		}
		if len(widths) == 0 {
			return
		}
		for i := len(widths) - 1; i >= 0; i-- {
			if slices.Contains(divides, i) {
				a = Divide(a, widths[i])
			} else {
				a = Prefix(a, fields[i], widths[i])
			}
		}
		seen := map[int64]bool{}
		number := first
		for range 40 {
			l, err := a.Assign(context.Background(), Request{MaxWorkerID: most})
			fits := valid && number >= 0 && number < 1<<left
			if !fits {
				want := ErrWidth
				if !valid {
					want = ErrOption
				}
				if l != nil || !errors.Is(err, want) {
					t.Fatalf("%v, %v; want %v", l, err, want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			id := l.WorkerID()
			if got, want := fmt.Sprintf("%b", id), strings.TrimLeft(binaryDigits(append(fields, number), append(widths, left)), "0"); got != want && (id != 0 || want != "") {
				t.Fatalf("worker ID %s, want %s", got, want)
			}
			if id < 0 || id > most || seen[id] {
				t.Fatalf("worker ID %d came twice, or is beyond %d", id, most)
			}
			seen[id] = true
			if n, all := l.(CountingLease).Remaining(most); n < 0 || all < n || all > most {
				t.Fatalf("%d left of %d, the greatest is %d", n, all, most)
			}
			// The outermost Divide counts all its parts of one, then the next one counts; then
			// comes the store's next number.
			carry := true
			for _, i := range divides {
				if fields[i]++; fields[i] < 1<<widths[i] {
					carry = false
					break
				}
				fields[i] = 0
			}
			if carry {
				number++
			}
		}
	})
}

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

// binaryDigits returns the expected worker ID in binary. Each field is written with its width: first
// the numbers of the wrappers, the outermost first, then the number of the store.
func binaryDigits(fields []int64, widths []int) string {
	var s strings.Builder
	for i, f := range fields {
		fmt.Fprintf(&s, "%0*b", widths[i], f)
	}
	return s.String()
}

// FuzzNested nests Divide and Prefix and compares the worker IDs with those of binaryDigits. The fuzzed
// bytes choose the wrappers: three bytes for each wrapper, the outermost first.
func FuzzNested(f *testing.F) {
	f.Add(int64(1023), []byte{0, 2, 0}, int64(0))
	f.Add(int64(1<<22-1), []byte{1, 5, 3, 0, 2, 0, 0, 3, 0}, int64(4711))
	f.Add(int64(math.MaxInt64), []byte{0, 61, 0}, int64(3))
	f.Add(int64(math.MaxInt64), []byte{1, 61, 255, 0, 1, 0}, int64(1))
	f.Add(int64(1023), []byte{0, 1, 0, 1, 2, 3, 0, 2, 0}, int64(0))
	f.Add(int64(1), []byte{0, 1, 0}, int64(0))
	f.Add(int64(1000), []byte{1, 9, 0}, int64(-1))
	f.Add(int64(-1), []byte{0, 0, 0, 1, 200, 7}, int64(math.MaxInt64))
	f.Fuzz(func(t *testing.T, maxID int64, wrappers []byte, first int64) {
		var (
			a    Assigner = countFrom(first)
			left          = 63 // the greatest n for which 2^n-1 is not greater than maxID
		)
		for left > 0 && math.MaxInt64>>(63-left) > maxID {
			left--
		}
		var (
			valid   = maxID >= 1
			fields  []int64
			widths  []int
			divides []int // the indexes of the fields that are part numbers
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
			l, err := a.Assign(context.Background(), Request{MaxWorkerID: maxID})
			fits := valid && number >= 0 && number < 1<<left
			if !fits {
				want := ErrWidth
				if !valid {
					want = ErrOption
				}
				if l != nil || !errors.Is(err, want) {
					t.Fatalf("Assign() = %v, %v; want %v", l, err, want)
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
			if id < 0 || id > maxID || seen[id] {
				t.Fatalf("worker ID %d was assigned twice, or is not from 0 to %d", id, maxID)
			}
			seen[id] = true
			if g, err := l.Reserve(t.Context(), Unbounded()); err != nil || g.Remaining < 0 || g.Total < g.Remaining || g.Total > maxID {
				t.Fatalf("%d left of %d, %v; the greatest worker ID is %d", g.Remaining, g.Total, err, maxID)
			}
			// The part number of the outermost Divide is incremented first. When it overflows, that of
			// the next Divide is incremented, and so on. Last comes the number of the store.
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

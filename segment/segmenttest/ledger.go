package segmenttest

import (
	"cmp"
	"math"
	"slices"
	"sync"

	"github.com/ringuid/ringuid/segment"
)

// stride returns the distance of two numbers of a range.
func stride(r segment.Range) int64 { return max(r.Stride, 1) }

// last returns the last number of a range that checkRange has accepted.
func last(r segment.Range) int64 { return r.First + (r.Length-1)*stride(r) }

// checkRange checks a range by the request for it.
func (t *sourceTest) checkRange(r segment.Request, got segment.Range) {
	t.Helper()
	switch {
	case got.First < 0 || got.Length < 1 || got.Stride < 0 || got.Step < 0 || got.Step > segment.MaxStep:
		t.Errorf("Take(%+v) returned the range %+v; no field may be negative, Length must be at least 1, and Step at most %d", r, got, int64(segment.MaxStep))
	case got.First > segment.MaxNumber || (got.Length-1) > (segment.MaxNumber-got.First)/stride(got):
		t.Errorf("Take(%+v) returned the range %+v, whose last number is greater than %d", r, got, int64(segment.MaxNumber))
	case got.First < r.AtLeast:
		t.Errorf("Take(%+v) returned the range %+v, whose first number is below AtLeast", r, got)
	case r.Size > 0 && got.Length > r.Size:
		t.Errorf("Take(%+v) returned the range %+v; its length must be at most the size that was asked for", r, got)
	}
}

// checkLength checks the length of a range of a tag that has numbers enough.
func (t *sourceTest) checkLength(r segment.Request, got segment.Range, step int64) {
	t.Helper()
	want := cmp.Or(r.Size, step)
	if got.Length > want || got.Length < want && !t.h.MayReturnFewer {
		t.Errorf("Take(%+v) of a tag whose step is %d returned %d numbers; want %d", r, step, got.Length, want)
	}
	if got.Step != 0 && got.Step != step {
		t.Errorf("Take(%+v) returned a range with the step %d; want %d, the tag's step, or 0", r, got.Step, step)
	}
}

// ledger has all ranges of one tag that a test has received. It is safe for concurrent use.
type ledger struct {
	mu     sync.Mutex
	ranges []segment.Range
}

// add adds a range.
func (l *ledger) add(r segment.Range) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ranges = append(l.ranges, r)
}

// count returns how many ranges there are.
func (l *ledger) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.ranges)
}

// end returns the greatest number plus 1; 0 if there is none.
func (l *ledger) end() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	var end int64
	for _, r := range l.ranges {
		end = max(end, last(r)+1)
	}
	return end
}

// check fails the test if a number is in two ranges. The check is exact.
func (l *ledger) check(t *sourceTest) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	sorted := slices.SortedFunc(slices.Values(l.ranges), func(a, b segment.Range) int { return cmp.Compare(a.First, b.First) })
	end := int64(math.MinInt64) // the greatest last number of the ranges before
	var before segment.Range
	var others []segment.Range // ranges with a stride, whose numbers are compared one by one
	for _, r := range sorted {
		if r.First <= end && stride(r) == 1 && stride(before) == 1 {
			t.Errorf("the number %d was handed out twice: the ranges %+v and %+v have it", r.First, before, r)
			return
		}
		if last(r) > end {
			end, before = last(r), r
		}
		if stride(r) > 1 {
			others = sorted
		}
	}
	seen := map[int64]segment.Range{}
	for _, r := range others {
		for n := range r.Length {
			number := r.First + n*stride(r)
			if other, twice := seen[number]; twice {
				t.Errorf("the number %d was handed out twice: the ranges %+v and %+v have it", number, other, r)
				return
			}
			seen[number] = r
		}
	}
}

// checkDense fails the test if there is a gap between start and the greatest number, although no call has
// failed. Sources with a stride hand out some numbers only.
func (l *ledger) checkDense(t *sourceTest, start int64) {
	t.Helper()
	l.check(t)
	l.mu.Lock()
	defer l.mu.Unlock()
	var numbers, end int64
	for _, r := range l.ranges {
		if stride(r) > 1 {
			return
		}
		numbers += r.Length
		end = max(end, last(r)+1)
	}
	if !t.Failed() && numbers != end-start {
		t.Errorf("%d numbers from %d to %d were handed out; want all %d, because no call failed", numbers, start, end-1, end-start)
	}
}

package segment

import (
	"errors"
	"math"
	"testing"
)

// strides are those of the tests: small ones, powers of two and their neighbors, and those near the end of 63 bits.
func strides() []int64 {
	s := []int64{1, 2, 3, 4, 5, 7, 8, 10, 1000, 1023, maxStripes, 1 << 31, 1<<31 + 1, math.MaxInt64/2 - 1, math.MaxInt64 - 1, math.MaxInt64}
	for bit := 1; bit < 63; bit++ {
		s = append(s, 1<<bit-1, 1<<bit, 1<<bit+1)
	}
	return s
}

// checkRun checks that the first and the last integer of the run of r are encoded exactly.
func checkRun(t *testing.T, r Range) {
	t.Helper()
	e := newEncoding(r.Stride)
	run, err := e.run(r)
	if err != nil {
		if q := r.First / r.Stride; !errors.Is(err, ErrExhausted) || q <= e.mask {
			t.Errorf("%+v: error %v, want a run", r, err)
		}
		return
	}
	if run.First < 0 || run.Length < 1 || run.Length > r.Length || run.First > math.MaxInt64-(run.Length-1) {
		t.Fatalf("%+v has the run %+v", r, run)
	}
	if run.Length < r.Length && r.First/r.Stride+run.Length-1 != e.mask {
		t.Errorf("%+v has the run %+v, which is too short", r, run)
	}
	for _, i := range []int64{0, 1, run.Length / 2, run.Length - 1} {
		if i >= run.Length {
			continue
		}
		v := run.First + i
		if r.Stride != 1 { // Next does not call number then
			v = e.number(v)
		}
		if want := r.First + i*r.Stride; v != want {
			t.Errorf("%+v: number %d is %d, want %d", r, i, v, want)
		}
	}
}

func TestEncodingOfAllResidues(t *testing.T) {
	for _, stride := range strides() {
		for _, residue := range []int64{0, 1, 2, stride / 2, stride - 2, stride - 1} {
			if residue < 0 || residue >= stride {
				continue
			}
			last := (MaxNumber - residue) / stride // the greatest quotient
			mask := newEncoding(stride).mask
			for _, q := range []int64{0, 1, last / 2, mask - 1, mask, mask + 1, last - 1, last} {
				if q < 0 || q > last {
					continue
				}
				for _, length := range []int64{1, 2, 1000, last - q + 1} {
					if length >= 1 && length <= last-q+1 {
						checkRun(t, Range{First: q*stride + residue, Length: length, Stride: stride})
					}
				}
			}
		}
	}
}

// Strides that are a power of two lose no number.
func TestEncodingOfPowersOfTwoReachesTheEnd(t *testing.T) {
	for bit := 0; bit < 63; bit++ {
		stride := int64(1) << bit
		if run, err := newEncoding(stride).run(Range{First: MaxNumber, Length: 1, Stride: stride}); err != nil || run.Length != 1 {
			t.Errorf("stride %d: %+v, %v; want a run of the last number", stride, run, err)
		}
	}
}

// Runs of different residues have no integer in common.
func TestEncodingKeepsResiduesApart(t *testing.T) {
	for _, stride := range []int64{2, 3, 5, 8, 9} {
		e := newEncoding(stride)
		for residue := range stride {
			first, err1 := e.run(Range{First: residue, Length: 1, Stride: stride})
			last, err2 := e.run(Range{First: e.mask*stride + residue, Length: 1, Stride: stride})
			if err1 != nil || err2 != nil {
				t.Fatal(err1, err2)
			}
			if first.First>>e.shift != residue || last.First>>e.shift != residue {
				t.Errorf("stride %d: residue %d has the integers %d to %d", stride, residue, first.First, last.First)
			}
		}
	}
}

func FuzzEncoding(f *testing.F) {
	f.Add(int64(1), int64(1), int64(1))
	f.Add(int64(math.MaxInt64-1), int64(1), int64(3))
	f.Add(int64(0), int64(1), int64(math.MaxInt64))
	f.Add(int64(7), int64(1<<40), int64(1024))
	f.Fuzz(func(t *testing.T, first, length, stride int64) {
		if first < 0 || first > MaxNumber || length < 1 || stride < 1 || length-1 > (MaxNumber-first)/stride {
			return // no range
		}
		checkRun(t, Range{First: first, Length: length, Stride: stride})
	})
}

package segment

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/ringuid/ringuid/ringbuffer"
)

// encoding maps the numbers of ranges with a stride to consecutive integers, which a ring requires: the number
// q*stride+residue is residue<<shift | q.
type encoding struct {
	stride int64
	shift  uint
	mask   int64
}

// newEncoding returns the encoding for a stride, which is at least 1.
func newEncoding(stride int64) encoding {
	n := uint(bits.Len64(uint64(stride - 1))) // for the residues 0 to stride-1
	return encoding{stride: stride, shift: 63 - n, mask: math.MaxInt64 >> n}
}

// run returns the run of a range. The greatest numbers of a stride that is no power of two have no encoding: then the
// range ends before them, or the tag has no numbers left.
func (e encoding) run(r Range) (ringbuffer.Run, error) {
	if e.stride == 1 {
		return ringbuffer.Run{First: r.First, Length: r.Length}, nil
	}
	q, residue := r.First/e.stride, r.First%e.stride
	if q > e.mask {
		return ringbuffer.Run{}, fmt.Errorf("%w: with stride %d, the numbers end at %d", ErrExhausted, e.stride, e.mask*e.stride+residue)
	}
	return ringbuffer.Run{First: residue<<e.shift | q, Length: min(r.Length, e.mask-q+1)}, nil
}

// number returns the number of an integer of the ring.
func (e encoding) number(v int64) int64 {
	return (v&e.mask)*e.stride + v>>e.shift
}

// decode is number for any stride.
func (e *encoding) decode(v int64) int64 {
	if e.stride != 1 {
		return e.number(v)
	}
	return v
}

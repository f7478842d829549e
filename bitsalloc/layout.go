package bitsalloc

import "fmt"

// maxBits is the greatest sum of the widths: a UID is an int64 that is not negative.
const maxBits = 63

// maxWidth is the greatest width of a field, if the other two have one bit each.
const maxWidth = maxBits - 2

// Layout is the number of bits of each field of a UID. It is a value: two layouts are equal (==) when
// their widths are, and it is safe for concurrent use. New, Default and ParseLayout return valid
// layouts. The zero Layout is not valid: its widths are 0, and no part fits.
type Layout struct {
	timeBits, workerBits, sequenceBits uint8
}

// New returns the layout with the given widths in bits. Each must be at least 1, and their sum at most
// 63. Otherwise the error wraps ErrLayout and names the widths.
func New(timeBits, workerBits, sequenceBits int) (Layout, error) {
	for _, f := range []struct {
		name  string
		width int
	}{{"time", timeBits}, {"worker", workerBits}, {"sequence", sequenceBits}} {
		// The maximum of one width prevents an overflow of the sum of three.
		if f.width < 1 || f.width > maxWidth {
			return Layout{}, fmt.Errorf("%w: %d time, %d worker and %d sequence bits: %s bits must be from 1 to %d",
				ErrLayout, timeBits, workerBits, sequenceBits, f.name, maxWidth)
		}
	}
	if sum := timeBits + workerBits + sequenceBits; sum > maxBits {
		return Layout{}, fmt.Errorf("%w: %d time, %d worker and %d sequence bits are %d in all; must be at most %d next to the sign bit",
			ErrLayout, timeBits, workerBits, sequenceBits, sum, maxBits)
	}
	return Layout{uint8(timeBits), uint8(workerBits), uint8(sequenceBits)}, nil
}

// Default returns the default layout, 1-28-22-13: 8.5 years of seconds, 4,194,303 starts, and 8,192
// UIDs per second and worker.
func Default() Layout { return Layout{28, 22, 13} }

// IsZero reports whether the layout is the zero value, which is not valid.
func (l Layout) IsZero() bool { return l == Layout{} }

// TimeBits returns the width of the time field.
func (l Layout) TimeBits() int { return int(l.timeBits) }

// WorkerBits returns the width of the worker field.
func (l Layout) WorkerBits() int { return int(l.workerBits) }

// SequenceBits returns the width of the sequence field.
func (l Layout) SequenceBits() int { return int(l.sequenceBits) }

// MaxDelta returns the last time unit that fits.
func (l Layout) MaxDelta() int64 { return 1<<(l.timeBits&63) - 1 }

// MaxWorkerID returns the greatest worker ID that fits.
func (l Layout) MaxWorkerID() int64 { return 1<<(l.workerBits&63) - 1 }

// MaxSequence returns the greatest sequence that fits.
func (l Layout) MaxSequence() int64 { return 1<<(l.sequenceBits&63) - 1 }

// MaxUID returns the greatest UID of the layout, which has all bits of its fields set.
func (l Layout) MaxUID() int64 {
	return 1<<((l.timeBits+l.workerBits+l.sequenceBits)&63) - 1
}

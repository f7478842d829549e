package bitsalloc

// Allocate makes a UID of its parts. A part that is negative or does not fit its field is a
// *RangeError that names it; of the zero Layout the error is ErrLayout. With an error the
// UID is 0, and not to be used. It does not allocate unless it fails.
func (l Layout) Allocate(delta, workerID, sequence int64) (int64, error) {
	// Invariant 5 is kept here. As unsigned numbers, negative ones are beyond any bound.
	if uint64(delta) > uint64(l.MaxDelta()) || uint64(workerID) > uint64(l.MaxWorkerID()) ||
		uint64(sequence) > uint64(l.MaxSequence()) || l.IsZero() {
		return 0, l.refuse(delta, workerID, sequence)
	}
	return l.AllocateUnchecked(delta, workerID, sequence), nil
}

// refuse says which part does not fit.
func (l Layout) refuse(delta, workerID, sequence int64) error {
	switch {
	case l.IsZero():
		return ErrLayout
	case uint64(delta) > uint64(l.MaxDelta()):
		return &RangeError{Field: "delta", Value: delta, Max: l.MaxDelta(), Layout: l}
	case uint64(workerID) > uint64(l.MaxWorkerID()):
		return &RangeError{Field: "worker ID", Value: workerID, Max: l.MaxWorkerID(), Layout: l}
	}
	return &RangeError{Field: "sequence", Value: sequence, Max: l.MaxSequence(), Layout: l}
}

// AllocateUnchecked is Allocate for callers that have checked the parts, or the first and
// the last of a span of them: a few shifts that the compiler inlines. It checks nothing:
// parts that do not fit spill into each other, and invariant 5 is the caller's to keep.
func (l Layout) AllocateUnchecked(delta, workerID, sequence int64) int64 {
	return delta<<((l.workerBits+l.sequenceBits)&63) | workerID<<(l.sequenceBits&63) | sequence
}

// Split takes a UID apart: the inverse of Allocate. Of a number that is no UID of the layout
// (Contains tells), it returns what the fields hold, and what lies above them is not looked
// at.
func (l Layout) Split(uid int64) (delta, workerID, sequence int64) {
	return uid >> ((l.workerBits + l.sequenceBits) & 63) & l.MaxDelta(),
		uid >> (l.sequenceBits & 63) & l.MaxWorkerID(),
		uid & l.MaxSequence()
}

// Contains tells whether a number is a UID of the layout: not negative, and without a bit
// above its fields.
func (l Layout) Contains(uid int64) bool { return uid >= 0 && uid <= l.MaxUID() && !l.IsZero() }

package bitsalloc

// Allocate returns the UID that has the given parts. If a part is negative or does not fit its field,
// the error is a *RangeError that names it. For the zero Layout the error is ErrLayout. With an error
// the UID is 0 and must not be used. Allocate allocates memory only if it fails.
func (l Layout) Allocate(delta, workerID, sequence int64) (int64, error) {
	// Invariant 5. Converted to unsigned, negative numbers are greater than every maximum.
	if uint64(delta) > uint64(l.MaxDelta()) || uint64(workerID) > uint64(l.MaxWorkerID()) ||
		uint64(sequence) > uint64(l.MaxSequence()) || l.IsZero() {
		return 0, l.rangeError(delta, workerID, sequence)
	}
	return l.AllocateUnchecked(delta, workerID, sequence), nil
}

// rangeError returns the error for parts that do not fit.
func (l Layout) rangeError(delta, workerID, sequence int64) error {
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

// AllocateUnchecked is Allocate for callers that have checked the parts, or the first and the last of
// a range of them. It is a few shifts that the compiler inlines. It checks nothing: parts that do not
// fit overflow into each other, and the caller is responsible for invariant 5.
func (l Layout) AllocateUnchecked(delta, workerID, sequence int64) int64 {
	return delta<<((l.workerBits+l.sequenceBits)&63) | workerID<<(l.sequenceBits&63) | sequence
}

// Split returns the parts of a UID. It is the inverse of Allocate. For a number that is not a UID of the
// layout (see Contains), it returns what the fields contain, and ignores the bits above them.
func (l Layout) Split(uid int64) (delta, workerID, sequence int64) {
	return uid >> ((l.workerBits + l.sequenceBits) & 63) & l.MaxDelta(),
		uid >> (l.sequenceBits & 63) & l.MaxWorkerID(),
		uid & l.MaxSequence()
}

// Contains reports whether a number is a UID of the layout: not negative, and with no bit set above its
// fields.
func (l Layout) Contains(uid int64) bool { return uid >= 0 && uid <= l.MaxUID() && !l.IsZero() }

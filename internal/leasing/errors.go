package leasing

import (
	"errors"
	"fmt"
)

// Package uid exports these errors under the same names.
var (
	// ErrLease is returned when a lease cannot be taken, extended or released.
	ErrLease = errors.New("uid: lease")

	// ErrWorkerID is returned for a worker ID that is negative or does not fit the layout.
	ErrWorkerID = errors.New("uid: worker ID out of range")

	// ErrTimeExhausted is returned when the time bits are exhausted.
	ErrTimeExhausted = errors.New("uid: the time bits are exhausted")
)

// ErrRenewed is why the leases are dropped that Renew of a generator replaces. Package uid does not export it.
var ErrRenewed = fmt.Errorf("%w: it was dropped by Renew, and another one is not assigned yet", ErrLease)

// leaseError returns an error that wraps ErrLease and what the assigner returned. None of the
// generator's own errors can be found in the latter.
func (m *Manager) leaseError(action string, err error) error {
	return fmt.Errorf("%w: %s: %w", ErrLease, action, m.cfg.Mask(err))
}

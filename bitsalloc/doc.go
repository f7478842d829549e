// Package bitsalloc is the arithmetic of UIDs: how their bits are divided between time, worker ID and
// sequence (Layout), how time is counted (TimeBase), and how parts become a UID and a UID becomes
// parts. It knows neither clocks nor generators; uid.Format reads and writes UIDs of a fleet.
// doc/layout.md says how wide the fields should be.
//
//	layout, err := bitsalloc.New(28, 22, 13)
//	if err != nil {
//		return err
//	}
//	id, err := layout.Allocate(delta, workerID, sequence)
//
// A layout is written as the widths of its fields in bits, sign-time-worker-sequence. The default is
// 1-28-22-13:
//
//	 63 62                          35 34                    13 12           0
//	┌──┬──────────────────────────────┬────────────────────────┬──────────────┐
//	│0 │ delta: 28 bits               │ worker ID: 22 bits     │ seq: 13 bits │
//	└──┴──────────────────────────────┴────────────────────────┴──────────────┘
//
// The sum of the widths may be less than 63: then UIDs are shorter, and the bits above them are 0. If it
// is 53 or less, JavaScript reads UIDs as numbers without rounding.
//
// This package enforces invariant 5 of doc/internals/design.md, section 4: a UID is never negative, and no field
// overflows into the next one. A value out of range is an error, never a wrapped number.
package bitsalloc

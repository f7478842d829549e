// Package bitsalloc is the arithmetic of UIDs: how the bits of one are shared out between
// time, worker ID and sequence, and how parts become a UID and a UID becomes parts. It
// knows neither clocks nor generators.
//
// A layout is written sign-time-worker-sequence, by the widths in bits. The default is
// 1-28-22-13:
//
//	 63 62                          35 34                    13 12           0
//	┌──┬──────────────────────────────┬────────────────────────┬──────────────┐
//	│0 │ delta: 28 bits               │ worker ID: 22 bits     │ seq: 13 bits │
//	└──┴──────────────────────────────┴────────────────────────┴──────────────┘
//
// The widths may come to less than 63: then UIDs are shorter, and the bits above them are
// 0. With 53 or less, JavaScript reads them as numbers without rounding.
//
// Invariant 5 of doc/design.md, section 4, is kept here: a UID is never negative and never
// spills from one field into the next; what is out of range is an error, never a wrapped
// number.
package bitsalloc

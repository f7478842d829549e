// Package segment hands out short, dense numbers without a time in them, per business tag, as the segment mode
// of Meituan's Leaf does: for order numbers, invoice numbers and tickets.
package segment

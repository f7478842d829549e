package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/ringuid/ringuid/uid"
)

// A field is a part of a UID in the picture of its bits.
type field struct {
	name  string
	bits  int
	text  string // the bits
	value string
	color int // in fieldColors
}

// fieldsOf returns the fields of a UID from the sign to the sequence.
func fieldsOf(f uid.Format, id uid.ID) []field {
	l, p := f.Layout(), f.Parse(id)
	digits := fmt.Sprintf("%064b", uint64(id))
	unused := 63 - l.TimeBits() - l.WorkerBits() - l.SequenceBits()
	fields := []field{
		{name: "sign", bits: 1, value: digits[:1], color: 0},
		{name: "unused", bits: unused, value: "must be 0", color: 1},
		{name: "time", bits: l.TimeBits(), color: 2,
			value: fmt.Sprintf("%d × %v after %s: %s", p.Delta, f.Unit(), f.Epoch().Format(time.RFC3339), formatTime(p.Time))},
		{name: "worker ID", bits: l.WorkerBits(), value: fmt.Sprint(p.WorkerID), color: 3},
		{name: "sequence", bits: l.SequenceBits(), value: fmt.Sprint(p.Sequence), color: 4},
	}
	if unused == 0 {
		fields = append(fields[:1], fields[2:]...)
	}
	for i := range fields {
		fields[i].text, digits = digits[:fields[i].bits], digits[fields[i].bits:]
	}
	return fields
}

// formatTime returns a time as text, with milliseconds if it has any.
func formatTime(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05.999 MST") }

// picture returns the bits of a UID, with a line for each field, from the last one to the first one:
//
//	0 0001101011010010101100110100 0000000000000000000001 0000000000000
//	│ │                            │                      └ sequence   13 bits  0
//	│ │                            └ worker ID  22 bits  1
func picture(fields []field, p painter) string {
	var b strings.Builder
	for i, f := range fields {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(p.paint(f.text, fieldColors[f.color]))
	}
	b.WriteByte('\n')
	for last := len(fields) - 1; last >= 0; last-- {
		for _, f := range fields[:last] {
			b.WriteString(p.paint("│", fieldColors[f.color]))
			b.WriteString(strings.Repeat(" ", f.bits))
		}
		f := fields[last]
		unit := "bits"
		if f.bits == 1 {
			unit = "bit"
		}
		fmt.Fprintf(&b, "%s %s  %s\n", p.paint("└ "+f.name, fieldColors[f.color]), p.paint(fmt.Sprintf("%d %s", f.bits, unit), faint), f.value)
	}
	return b.String()
}

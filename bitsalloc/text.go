package bitsalloc

import (
	"fmt"
	"strconv"
	"strings"
)

// String returns the layout as "1-28-22-13": sign, time, worker and sequence bits.
func (l Layout) String() string {
	text, _ := l.AppendText(nil)
	return string(text)
}

// ParseLayout is the inverse of String, and takes just what String makes. The error wraps
// ErrLayout and names the text.
func ParseLayout(s string) (Layout, error) {
	fields := strings.Split(s, "-")
	if len(fields) != 4 || fields[0] != "1" {
		return Layout{}, fmt.Errorf("%w: %q: the form is 1-time-worker-sequence, such as 1-28-22-13", ErrLayout, s)
	}
	var widths [3]int
	for i, field := range fields[1:] {
		n, err := strconv.ParseUint(field, 10, 8)
		if err != nil || strconv.FormatUint(n, 10) != field {
			return Layout{}, fmt.Errorf("%w: %q: %q is not a width from 1 to %d", ErrLayout, s, field, maxBits-2)
		}
		widths[i] = int(n)
	}
	l, err := New(widths[0], widths[1], widths[2])
	if err != nil {
		return Layout{}, fmt.Errorf("%w (in %q)", err, s)
	}
	return l, nil
}

// AppendText implements encoding.TextAppender. It does not fail.
func (l Layout) AppendText(b []byte) ([]byte, error) {
	return fmt.Appendf(b, "1-%d-%d-%d", l.timeBits, l.workerBits, l.sequenceBits), nil
}

// MarshalText implements encoding.TextMarshaler, so that a layout can stand in a
// configuration file. The error of the zero Layout is ErrLayout.
func (l Layout) MarshalText() ([]byte, error) {
	if l.IsZero() {
		return nil, ErrLayout
	}
	return l.AppendText(nil)
}

// UnmarshalText implements encoding.TextUnmarshaler: it takes what ParseLayout takes, and
// leaves the layout as it was when that fails.
func (l *Layout) UnmarshalText(text []byte) error {
	if l == nil {
		return fmt.Errorf("%w: there is no layout to unmarshal %q into, the pointer is nil", ErrLayout, text)
	}
	parsed, err := ParseLayout(string(text))
	if err != nil {
		return err
	}
	*l = parsed
	return nil
}

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

// ParseLayout is the inverse of String, and accepts only what String returns. The error wraps ErrLayout
// and names the text.
func ParseLayout(s string) (Layout, error) {
	fields := strings.Split(s, "-")
	if len(fields) != 4 || fields[0] != "1" {
		return Layout{}, fmt.Errorf("%w: %q: must be 1-time-worker-sequence, for example 1-28-22-13", ErrLayout, s)
	}
	var widths [3]int
	for i, field := range fields[1:] {
		n, err := strconv.ParseUint(field, 10, 8)
		if err != nil || strconv.FormatUint(n, 10) != field {
			return Layout{}, fmt.Errorf("%w: %q: width %q must be a number from 1 to %d", ErrLayout, s, field, maxWidth)
		}
		widths[i] = int(n)
	}
	l, err := New(widths[0], widths[1], widths[2])
	if err != nil {
		return Layout{}, fmt.Errorf("%w (in %q)", err, s)
	}
	return l, nil
}

// AppendText implements encoding.TextAppender. Its error is always nil.
func (l Layout) AppendText(b []byte) ([]byte, error) {
	return fmt.Appendf(b, "1-%d-%d-%d", l.timeBits, l.workerBits, l.sequenceBits), nil
}

// MarshalText implements encoding.TextMarshaler, for example for a configuration file. For the zero
// Layout the error is ErrLayout.
func (l Layout) MarshalText() ([]byte, error) {
	if l.IsZero() {
		return nil, ErrLayout
	}
	return l.AppendText(nil)
}

// UnmarshalText implements encoding.TextUnmarshaler. It accepts what ParseLayout accepts. If that
// fails, it does not change the layout.
func (l *Layout) UnmarshalText(text []byte) error {
	if l == nil {
		return fmt.Errorf("%w: the *Layout to unmarshal %q into is nil", ErrLayout, text)
	}
	parsed, err := ParseLayout(string(text))
	if err != nil {
		return err
	}
	*l = parsed
	return nil
}

package uid

import (
	"fmt"
	"strings"
	"time"

	"github.com/ringuid/ringuid/bitsalloc"
)

// formatExample is the text of the default format: errors show it as the form.
const formatExample = "1-28-22-13 2026-01-01T00:00:00Z 1s"

var (
	// errZeroFormat is the error of marshalling the zero Format.
	errZeroFormat = fmt.Errorf("%w: the format is the zero value; NewFormat or ParseFormat must create it", ErrOption)

	// errNilFormat is the error of unmarshalling into a nil pointer.
	errNilFormat = fmt.Errorf("%w: the Format to unmarshal into is nil", ErrOption)
)

// String returns the layout, the epoch in UTC and the time unit:
//
//	1-28-22-13 2026-01-01T00:00:00Z 1s
//
// Two formats are equal if and only if their texts are. The zero Format has the text "". A
// generator passes this text to its assigner, as the Format of a workerassign.Request.
func (f Format) String() string {
	b, err := f.AppendText(nil)
	if err != nil {
		return ""
	}
	return string(b)
}

// ParseFormat is the inverse of String. It accepts exactly what String returns for a format that
// is not zero: for example, not an epoch with an offset or a fraction of a second, and not a unit of
// "1000ms". For any other text the error wraps ErrOption and names the part that is wrong.
func ParseFormat(s string) (Format, error) {
	parts := strings.Split(s, " ")
	if len(parts) != 3 {
		return Format{}, fmt.Errorf("%w: format %q must be a layout, an epoch and a time unit with one space between them, as in %q",
			ErrOption, s, formatExample)
	}
	layout, err := bitsalloc.ParseLayout(parts[0])
	if err != nil {
		return Format{}, fmt.Errorf("%w: format %q must be as in %q: %w", ErrOption, s, formatExample, err)
	}
	epoch, err := time.Parse(time.RFC3339, parts[1])
	if err != nil || epoch.UTC().Format(time.RFC3339) != parts[1] {
		return Format{}, fmt.Errorf("%w: format %q must be as in %q: epoch %q must be a whole second in UTC",
			ErrOption, s, formatExample, parts[1])
	}
	unit, err := time.ParseDuration(parts[2])
	if err != nil || unit.String() != parts[2] {
		return Format{}, fmt.Errorf("%w: format %q must be as in %q: time unit %q must be a duration as time.Duration prints it",
			ErrOption, s, formatExample, parts[2])
	}
	base, err := bitsalloc.NewTimeBase(epoch, unit)
	if err != nil {
		return Format{}, fmt.Errorf("%w: format %q must be as in %q: %w", ErrOption, s, formatExample, err)
	}
	return Format{layout: layout, base: base}, nil
}

// AppendText implements encoding.TextAppender: it appends what String returns. For the zero Format
// it returns b and an error that wraps ErrOption.
func (f Format) AppendText(b []byte) ([]byte, error) {
	if f.Layout().IsZero() {
		return b, errZeroFormat
	}
	b, err := f.Layout().AppendText(b)
	if err != nil {
		return b, err
	}
	b = f.Epoch().AppendFormat(append(b, ' '), time.RFC3339)
	return append(append(b, ' '), f.Unit().String()...), nil
}

// MarshalText implements encoding.TextMarshaler. It returns what String returns, so that a format
// is a string in JSON and one line in a configuration file. For the zero Format the error wraps
// ErrOption; a JSON field with the option omitzero leaves it out.
func (f Format) MarshalText() ([]byte, error) {
	if f.Layout().IsZero() {
		return nil, errZeroFormat
	}
	return f.AppendText(nil)
}

// UnmarshalText implements encoding.TextUnmarshaler. It accepts what ParseFormat accepts, and
// leaves the format unchanged if it returns an error.
func (f *Format) UnmarshalText(text []byte) error {
	if f == nil {
		return errNilFormat
	}
	parsed, err := ParseFormat(string(text))
	if err != nil {
		return err
	}
	*f = parsed
	return nil
}

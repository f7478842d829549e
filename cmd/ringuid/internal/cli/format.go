package cli

import (
	"fmt"
	"time"

	"github.com/ringuid/ringuid/bitsalloc"
	"github.com/ringuid/ringuid/uid"
)

// formatFlags are the flags of commands that generate or read UIDs. All programs of a fleet must have the same values.
type formatFlags struct {
	Layout string `default:"1-28-22-13" fromenv:"RINGUID_LAYOUT" placeholder:"WIDTHS" help:"The widths of sign, time, worker ID and sequence. Default: ${default}, or RINGUID_LAYOUT."`
	Epoch  string `default:"2026-01-01" fromenv:"RINGUID_EPOCH" placeholder:"TIME" help:"The time that UIDs count from: a date or a time in RFC 3339. Default: ${default}, or RINGUID_EPOCH."`
	Unit   string `default:"1s" fromenv:"RINGUID_UNIT" placeholder:"DURATION" help:"The time unit: a second or a part of it, such as 1ms. Default: ${default}, or RINGUID_UNIT."`
}

// options returns the options of generators.
func (f formatFlags) options() ([]uid.Option, error) {
	layout, err := bitsalloc.ParseLayout(f.Layout)
	if err != nil {
		return nil, usageErrorf("--layout: %w", err)
	}
	epoch, err := parseTime(f.Epoch)
	if err != nil {
		return nil, usageErrorf("--epoch: %w", err)
	}
	unit, err := time.ParseDuration(f.Unit)
	if err != nil {
		return nil, usageErrorf("--unit is %q; must be a duration, such as 1s or 1ms", f.Unit)
	}
	opts := []uid.Option{uid.WithLayout(layout), uid.WithEpoch(epoch), uid.WithTimeUnit(unit)}
	if _, err := uid.NewFormat(opts...); err != nil {
		return nil, usageError{err}
	}
	return opts, nil
}

// format returns the format.
func (f formatFlags) format() (uid.Format, error) {
	opts, err := f.options()
	if err != nil {
		return uid.Format{}, err
	}
	return uid.NewFormat(opts...)
}

// parseTime parses a date, which means its first instant in UTC, or a time in RFC 3339.
func parseTime(text string) (time.Time, error) {
	for _, layout := range []string{time.DateOnly, time.RFC3339Nano} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q must be a date such as 2026-01-01, or a time such as 2026-01-01T00:00:00Z", text)
}

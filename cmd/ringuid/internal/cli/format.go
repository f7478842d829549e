package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ringuid/ringuid/bitsalloc"
	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign"
)

// formatFlags are the flags of commands that generate or read UIDs. All programs of a fleet must have the same values.
type formatFlags struct {
	Layout string `default:"1-28-22-13" fromenv:"RINGUID_LAYOUT" placeholder:"WIDTHS" help:"The widths of sign, time, worker ID and sequence. Default: ${default}, or RINGUID_LAYOUT."`
	Epoch  string `default:"2026-01-01" fromenv:"RINGUID_EPOCH" placeholder:"TIME" help:"The time that UIDs count from: a date or a time in RFC 3339. Default: ${default}, or RINGUID_EPOCH."`
	Unit   string `default:"1s" fromenv:"RINGUID_TIME_UNIT" aliases:"time-unit" placeholder:"DURATION" help:"The time unit: a second or a part of it, such as 1ms. Default: ${default}, or RINGUID_TIME_UNIT."`
}

// format returns the format.
func (f formatFlags) format() (uid.Format, error) {
	layout, err := bitsalloc.ParseLayout(f.Layout)
	if err != nil {
		return uid.Format{}, usageErrorf("--layout: %w", err)
	}
	epoch, err := parseTime(f.Epoch)
	if err != nil {
		return uid.Format{}, usageErrorf("--epoch: %w", err)
	}
	unit, err := time.ParseDuration(f.Unit)
	if err != nil {
		return uid.Format{}, usageErrorf("--unit is %q; must be a duration, such as 1s or 1ms", f.Unit)
	}
	format, err := uid.NewFormat(uid.WithLayout(layout), uid.WithEpoch(epoch), uid.WithTimeUnit(unit))
	if err != nil {
		return uid.Format{}, usageError{err}
	}
	return format, nil
}

// wrapFlags are the flags for what services do to worker IDs that their store assigns.
type wrapFlags struct {
	WorkerPrefix string `fromenv:"RINGUID_WORKER_PREFIX" placeholder:"N/BITS" help:"The upper bits of the worker IDs of all services of this store: 5/3 is the number 5 in 3 bits. Default: RINGUID_WORKER_PREFIX, else none."`
	WorkerDivide int    `fromenv:"RINGUID_WORKER_DIVIDE" placeholder:"BITS" help:"The bits by which the services divide each worker ID. Default: RINGUID_WORKER_DIVIDE, else none."`
}

// parse returns the number and the bits of the prefix.
func (f wrapFlags) parse() (number int64, bits int, err error) {
	if f.WorkerDivide < 0 || f.WorkerDivide > 62 {
		return 0, 0, usageErrorf("--worker-divide is %d; must be 0 to 62", f.WorkerDivide)
	}
	if f.WorkerPrefix == "" {
		return 0, 0, nil
	}
	first, second, _ := strings.Cut(f.WorkerPrefix, "/")
	number, err1 := strconv.ParseInt(first, 10, 64)
	bits, err2 := strconv.Atoi(second)
	if err1 != nil || err2 != nil || bits < 1 || bits > 62 || number < 0 || number >= 1<<bits {
		return 0, 0, usageErrorf("--worker-prefix is %q; must be a number and its bits, as in 5/3", f.WorkerPrefix)
	}
	return number, bits, nil
}

// text returns what the wrappers add to a format: see workerassign.Request.
func (f wrapFlags) text() (string, error) {
	number, bits, err := f.parse()
	if err != nil {
		return "", err
	}
	text := "" // the outermost wrapper comes first
	if bits > 0 {
		text = fmt.Sprintf("; prefix %d in %d bits", number, bits)
	}
	if f.WorkerDivide > 0 {
		text += fmt.Sprintf("; divided by %d bits", f.WorkerDivide)
	}
	return text, nil
}

// wrap returns the assigner as the services use it.
func (f wrapFlags) wrap(a workerassign.Assigner) (workerassign.Assigner, error) {
	number, bits, err := f.parse()
	if err != nil {
		return nil, err
	}
	if f.WorkerDivide > 0 {
		a = workerassign.Divide(a, f.WorkerDivide)
	}
	if bits > 0 {
		a = workerassign.Prefix(a, number, bits)
	}
	return a, nil
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

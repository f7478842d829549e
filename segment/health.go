package segment

import (
	"log/slog"
	"math"
	"time"

	"github.com/ringuid/ringuid/internal/safelog"
)

// Health is whether a Sequence has numbers now, and for how long it will without its source: for a readiness probe
// and for alerts. A Sequence that is OK returns a number at once. It may be OK although its source is down: alert on
// For and FailingSince, and let the probe check OK.
type Health struct {
	// Err is why Next does not return a number now; nil means that the Sequence is OK.
	Err error

	// Buffered is how many numbers are in memory.
	Buffered int64

	// For is how long they last at the rate between the arrivals of the last two ranges. It is 0 while it is not known.
	For time.Duration

	// Known reports whether For is known. It is not before a second range has arrived, while no numbers were taken between the last two,
	// and if For would be more than 292 years. Check it before you compare For.
	Known bool

	// FailingSince is when the first try of the present series of failures failed, and LastError is the error of
	// the last try. They are zero if the last try succeeded.
	FailingSince time.Time
	LastError    error
}

// OK reports whether Next returns a number at once.
func (h Health) OK() bool { return h.Err == nil }

// Health returns whether the Sequence has numbers. It does not block, and takes no number.
func (s *Sequence) Health() Health {
	if s == nil || s.provider == nil {
		return Health{Err: errNotMade}
	}
	ring, state := s.ring.Stats(), s.provider.snapshot()
	h := Health{Buffered: int64(ring.Fill), FailingSince: state.FailingSince, LastError: state.LastError}
	if left := float64(h.Buffered) / state.Rate * float64(time.Second); left < math.MaxInt64 { // it is not, if the rate is 0
		h.For, h.Known = time.Duration(left), true
	}
	switch {
	case s.closed.Load():
		h.Err, h.Buffered, h.For, h.Known = ErrClosed, 0, 0, true
	case h.Buffered == 0:
		h.Err, h.For, h.Known = s.provider.emptyError(nil), 0, true
	}
	return h
}

// LogValue implements slog.LogValuer. The group has the keys ok and buffered, for (a Duration) if it is known, and, if they are set,
// err, failing_since and last_error.
func (h Health) LogValue() slog.Value {
	attrs := []slog.Attr{slog.Bool("ok", h.OK()), slog.Int64("buffered", h.Buffered)}
	if h.Known {
		attrs = append(attrs, slog.Duration("for", h.For))
	}
	attrs = safelog.AppendError(attrs, "err", h.Err)
	attrs = safelog.AppendTime(attrs, "failing_since", h.FailingSince)
	return slog.GroupValue(safelog.AppendError(attrs, "last_error", h.LastError)...)
}

// MarshalJSON implements json.Marshaler, for the answer of a probe: an object with the keys of LogValue. for is a number of
// nanoseconds.
func (h Health) MarshalJSON() ([]byte, error) { return safelog.JSON(h.LogValue()) }

package segment

import (
	"encoding/json"
	"log/slog"
	"math"
	"time"
)

// Health is whether a Sequence has numbers now, and for how long it will without its source: for a readiness probe
// and for alerts. A Sequence that is OK returns a number at once. It may be OK although its source is down: alert on
// For and FailingSince, and let the probe check OK.
type Health struct {
	// Err is why Next does not return a number now; nil means that the Sequence is OK.
	Err error

	// Buffered is how many numbers are in memory.
	Buffered int64

	// For is how long they last at the rate between the arrivals of the last two ranges. It is the greatest Duration
	// if that rate is not known.
	For time.Duration

	// FailingSince is when the first try of the present series of failures failed, and Cause is the error of the
	// last try. They are zero if the last try succeeded.
	FailingSince time.Time
	Cause        error
}

// OK reports whether Next returns a number at once.
func (h Health) OK() bool { return h.Err == nil }

// Health returns whether the Sequence has numbers. It does not block, and takes no number.
func (s *Sequence) Health() Health {
	if s == nil || s.provider == nil {
		return Health{Err: errNotMade}
	}
	ring, state := s.ring.Stats(), s.provider.snapshot()
	h := Health{Buffered: int64(ring.Fill), For: math.MaxInt64, FailingSince: state.FailingSince, Cause: state.LastError}
	if left := float64(h.Buffered) / state.Rate * float64(time.Second); left < math.MaxInt64 { // it is not, if the rate is 0
		h.For = time.Duration(left)
	}
	switch {
	case s.closed.Load():
		h.Err, h.Buffered, h.For = ErrClosed, 0, 0
	case h.Buffered == 0:
		h.Err, h.For = s.provider.emptyError(nil), 0
	}
	return h
}

// LogValue implements slog.LogValuer. The group has the keys ok, buffered and for (a Duration), and, if they are set,
// err, failing_since and cause.
func (h Health) LogValue() slog.Value {
	attrs := []slog.Attr{slog.Bool("ok", h.OK()), slog.Int64("buffered", h.Buffered), slog.Duration("for", h.For)}
	if h.Err != nil {
		attrs = append(attrs, slog.String("err", h.Err.Error()))
	}
	if !h.FailingSince.IsZero() {
		attrs = append(attrs, slog.Time("failing_since", h.FailingSince))
	}
	if h.Cause != nil {
		attrs = append(attrs, slog.String("cause", h.Cause.Error()))
	}
	return slog.GroupValue(attrs...)
}

// MarshalJSON implements json.Marshaler, for the answer of a probe: an object with the keys ok, buffered, for
// (nanoseconds), and, if they are set, err, failing_since and cause.
func (h Health) MarshalJSON() ([]byte, error) {
	out := struct {
		OK           bool          `json:"ok"`
		Buffered     int64         `json:"buffered"`
		For          time.Duration `json:"for"`
		Err          string        `json:"err,omitempty"`
		FailingSince time.Time     `json:"failing_since,omitzero"`
		Cause        string        `json:"cause,omitempty"`
	}{OK: h.OK(), Buffered: h.Buffered, For: h.For, FailingSince: h.FailingSince}
	if h.Err != nil {
		out.Err = h.Err.Error()
	}
	if h.Cause != nil {
		out.Cause = h.Cause.Error()
	}
	return json.Marshal(out)
}

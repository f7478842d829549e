package uid

import (
	"encoding/json"
	"log/slog"
	"time"
)

// Health is whether a generator generates UIDs now, and for how long it will without its assigner's store:
// for a readiness probe and for alerts. A generator that is OK returns a UID at once, or when the next time
// unit starts. It may be OK although its store is down: alert on For, and let the probe check OK.
//
// A generator is not OK after Close, while its lease is lost and no other is at hand, before its lease
// begins, when the time bits are exhausted, and while padding fails and the ring is empty. Such a generator
// recovers by itself, except from Close and the end of the time bits.
type Health struct {
	// Err is why Next does not return a UID now. It wraps the error that Next returns or waits with. nil
	// means that the generator is OK.
	Err error

	// Until is up to when UIDs can be generated if the assigner's store cannot be reached from now on: the
	// end of what is granted of the lease in use and of a next one that was taken in advance, or of the
	// time bits. It holds for a load of up to the layout's rate; a Cached generator that borrows time for a
	// greater load uses up the grant earlier. It is the zero time if the generator is not OK.
	Until time.Time

	// For is the time up to Until by the generator's clock, at least 0. It is 0 for leases that grant nothing in advance, as those of
	// workerassign.Static.
	For time.Duration

	// Bounded reports whether Until is the end of a grant. If it is false, as for the leases of
	// workerassign.NewDisposable, Until is the end of the time bits, and the assigner is only required for
	// rollovers.
	Bounded bool
}

// OK reports whether Next returns a UID at once, or when the next time unit starts.
func (h Health) OK() bool { return h.Err == nil }

// LogValue implements slog.LogValuer. The group has the keys ok, until, for and bounded, and err if the
// generator is not OK.
func (h Health) LogValue() slog.Value {
	attrs := []slog.Attr{
		slog.Bool("ok", h.OK()),
		timeAttr("until", h.Until),
		slog.Duration("for", h.For),
		slog.Bool("bounded", h.Bounded),
	}
	if h.Err != nil {
		attrs = append(attrs, slog.Any("err", h.Err))
	}
	return slog.GroupValue(attrs...)
}

// MarshalJSON implements json.Marshaler, for the answer of a probe: an object with the keys ok, until (a
// time as in RFC 3339, with more digits of the year if it has more than four), for (a number of
// nanoseconds), bounded, and err (the error's text). Without a time or an error the key is left out.
func (h Health) MarshalJSON() ([]byte, error) {
	out := struct {
		OK      bool          `json:"ok"`
		Until   string        `json:"until,omitempty"`
		For     time.Duration `json:"for"`
		Bounded bool          `json:"bounded"`
		Err     string        `json:"err,omitempty"`
	}{OK: h.OK(), For: h.For, Bounded: h.Bounded}
	if !h.Until.IsZero() {
		out.Until = h.Until.Format(time.RFC3339Nano)
	}
	if h.Err != nil {
		out.Err = h.Err.Error()
	}
	return json.Marshal(out)
}

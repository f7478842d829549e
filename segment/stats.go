package segment

import (
	"cmp"
	"log/slog"
	"time"

	"github.com/ringuid/ringuid/internal/safelog"
	"github.com/ringuid/ringuid/ringbuffer"
)

// Stats is a snapshot of a Sequence's counters and state. The fields are not read at the same instant.
type Stats struct {
	Tag           string
	Issued        uint64    // numbers handed out
	RejectedTakes uint64    // times that a call found no number in memory
	Ranges        uint64    // ranges that the source has returned
	FailedTries   uint64    // tries to get a range that have failed, of all sources
	Step          int64     // the tag's own step, as the source keeps it
	LastSize      int64     // how many numbers the last range had
	Rate          float64   // numbers per second, between the arrivals of the last two ranges; 0 if there was only one
	End           int64     // the number after the greatest one that was received
	Limit         int64     // the number after the greatest possible one: math.MaxInt64; less for a Daily, by its digits
	FailingSince  time.Time // when the present series of failures began; the zero time if the last try succeeded
	LastError     error     // the error of the last try; nil if it succeeded

	// Ring is the state of the ring. Ring.Fill is how many numbers are in memory.
	Ring ringbuffer.Stats
}

// Stats returns a snapshot. It does not block Next.
func (s *Sequence) Stats() Stats {
	if s == nil || s.provider == nil {
		return Stats{}
	}
	ring, state := s.ring.Stats(), s.provider.snapshot()
	return Stats{
		Tag:           s.tag,
		Issued:        ring.Taken,
		RejectedTakes: ring.RejectedTakes,
		Ranges:        state.Ranges,
		FailedTries:   state.FailedTries,
		Step:          state.Step,
		LastSize:      state.Last,
		Rate:          state.Rate,
		End:           state.AtLeast,
		Limit:         cmp.Or(s.provider.limit, MaxNumber+1),
		FailingSince:  state.FailingSince,
		LastError:     state.LastError,
		Ring:          ring,
	}
}

// LogValue implements slog.LogValuer. The group has a key for each field, in snake case. The ring is a group: see
// ringbuffer.Stats.LogValue. A time, an error or a ring that is not set is left out.
func (st Stats) LogValue() slog.Value {
	attrs := []slog.Attr{
		slog.String("tag", st.Tag), slog.Uint64("issued", st.Issued), slog.Uint64("rejected_takes", st.RejectedTakes),
		slog.Uint64("ranges", st.Ranges), slog.Uint64("failed_tries", st.FailedTries), slog.Int64("step", st.Step),
		slog.Int64("last_size", st.LastSize), slog.Float64("rate", st.Rate), slog.Int64("end", st.End),
		slog.Int64("limit", st.Limit),
	}
	attrs = safelog.AppendTime(attrs, "failing_since", st.FailingSince)
	attrs = safelog.AppendError(attrs, "last_error", st.LastError)
	if st.Ring != (ringbuffer.Stats{}) {
		attrs = append(attrs, slog.Attr{Key: "ring", Value: st.Ring.LogValue()})
	}
	return slog.GroupValue(attrs...)
}

// MarshalJSON implements json.Marshaler: an object with the keys of LogValue. Integers beyond 2^53 lose digits in programs that read
// JSON numbers as floating-point numbers.
func (st Stats) MarshalJSON() ([]byte, error) { return safelog.JSON(st.LogValue()) }

package promcollect

import (
	"errors"
	"math"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringuid/ringuid/segment"
)

// sequenceFamilies returns the families of all sequences, and those of a segment.Tags only.
func sequenceFamilies() (all, ofTags []family) {
	const counter, gauge = prometheus.CounterValue, prometheus.GaugeValue
	tag := []string{"tag"}
	return []family{
			{"ringuid_segment_ok", "Whether Next returns a number at once: 1 or 0.", gauge, tag},
			{"ringuid_segment_failing", "Whether the last try to get a range has failed for a reason: 1 or 0.", gauge, []string{"tag", "reason"}},
			{"ringuid_segment_taken_total", "Numbers that were handed out.", counter, tag},
			{"ringuid_segment_rejected_takes_total", "How often a call found no number in memory.", counter, tag},
			{"ringuid_segment_ranges_total", "Ranges that the source has returned.", counter, tag},
			{"ringuid_segment_failed_tries_total", "Calls of the source that have failed.", counter, tag},
			{"ringuid_segment_step", "The tag's own step, as the source keeps it.", gauge, tag},
			{"ringuid_segment_range_size", "How many numbers the last range had.", gauge, tag},
			{"ringuid_segment_buffered", "Numbers in memory.", gauge, tag},
			{"ringuid_segment_buffered_seconds", "For how long the numbers in memory last at the present rate, if that is known.", gauge, tag},
			{"ringuid_segment_next_number", "The number after the greatest one that was received.", gauge, tag},
			{"ringuid_segment_number_limit", "The number after the greatest one that there can be.", gauge, tag},
			{"ringuid_segment_source_failing", "Whether the last try of one source, such as a stripe of a group, has failed: 1 or 0.", gauge, []string{"tag", "source"}},
		}, []family{
			{"ringuid_segment_tags", "Tags that are in memory.", gauge, nil},
		}
}

// newSequenceCollector returns a collector of sequences. check returns an error that wraps segment.ErrOption if no
// constructor has made their object.
func newSequenceCollector(c config, families []family, check func() error, read func(*scrape)) prometheus.Collector {
	if err := check(); errors.Is(err, segment.ErrOption) {
		c.fail("%v", err)
	}
	return newCollector(c, "sequence", families, read)
}

// NewSequenceCollector returns a collector of a segment.Sequence, whose sources may be the stripes of a segment.Group. It
// is safe for concurrent use, and for several registries. After Close of the Sequence only its counters are collected.
//
// An invalid argument is an error of Register that wraps ErrOption.
func NewSequenceCollector(seq *segment.Sequence, opts ...Option) prometheus.Collector {
	families, _ := sequenceFamilies()
	return newSequenceCollector(newConfig(opts), families, func() error { return seq.Health().Err }, func(s *scrape) {
		health := seq.Health()
		s.addSequence(seq.Tag(), seq.Stats(), health)
		if !errors.Is(health.Err, segment.ErrClosed) {
			s.addSources(seq.Tag(), seq.Sources())
		}
	})
}

// NewDailyCollector returns a collector of a segment.Daily. The label tag is the tag without a date. The counters are
// those of the day that is in use, so they begin at 0 each day, as after a restart. Otherwise it is like
// NewSequenceCollector.
func NewDailyCollector(d *segment.Daily, opts ...Option) prometheus.Collector {
	families, _ := sequenceFamilies()
	return newSequenceCollector(newConfig(opts), families, func() error { return d.Health().Err }, func(s *scrape) {
		health := d.Health()
		s.addSequence(d.Tag(), d.Stats(), health)
		if !errors.Is(health.Err, segment.ErrClosed) {
			s.addSources(d.Tag(), d.Sources())
		}
	})
}

// addSources adds the state of the sources of a tag.
func (s *scrape) addSources(tag string, sources []segment.SourceState) {
	failing := map[string]bool{}
	for _, source := range sources { // two metrics with the same labels would fail the scrape
		name := strings.ToValidUTF8(source.Source, "?") // it may contain a path; another label would fail the scrape, too
		failing[name] = failing[name] || source.LastError != nil
	}
	for source, fails := range failing {
		s.addBool("ringuid_segment_source_failing", fails, tag, source)
	}
}

// addSequence adds the metrics of one tag. Of a Sequence that is closed it adds only the counters.
func (s *scrape) addSequence(tag string, st segment.Stats, health segment.Health) {
	s.addSequenceCounters(tag, countersOf(st))
	if errors.Is(health.Err, segment.ErrClosed) {
		return
	}
	s.addSequenceState(tag, stateOf(health))
	s.add("ringuid_segment_step", float64(st.Step), tag)
	s.add("ringuid_segment_range_size", float64(st.LastSize), tag)
	s.add("ringuid_segment_next_number", float64(st.End), tag)
	s.add("ringuid_segment_number_limit", float64(st.Limit), tag)
}

// sequenceCounters are the counters of a tag.
type sequenceCounters struct{ taken, rejectedTakes, ranges, failedTries uint64 }

func countersOf(st segment.Stats) sequenceCounters {
	return sequenceCounters{st.Issued, st.RejectedTakes, st.Ranges, st.FailedTries}
}

// addSequenceCounters adds the counters of a tag.
func (s *scrape) addSequenceCounters(tag string, n sequenceCounters) {
	s.add("ringuid_segment_taken_total", float64(n.taken), tag)
	s.add("ringuid_segment_rejected_takes_total", float64(n.rejectedTakes), tag)
	s.add("ringuid_segment_ranges_total", float64(n.ranges), tag)
	s.add("ringuid_segment_failed_tries_total", float64(n.failedTries), tag)
}

// sequenceState is what can be combined for several tags.
type sequenceState struct {
	ok       bool
	failing  map[string]bool // by reason
	buffered int64
	seconds  float64 // +Inf: not known
}

func stateOf(h segment.Health) sequenceState {
	state := sequenceState{ok: h.OK(), failing: map[string]bool{}, buffered: h.Buffered, seconds: h.For.Seconds()}
	if !h.Known {
		state.seconds = math.Inf(1)
	}
	if !h.FailingSince.IsZero() {
		state.failing[reasonOf(h.LastError)] = true
	}
	return state
}

// Why a source fails: the values of the label reason.
const (
	reasonDown      = "down" // any other error
	reasonNoTag     = "no_tag"
	reasonSetBack   = "set_back"
	reasonExhausted = "exhausted"
	reasonInvalid   = "invalid"
)

// reasons returns all values of the label reason.
func reasons() []string {
	return []string{reasonDown, reasonNoTag, reasonSetBack, reasonExhausted, reasonInvalid}
}

// reasonOf returns why a source fails. Of the stripes of a group, all fail; if they have different reasons, it is down,
// because some of them may recover.
func reasonOf(err error) string {
	if parts := joined(err); len(parts) > 0 {
		reason := reasonOf(parts[0])
		for _, part := range parts[1:] {
			if reasonOf(part) != reason {
				return reasonDown
			}
		}
		return reason
	}
	switch {
	case errors.Is(err, segment.ErrSetBack):
		return reasonSetBack
	case errors.Is(err, segment.ErrExhausted):
		return reasonExhausted
	case errors.Is(err, segment.ErrNoTag):
		return reasonNoTag
	case errors.Is(err, segment.ErrSource), errors.Is(err, segment.ErrOption):
		return reasonInvalid
	}
	return reasonDown
}

// joined returns the errors of which errors.Join has made err; nil if err is another error, such as one of fmt.Errorf that
// wraps several.
func joined(err error) []error {
	list, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return nil
	}
	parts := list.Unwrap()
	texts := make([]string, len(parts))
	for i, part := range parts {
		texts[i] = part.Error()
	}
	if err.Error() != strings.Join(texts, "\n") {
		return nil
	}
	return parts
}

// addSequenceState adds the state of a tag.
func (s *scrape) addSequenceState(tag string, state sequenceState) {
	s.addBool("ringuid_segment_ok", state.ok, tag)
	for _, reason := range reasons() {
		s.addBool("ringuid_segment_failing", state.failing[reason], tag, reason)
	}
	s.add("ringuid_segment_buffered", float64(state.buffered), tag)
	if !math.IsInf(state.seconds, 1) {
		s.add("ringuid_segment_buffered_seconds", state.seconds, tag)
	}
}

package promcollect

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringuid/ringuid/internal/options"
	"github.com/ringuid/ringuid/segment"
)

// NewTagsCollector returns a collector of a segment.Tags. At most as many tags as WithMaxTags allows have metrics of their
// own. The counters, the numbers in memory and the state of all others are in metrics whose label tag is empty: the sums,
// the shortest time that numbers last (of those that fail, if any does), and whether all are OK. The state of a source, for
// which there is one metric for all tags, has an empty tag, too. A tag that was dropped because it was idle has no metrics
// until it is used again, and its counters begin at 0 then, as after a restart. Otherwise it is like NewSequenceCollector.
func NewTagsCollector(tags *segment.Tags, opts ...TagsOption) prometheus.Collector {
	c := config{maxTags: 100}
	options.Apply(opts, func(opt TagsOption) { opt.applyTags(&c) }, c.fail)
	families, ofTags := sequenceFamilies()
	r := &tagsReader{tags: tags, max: c.maxTags, own: map[string]bool{}, seen: map[string]sequenceCounters{}}
	check := func() error {
		_, err := tags.Next("") // no tag has this name, so this takes no number
		return err
	}
	return newSequenceCollector(c, append(families, ofTags...), check, func(s *scrape) {
		closed := errors.Is(check(), segment.ErrClosed) // not under the lock of r, because it calls String of the source
		r.read(s, closed)
	})
}

// tagsReader reads the statistics of a segment.Tags.
type tagsReader struct {
	tags *segment.Tags
	max  int

	mu     sync.Mutex                  // held during a read, so that counters are read in order; for the fields below
	own    map[string]bool             // the tags that have metrics of their own, at most max
	seen   map[string]sequenceCounters // of the other tags, as they were last read
	rest   sequenceCounters            // what was counted for them
	others bool                        // whether there were others
}

// A tagReading is what was read of one tag.
type tagReading struct {
	stats  segment.Stats
	health segment.Health
}

// read adds the metrics of all tags.
func (r *tagsReader) read(s *scrape, closed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	health := map[string]segment.Health{}
	for tag, h := range r.tags.Health() {
		health[tag] = h
	}
	var all []tagReading
	open := 0
	for tag, st := range r.tags.Stats() {
		h, ok := health[tag]
		if !ok {
			continue // it was opened between the two loops
		}
		if !errors.Is(h.Err, segment.ErrClosed) {
			open++
		}
		all = append(all, tagReading{st, h})
	}
	slices.SortFunc(all, func(a, b tagReading) int { return cmp.Compare(a.stats.Tag, b.stats.Tag) })
	own, others := r.divide(all)
	for _, t := range own {
		s.addSequence(t.stats.Tag, t.stats, t.health)
	}
	if !closed {
		s.add("ringuid_segment_tags", float64(open))
		s.addSources("", r.tags.Sources())
	}
	if rest, any := r.count(others); any {
		s.addRest(rest, others)
	}
}

// divide returns the tags that have metrics of their own, and the others. all is sorted. The caller holds mu.
func (r *tagsReader) divide(all []tagReading) (own, others []tagReading) {
	kept := map[string]bool{}
	for _, t := range all {
		if r.own[t.stats.Tag] {
			kept[t.stats.Tag] = true
		}
	}
	for _, t := range all {
		if !kept[t.stats.Tag] && len(kept) < r.max {
			kept[t.stats.Tag] = true
		}
		if kept[t.stats.Tag] {
			own = append(own, t)
		} else {
			others = append(others, t)
		}
	}
	r.own = kept
	return own, others
}

// count adds what was counted for the other tags since the last call. The sum of their counters would not do: it
// decreases when a tag is dropped, which looks like a restart. any is false as long as there were no others. The caller
// holds mu.
func (r *tagsReader) count(others []tagReading) (rest sequenceCounters, any bool) {
	seen := make(map[string]sequenceCounters, len(others))
	for _, t := range others {
		now, before := countersOf(t.stats), r.seen[t.stats.Tag]
		if now.taken < before.taken || now.ranges < before.ranges {
			before = sequenceCounters{} // the tag was dropped and opened again
		}
		r.rest.taken += now.taken - before.taken
		r.rest.rejectedTakes += now.rejectedTakes - min(before.rejectedTakes, now.rejectedTakes)
		r.rest.ranges += now.ranges - before.ranges
		r.rest.failedTries += now.failedTries - min(before.failedTries, now.failedTries)
		seen[t.stats.Tag] = now
	}
	r.seen = seen
	r.others = r.others || len(others) > 0
	return r.rest, r.others
}

// addRest adds the metrics of the tags that have none of their own.
func (s *scrape) addRest(counted sequenceCounters, others []tagReading) {
	s.addSequenceCounters("", counted)
	rest := sequenceState{ok: true, failing: map[string]bool{}, seconds: math.Inf(1)}
	for _, t := range others {
		if errors.Is(t.health.Err, segment.ErrClosed) {
			continue
		}
		state := stateOf(t.health)
		rest.ok = rest.ok && state.ok
		rest.buffered += state.buffered
		if fails := len(state.failing) > 0; fails == (len(rest.failing) > 0) {
			rest.seconds = min(rest.seconds, state.seconds)
		} else if fails { // those that fail are those that run empty
			rest.seconds = state.seconds
		}
		for reason := range state.failing {
			rest.failing[reason] = true
		}
	}
	s.addSequenceState("", rest)
}

package server

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/uid"
)

// A snapshot is the state of the server, for the page and for programs that do not read metrics.
type snapshot struct {
	Time       time.Time       `json:"time"`
	Started    time.Time       `json:"started"`
	Version    string          `json:"version"`
	Store      string          `json:"store"`
	Ready      bool            `json:"ready"`
	HasLeases  bool            `json:"has_leases"` // whether /v1/leases has a list
	ServesTags bool            `json:"serves_tags"`
	UID        *generatorState `json:"uid,omitempty"`
	Tags       []segment.Stats `json:"tags"`
	TagCount   int             `json:"tag_count"` // may be greater than the length of tags
	HTTP       httpState       `json:"http"`
	Failures   []failure       `json:"failures"` // the newest first
}

// generatorState is the state of the generator.
type generatorState struct {
	Stats  uid.Stats   `json:"stats"`
	Health uid.Health  `json:"health"`
	Layout layoutState `json:"layout"`

	leaseState
}

// layoutState describes the format of UIDs.
type layoutState struct {
	Text         string `json:"text"`
	TimeBits     int    `json:"time_bits"`
	WorkerBits   int    `json:"worker_bits"`
	SequenceBits int    `json:"sequence_bits"`
	Epoch        string `json:"epoch"`
	UnitNanos    int64  `json:"unit_nanoseconds"`
	End          string `json:"end"`
}

// httpState has the server's own counters.
type httpState struct {
	Requests uint64 `json:"requests"`
	Failures uint64 `json:"failures"`  // of the server: status 500 and above
	InFlight int64  `json:"in_flight"` // without streams of events
}

// maxTagsShown is how many tags a snapshot has: those that handed out most numbers.
const maxTagsShown = 100

// snapshot returns the state of the server.
func (s *Server) snapshot() snapshot {
	out := snapshot{
		Time: time.Now().UTC(), Started: s.started.UTC(), Version: s.opts.Version, Store: s.opts.Store, Ready: s.readiness().OK,
		HasLeases: s.opts.Pool != nil, ServesTags: s.opts.Sequences != nil, Tags: []segment.Stats{}, HTTP: s.httpState(), Failures: s.failures.list(),
	}
	if g := s.opts.UIDs; g != nil {
		f := g.Format()
		l := f.Layout()
		out.UID = &generatorState{leaseState: s.lease.last(), Stats: g.Stats(), Health: g.Health(), Layout: layoutState{
			Text: l.String(), TimeBits: l.TimeBits(), WorkerBits: l.WorkerBits(), SequenceBits: l.SequenceBits(),
			Epoch: f.Epoch().Format(time.RFC3339), UnitNanos: int64(f.Unit()), End: f.End().Format(time.RFC3339),
		}}
	}
	if s.opts.Sequences != nil {
		for _, st := range s.opts.Sequences.Stats() {
			out.Tags = append(out.Tags, st)
		}
		out.TagCount = len(out.Tags)
		slices.SortFunc(out.Tags, func(a, b segment.Stats) int {
			return cmp.Or(cmp.Compare(b.Issued, a.Issued), cmp.Compare(a.Tag, b.Tag))
		})
		out.Tags = out.Tags[:min(len(out.Tags), maxTagsShown)]
	}
	return out
}

// httpState returns the server's own counters.
func (s *Server) httpState() httpState {
	requests, failures := s.metrics.totals()
	return httpState{Requests: requests, Failures: failures, InFlight: s.inFlight.Load() - s.streams.count()}
}

// stats answers with the state of the server.
func (c *call) stats() { c.sendJSON(http.StatusOK, c.s.snapshot()) }

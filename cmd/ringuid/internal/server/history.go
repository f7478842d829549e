package server

import (
	"context"
	"sync"
	"time"
)

// A sample is what the charts of the page show of one second. Counters count since the start, so that a sample that is
// missing falsifies no rate.
type sample struct {
	Time     int64   `json:"t"` // milliseconds since 1970
	Issued   uint64  `json:"issued"`
	Numbers  uint64  `json:"numbers"` // of all tags in memory
	Requests uint64  `json:"requests"`
	Failures uint64  `json:"failures"`
	Fill     float64 `json:"fill"`  // 0 to 1
	Ahead    float64 `json:"ahead"` // seconds
	P50      float64 `json:"p50"`   // seconds that requests took, without probes and the like; 0 if there was none in the last seconds
	P99      float64 `json:"p99"`
}

const (
	sampleInterval = time.Second
	maxSamples     = 600
)

// A history has the samples of the last ten minutes.
type history struct {
	mu      sync.Mutex
	samples []sample      // the oldest first
	added   chan struct{} // closed when the next sample was added
}

func newHistory() *history { return &history{added: make(chan struct{})} }

// add adds a sample and wakes those who wait for it.
func (h *history) add(x sample) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.samples) == maxSamples {
		copy(h.samples, h.samples[1:])
		h.samples = h.samples[:maxSamples-1]
	}
	h.samples = append(h.samples, x)
	close(h.added)
	h.added = make(chan struct{})
}

// all returns a copy of the samples, and a channel that is closed when there is another one.
func (h *history) all() ([]sample, <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]sample(nil), h.samples...), h.added
}

// last returns the newest sample, of which there must be one, and a channel that is closed when there is another one.
func (h *history) last() (sample, <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.samples[len(h.samples)-1], h.added
}

// sample returns the sample of now.
func (s *Server) sample(now time.Time) sample {
	state := s.httpState()
	x := sample{Time: now.UnixMilli(), Requests: state.Requests, Failures: state.Failures}
	if s.opts.UIDs != nil {
		st := s.opts.UIDs.Stats()
		x.Issued, x.Fill, x.Ahead = st.Issued, st.Ring.FillLevel(), st.Ahead.Seconds()
	}
	if s.opts.Sequences != nil {
		for _, st := range s.opts.Sequences.Stats() {
			x.Numbers += st.Issued
		}
	}
	return x
}

// takeSamples takes samples until ctx ends.
func (s *Server) takeSamples(ctx context.Context) {
	ticker := time.NewTicker(sampleInterval)
	defer ticker.Stop()
	for {
		now := time.Now()
		x := s.sample(now)
		p50, p99 := s.latencies.quantiles()
		x.P50, x.P99 = p50.Seconds(), p99.Seconds()
		if g := s.opts.UIDs; g != nil {
			s.lease.note(s.log, now, g.Stats(), g.Health())
		}
		s.history.add(x)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

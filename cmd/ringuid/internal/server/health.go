package server

import (
	"net/http"

	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/uid"
)

// healthz answers that the process serves requests: for a liveness probe. It does not depend on the generator or the
// store, because a restart would not bring a store back.
func (c *call) healthz() { c.send(http.StatusOK, c.s.values.json, []byte("{\"ok\":true}\n")) }

// readiness is the answer of /readyz.
type readiness struct {
	OK       bool                      `json:"ok"`
	Draining bool                      `json:"draining,omitempty"`
	UID      *uid.Health               `json:"uid,omitempty"`
	Tags     map[string]segment.Health `json:"tags,omitempty"` // those that are not OK
}

// readyz answers whether the server hands out numbers: with status 200 or 503. Whoever may not observe learns only
// that.
func (c *call) readyz() {
	ready := c.s.readiness()
	status := http.StatusOK
	if !ready.OK {
		status = http.StatusServiceUnavailable
		c.expected = true // a probe of a server that starts or ends is no failure
	}
	if !c.mayObserve() {
		ready.UID, ready.Tags = nil, nil
	}
	c.sendJSON(status, ready)
}

// readiness reports whether the server is ready: it does not shut down, and its generator generates UIDs. If it has none, not all of the
// tags in memory are without numbers. Otherwise tags do not count, because what the server still hands out would be gone with them.
func (s *Server) readiness() readiness {
	r := readiness{OK: true, Draining: s.draining.Load()}
	if r.Draining {
		r.OK = false
	}
	if s.opts.UIDs != nil {
		h := s.opts.UIDs.Health()
		r.UID = &h
		r.OK = r.OK && h.OK()
	}
	if s.opts.Sequences != nil {
		tags := 0
		for tag, h := range s.opts.Sequences.Health() {
			tags++
			if !h.OK() {
				if r.Tags == nil {
					r.Tags = map[string]segment.Health{}
				}
				r.Tags[tag] = h
			}
		}
		r.OK = r.OK && (s.opts.UIDs != nil || tags == 0 || len(r.Tags) < tags)
	}
	return r
}

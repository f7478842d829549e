package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

const (
	// maxStreams is how many streams of events there may be.
	maxStreams = 32

	// streamWriteTimeout is how long a client may take to accept an event.
	streamWriteTimeout = 10 * time.Second
)

// events answers with a stream of server-sent events: first "history", the samples of the last minutes, and then each second
// "state", a snapshot with the newest sample. It ends with the server, and when the client does not read.
func (c *call) events() {
	s := c.s
	if c.r.Method == http.MethodHead { // which has no body, so a stream would hold its connection for nothing
		c.w.Header()["Content-Type"] = []string{"text/event-stream"}
		c.status = http.StatusOK
		return
	}
	if s.streams.Add(1) > maxStreams {
		s.streams.Add(-1)
		c.fail(http.StatusServiceUnavailable, fmt.Sprintf("%d streams of events are open, which is the limit", maxStreams), nil)
		return
	}
	defer s.streams.Add(-1)
	control := http.NewResponseController(c.w)
	c.w.Header()["Content-Type"] = []string{"text/event-stream"}
	c.status = http.StatusOK
	send := func(event string, v any) bool {
		data, err := json.Marshal(v)
		if err != nil {
			c.err = err
			return false
		}
		if err := control.SetWriteDeadline(time.Now().Add(streamWriteTimeout)); err != nil {
			c.err = err
			return false
		}
		if _, err := fmt.Fprintf(c.w, "event: %s\ndata: %s\n\n", event, data); err != nil {
			return false
		}
		return control.Flush() == nil
	}
	samples, added := s.history.all()
	last := s.sample(time.Now()) // the server has just begun
	if n := len(samples); n > 0 {
		// One of this moment could follow the last one so soon that a rate between them would mean nothing.
		last = samples[n-1]
	} else {
		samples = []sample{}
	}
	if !send("history", samples) {
		return
	}
	for ; ; last, added = s.history.last() {
		state := struct {
			Sample sample `json:"sample"`
			snapshot
		}{last, s.snapshot()}
		if !send("state", state) {
			return
		}
		select {
		case <-added:
		case <-c.r.Context().Done():
			return
		case <-s.stopped:
			return
		}
	}
}

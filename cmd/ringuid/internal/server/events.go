package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"
)

const (
	// maxStreams is how many streams of events there may be. Another one ends the oldest, so that no operator is locked out.
	maxStreams = 100

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
	control := http.NewResponseController(c.w)
	stream := s.streams.add(control)
	defer s.streams.remove(stream)
	c.w.Header()["Content-Type"] = []string{"text/event-stream"}
	c.status = http.StatusOK
	send := func(event string, v any) bool {
		data, err := json.Marshal(v)
		if err != nil {
			c.err = err
			return false
		}
		if err := s.streams.allow(stream); err != nil {
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
		case <-stream.ended:
			return
		case <-c.r.Context().Done():
			return
		case <-s.stopped:
			return
		}
	}
}

// A stream is an open stream of events.
type stream struct {
	control *http.ResponseController
	ended   chan struct{} // closed when there are too many streams
}

// A streamList has the open streams, the oldest first.
type streamList struct {
	mu   sync.Mutex
	open []*stream
}

// add adds a stream. If there are too many, it ends the oldest one, also if its client does not read.
func (l *streamList) add(control *http.ResponseController) *stream {
	added := &stream{control: control, ended: make(chan struct{})}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.open) == maxStreams {
		oldest := l.open[0]
		close(oldest.ended)
		_ = oldest.control.SetWriteDeadline(time.Now()) // fails if the connection has ended
		l.open = slices.Delete(l.open, 0, 1)
	}
	l.open = append(l.open, added)
	return added
}

// errStreamEnded is the error of a stream that was ended in favor of a newer one.
var errStreamEnded = fmt.Errorf("server: %d newer streams of events are open, which is the limit", maxStreams)

// allow lets a stream write the next event.
func (l *streamList) allow(x *stream) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.Contains(l.open, x) {
		return errStreamEnded
	}
	return x.control.SetWriteDeadline(time.Now().Add(streamWriteTimeout))
}

// remove removes a stream, whose control must not be used any more.
func (l *streamList) remove(x *stream) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.Index(l.open, x); i >= 0 {
		l.open = slices.Delete(l.open, i, i+1)
	}
}

// count returns how many streams are open.
func (l *streamList) count() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return int64(len(l.open))
}

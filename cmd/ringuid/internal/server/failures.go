package server

import (
	"slices"
	"sync"
	"time"
)

// A failure is a request that the server could not fulfil, or an error of its generator or sequences.
type failure struct {
	Time      time.Time `json:"time"` // of the last one
	Path      string    `json:"path"` // the route, not the path of the request
	Status    int       `json:"status"`
	Text      string    `json:"text"`
	RequestID string    `json:"request_id"` // of the last one
	Count     int       `json:"count"`      // how many followed each other with the same path, status and text
}

// maxFailures is how many failures are kept.
const maxFailures = 50

// A failureLog keeps the last failures, for the page.
type failureLog struct {
	mu   sync.Mutex
	last []failure // the oldest first
}

// add adds a failure. One that is like the last one only increments its count.
func (l *failureLog) add(f failure) {
	f.Text = shorten(f.Text, maxText)
	f.Count = 1
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.last); n > 0 {
		if p := &l.last[n-1]; p.Path == f.Path && p.Status == f.Status && p.Text == f.Text {
			p.Count++
			p.Time, p.RequestID = f.Time, f.RequestID
			return
		}
	}
	if len(l.last) == maxFailures {
		l.last = append(l.last[:0], l.last[1:]...)
	}
	l.last = append(l.last, f)
}

// list returns the failures, the newest first.
func (l *failureLog) list() []failure {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := append([]failure{}, l.last...) // not nil, so that it is a list as JSON
	slices.Reverse(list)
	return list
}

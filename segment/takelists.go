package segment

import (
	"container/list"
	"time"
)

// queuedTake is a request that waits for a place.
type queuedTake struct {
	queue      *takeQueue
	demand     *demand
	candidates []candidate
	kind       string // equal for requests that can be sent to the same sources
	tag        string
	class      takeClass
	since      time.Time
	number     uint64        // in the order of acquire
	element    *list.Element // nil if it is in no list
	sent       chan struct{} // closed when place is set
	place      *takePlace
}

// candidate is a source that a request can be sent to.
type candidate struct {
	source  int
	resting bool // the tag's last request to it has failed, so that another one is better
}

// longestSearch limits how many requests are looked at for the place of one that returns to a list.
const longestSearch = 64

// kindOf returns the kind of a request: one byte for each source.
func (q *takeQueue) kindOf(candidates []candidate) string {
	kind := make([]byte, len(q.sources))
	for _, c := range candidates {
		kind[c.source] = 1
		if c.resting {
			kind[c.source] = 2
		}
	}
	return string(kind)
}

// push adds a request to the list of a class: at the end, or before the first younger one, if that is near the front.
// So a request that has waited in another class keeps its turn. The caller must hold the lock.
func (q *takeQueue) push(w *queuedTake, class takeClass) {
	w.class = class
	if q.waiting[class] == nil {
		q.waiting[class] = map[string]*list.List{}
	}
	l := q.waiting[class][w.kind]
	if l == nil {
		l = list.New()
		q.waiting[class][w.kind] = l
	}
	if last := l.Back(); last == nil || !w.since.Before(last.Value.(*queuedTake).since) {
		w.element = l.PushBack(w)
		return
	}
	for e, n := l.Front(), 0; e != nil && n < longestSearch; e, n = e.Next(), n+1 {
		if w.since.Before(e.Value.(*queuedTake).since) {
			w.element = l.InsertBefore(w, e)
			return
		}
	}
	w.element = l.PushBack(w)
}

// remove removes a request from its list. The caller must hold the lock.
func (q *takeQueue) remove(w *queuedTake) {
	if w.element == nil {
		return
	}
	l := q.waiting[w.class][w.kind]
	l.Remove(w.element)
	w.element = nil
	if l.Len() == 0 {
		delete(q.waiting[w.class], w.kind)
	}
}

// move moves a request to the list of another class. The caller must hold the lock.
func (q *takeQueue) move(w *queuedTake, class takeClass) {
	q.remove(w)
	q.push(w, class)
}

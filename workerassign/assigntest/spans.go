package assigntest

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"
)

// span is the UID time that one lease may have used: from From, before Until.
type span struct {
	workerID    int64
	from, until time.Time
	lease       string // describes the lease
}

// spans collects the spans of leases. It is safe for concurrent use.
type spans struct {
	mu  sync.Mutex
	all []span
}

func (s *spans) add(one span) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, one)
}

// overlaps returns descriptions of the spans that break invariant 1: two leases have one worker ID and a
// common time. It also returns how many spans it has compared, and how many worker IDs they have.
func (s *spans) overlaps() (problems []string, count, workerIDs int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := slices.DeleteFunc(slices.Clone(s.all), func(one span) bool { return !one.from.Before(one.until) })
	slices.SortFunc(all, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.workerID, b.workerID), a.from.Compare(b.from), a.until.Compare(b.until))
	})
	var last span // of this worker ID, the span that ends last
	for n, one := range all {
		if n == 0 || one.workerID != last.workerID {
			last = one
			workerIDs++
			continue
		}
		if one.from.Before(last.until) {
			problems = append(problems, fmt.Sprintf("worker ID %d: %s has the time from %s to %s, and %s from %s to %s",
				one.workerID, last.lease, stamp(last.from), stamp(last.until), one.lease, stamp(one.from), stamp(one.until)))
		}
		if one.until.After(last.until) {
			last = one
		}
	}
	return problems, len(all), workerIDs
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000000") }

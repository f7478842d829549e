package server

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// latencies counts how long requests took, for the page. There are four buckets for each power of two of microseconds, so that a
// quantile is at most a quarter too great.
type latencies struct {
	counts [latencyBuckets]atomic.Uint64
	former [latencyWindow][latencyBuckets]uint64 // the counts of the last samples; only the goroutine of samples uses it
	next   int                                   // the oldest of these
}

const (
	latencyBuckets = 4 * 26 // up to a minute
	latencyWindow  = 10     // samples
)

// observe counts a request.
func (l *latencies) observe(d time.Duration) {
	us := uint64(max(d.Microseconds(), 1))
	power := bits.Len64(us) - 1
	l.counts[min(4*power+int(us<<2>>power&3), latencyBuckets-1)].Add(1)
}

// quantiles returns the median and the 99th percentile of the requests since latencyWindow calls ago: 0 if there was none.
func (l *latencies) quantiles() (p50, p99 time.Duration) {
	var now, since [latencyBuckets]uint64
	var total uint64
	for i := range now {
		now[i] = l.counts[i].Load()
		since[i] = now[i] - l.former[l.next][i]
		total += since[i]
	}
	l.former[l.next] = now
	l.next = (l.next + 1) % latencyWindow
	at := func(percent uint64) time.Duration {
		var sum uint64
		for i, n := range since {
			if sum += n; n > 0 && sum >= (total*percent+99)/100 {
				return time.Duration(i%4+5) * time.Microsecond << (i / 4) / 4 // the end of the bucket
			}
		}
		return 0
	}
	return at(50), at(99)
}

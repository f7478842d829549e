package benchmarks

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/cpu"

	"github.com/ringuid/ringuid/segment"
)

// Leaf is the algorithm of the segment mode of Meituan's Leaf, for one tag, written anew from the description of its authors
// (https://tech.meituan.com/2017/04/21/mt-leaf.html) and the documentation of the project: two segments, a read-write
// lock, and a thread of a pool that fetches the other segment as soon as 10 % of the current one are used. It is a peer:
// Leaf itself is a server in Java, so each of its callers also waits for the network.
type Leaf struct {
	source segment.Source
	tag    string
	adapt  bool // whether the step changes

	lock      sync.RWMutex
	segments  [2]leafSegment
	current   int  // the index of the current segment
	nextReady bool // whether the other segment was fetched

	empty    atomic.Int64   // calls that found both segments used up
	fetching atomic.Bool    // whether a thread fetches the other segment
	pool     sync.WaitGroup // the threads
	cancel   context.CancelFunc
	ctx      context.Context

	// Only the thread that fetches uses these fields.
	size    int64 // of the last segment
	least   int64 // the tag's own step
	atLeast int64 // the end of the last segment
	fetched time.Time
}

// leafSegment is one segment: the numbers from next to end-1.
type leafSegment struct {
	_    cpu.CacheLinePad // not in the original: Java's objects are not adjacent by design, here they would be
	next atomic.Int64
	end  int64
	size int64
	_    cpu.CacheLinePad
}

// The constants of Leaf.
const (
	leafSpins     = 10_000                // how often a caller that found both segments used up checks for the thread
	leafPause     = 10 * time.Millisecond // how long it sleeps after that
	leafThreshold = 10                    // percent of a segment, after which the other one is fetched
)

// LeafThreshold is how many numbers of a segment of SegmentStep numbers are used before the other one is fetched.
const LeafThreshold = SegmentStep * leafThreshold / 100

// ErrLeafEmpty is the error of Leaf when both segments are used up, and the next one was not fetched in time. Its callers try again.
var ErrLeafEmpty = errors.New("leaf: both segments are used up")

// NewLeaf returns a Leaf with its first segment. If adapt is true, the size of segments changes by the rule that segment.LeafStep
// implements too; otherwise it is the tag's step. The caller must call Close.
func NewLeaf(src segment.Source, tag string, adapt bool) (*Leaf, error) {
	l := &Leaf{source: src, tag: tag, adapt: adapt}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	if err := l.fetch(&l.segments[0]); err != nil {
		return nil, err
	}
	return l, nil
}

// Close waits for the thread.
func (l *Leaf) Close() {
	l.cancel()
	l.pool.Wait()
}

// Next returns the next number.
func (l *Leaf) Next() (int64, error) {
	for {
		if n, ok := l.take(); ok {
			return n, nil
		}
		l.awaitThread()
		if n, ok, err := l.change(); ok || err != nil {
			return n, err
		}
	}
}

// Empty returns how many calls found the segment used up, and the other one not fetched yet.
func (l *Leaf) Empty() int64 { return l.empty.Load() }

// take takes a number of the current segment, and lets a thread fetch the other one if that is due.
func (l *Leaf) take() (int64, bool) {
	l.lock.RLock()
	defer l.lock.RUnlock()
	s := &l.segments[l.current]
	if used := s.size - (s.end - s.next.Load()); !l.nextReady && used*100 > leafThreshold*s.size && l.fetching.CompareAndSwap(false, true) {
		other := &l.segments[1-l.current]
		l.pool.Go(func() { l.fetchOther(other) })
	}
	n := s.next.Add(1) - 1
	return n, n < s.end
}

// awaitThread waits for the thread that fetches, if there is one, but not longer than a few spins and one pause.
func (l *Leaf) awaitThread() {
	for i := 0; l.fetching.Load(); i++ {
		if i == 0 {
			l.empty.Add(1)
		}
		if i == leafSpins {
			time.Sleep(leafPause)
			return
		}
	}
}

// change makes the other segment the current one, unless another caller has done that.
func (l *Leaf) change() (n int64, ok bool, err error) {
	l.lock.Lock()
	defer l.lock.Unlock()
	s := &l.segments[l.current]
	if n := s.next.Add(1) - 1; n < s.end {
		return n, true, nil
	}
	if !l.nextReady {
		return 0, false, ErrLeafEmpty
	}
	l.current = 1 - l.current
	l.nextReady = false
	return 0, false, nil
}

// fetchOther is the thread.
func (l *Leaf) fetchOther(other *leafSegment) {
	if err := l.fetch(other); err != nil {
		l.fetching.Store(false)
		return
	}
	l.lock.Lock()
	defer l.lock.Unlock()
	l.nextReady = true
	l.fetching.Store(false)
}

// fetch fills a segment that no caller uses.
func (l *Leaf) fetch(s *leafSegment) error {
	size := l.size // 0 for the first segment: the tag's step
	if l.adapt && size > 0 {
		size = segment.LeafStep{}.Size(segment.StepState{Step: l.least, Last: size, Elapsed: time.Since(l.fetched)})
	}
	r, err := l.source.Take(l.ctx, segment.Request{Tag: l.tag, Size: size, AtLeast: l.atLeast})
	if err != nil {
		return err
	}
	l.size, l.least, l.fetched = r.Length, r.Step, time.Now()
	l.atLeast = r.First + r.Length
	s.next.Store(r.First)
	s.end, s.size = l.atLeast, r.Length
	return nil
}

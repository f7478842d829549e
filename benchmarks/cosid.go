package benchmarks

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/cpu"

	"github.com/ringuid/ringuid/segment"
)

// CosIDSegment and CosIDChain are the algorithms of the classes DefaultSegmentId and SegmentChainId of CosId, for one tag, written
// anew after its source (https://github.com/Ahoo-Wang/CosId, cosid-core, package me.ahoo.cosid.segment). They are peers: CosId itself
// is a library in Java. Left out are segments that expire, and the log.

// cosIDSegment is one segment: the numbers up to end-1.
type cosIDSegment struct {
	_       cpu.CacheLinePad // as in leafSegment
	next    atomic.Int64     // beside end, as there
	end     int64
	version int64 // how many segments are before it in the chain

	follow    atomic.Pointer[cosIDSegment] // the following segment of the chain
	following sync.Mutex                   // held by the goroutine that requests it
	_         cpu.CacheLinePad
}

// take takes a number, unless the segment is used up.
func (s *cosIDSegment) take() (int64, bool) {
	if s.next.Load() >= s.end {
		return 0, false
	}
	n := s.next.Add(1) - 1
	return n, n < s.end
}

// request requests the segment after s.
func (s *cosIDSegment) request(ctx context.Context, src segment.Source, tag string, size int64) (*cosIDSegment, error) {
	r, err := src.Take(ctx, segment.Request{Tag: tag, Size: size, AtLeast: s.end})
	if err != nil {
		return nil, err
	}
	following := &cosIDSegment{end: r.First + r.Length, version: s.version + 1}
	following.next.Store(r.First)
	return following, nil
}

// A CosIDSegment has one segment. The caller that finds it used up requests the next one, and the others wait for it.
type CosIDSegment struct {
	source segment.Source
	tag    string
	step   int64

	current atomic.Pointer[cosIDSegment]
	lock    sync.Mutex
}

// NewCosIDSegment returns a CosIDSegment.
func NewCosIDSegment(src segment.Source, tag string, step int64) *CosIDSegment {
	c := &CosIDSegment{source: src, tag: tag, step: step}
	c.current.Store(new(cosIDSegment))
	return c
}

// Next returns the next number.
func (c *CosIDSegment) Next() (int64, error) {
	if n, ok := c.current.Load().take(); ok {
		return n, nil
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	for {
		s := c.current.Load()
		if n, ok := s.take(); ok {
			return n, nil
		}
		following, err := s.request(context.Background(), c.source, c.tag, c.step)
		if err != nil {
			return 0, err
		}
		c.current.Store(following)
	}
}

// A CosIDChain has a chain of segments. A worker appends a segment to it when a caller has found the chain used up, and each second. As
// long as callers find it used up, each one is twice as long as the one before.
type CosIDChain struct {
	source segment.Source
	tag    string
	step   int64

	head   atomic.Pointer[cosIDSegment] // it, or one after it, is the first that is not used up
	hunger atomic.Int64                 // when a caller last found the chain used up, in seconds since 1970

	wake   chan struct{}
	worker sync.WaitGroup
	ctx    context.Context
	cancel context.CancelFunc

	// Only the worker uses these fields.
	tail     *cosIDSegment
	distance int64 // the length of the last segment that was appended because of hunger, in steps
}

// The constants of CosId.
const (
	cosIDDistance    = 2 // how many steps are to be left in the chain
	cosIDMaxDistance = 100_000_000
	cosIDPeriod      = time.Second
	cosIDHunger      = 5 // for how many seconds the hunger of a caller counts
)

// NewCosIDChain returns a CosIDChain. The caller must call Close.
func NewCosIDChain(src segment.Source, tag string, step int64) *CosIDChain {
	c := &CosIDChain{source: src, tag: tag, step: step, wake: make(chan struct{}), tail: new(cosIDSegment), distance: cosIDDistance}
	c.hunger.Store(math.MinInt32)
	c.head.Store(c.tail)
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.worker.Go(c.work)
	return c
}

// Close waits for the worker.
func (c *CosIDChain) Close() {
	c.cancel()
	c.worker.Wait()
}

// Next returns the next number.
func (c *CosIDChain) Next() (int64, error) {
	for {
		for s := c.head.Load(); s != nil; s = s.follow.Load() {
			if n, ok := s.take(); ok {
				c.forward(s)
				return n, nil
			}
		}
		head := c.head.Load()
		appended, err := c.append(head, cosIDDistance)
		if err != nil {
			return 0, err
		}
		if appended {
			c.forward(head.follow.Load())
		}
		c.hunger.Store(time.Now().Unix())
		select {
		case c.wake <- struct{}{}:
		default: // the worker is running
		}
	}
}

// forward moves the head to s, unless it is there or beyond. It may move back when two callers do that at the same time: this costs
// them only the way along the chain.
func (c *CosIDChain) forward(s *cosIDSegment) {
	if s.version > c.head.Load().version {
		c.head.Store(s)
	}
}

// append appends a segment after s, unless s has one.
func (c *CosIDChain) append(s *cosIDSegment, steps int64) (bool, error) {
	if s.follow.Load() != nil {
		return false, nil
	}
	s.following.Lock()
	defer s.following.Unlock()
	if s.follow.Load() != nil {
		return false, nil
	}
	following, err := s.request(c.ctx, c.source, c.tag, min(steps*c.step, segment.MaxStep))
	if err != nil {
		return false, err
	}
	s.follow.Store(following)
	return true, nil
}

// work is the worker.
func (c *CosIDChain) work() {
	period := time.NewTicker(cosIDPeriod)
	defer period.Stop()
	for {
		c.prefetch()
		select {
		case <-c.wake:
		case <-period.C:
		case <-c.ctx.Done():
			return
		}
	}
}

// prefetch appends a segment if too few numbers are left or a caller was hungry.
func (c *CosIDChain) prefetch() {
	steps := int64(cosIDDistance)
	head := c.head.Load()
	for head != c.tail && head.next.Load() >= head.end {
		following := head.follow.Load()
		if following == nil {
			break
		}
		head = following
	}
	c.forward(head)
	if time.Now().Unix()-c.hunger.Load() < cosIDHunger {
		c.distance = min(2*c.distance, cosIDMaxDistance)
		steps = c.distance
	} else {
		c.distance = max(c.distance/2, cosIDDistance)
		if steps -= (c.tail.end - head.next.Load()) / c.step; steps <= 0 {
			return
		}
	}
	for {
		appended, err := c.append(c.tail, steps)
		if err != nil {
			return // the next prefetch tries again
		}
		for s := c.tail.follow.Load(); s != nil; s = s.follow.Load() {
			c.tail = s
		}
		if appended {
			return
		}
	}
}

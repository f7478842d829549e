package uid

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"golang.org/x/sys/cpu"

	"github.com/ringuid/ringuid/ringbuffer"
	"github.com/ringuid/ringuid/workerassign"
)

// Cached takes UIDs from a ring of them that a padding goroutine keeps full. A take is one
// atomic add, and a burst is served with time units that the clock has not reached yet, up
// to the bound of WithMaxBorrow. It is safe for concurrent use.
type Cached struct {
	// The ring's first line is read by every take, and era by every take from a span: the padding
	// keeps what lies beside them in memory, and is written, off their lines. The ring is a
	// field, not a pointer, so that a take of a zero Cached finds a zero ring.
	_    cpu.CacheLinePad
	era  atomic.Uint64 // of the spans that are good; a new one begins with each scheduled padding, and with Close
	_    cpu.CacheLinePad
	ring ringbuffer.Ring
	_    cpu.CacheLinePad

	time    *timeline
	stamper *stamper
	keeper  *keeper
	closing *closing
}

var _ Generator = (*Cached)(nil)

// NewCached makes a Cached generator: it checks the options, takes a lease of the assigner
// and fills the ring. ctx bounds that, and has no part in the generator's life: Close ends
// it. A static lease grants nothing before the next time unit begins, so its ring starts
// empty, and first takers wait for that.
//
// Errors wrap ErrOption (nothing was assigned), ErrBeforeEpoch, ErrTimeExhausted,
// ErrWorkerID or ErrLease; or, where ctx ends during the first padding, its error.
func NewCached(ctx context.Context, a workerassign.Assigner, opts ...Option) (*Cached, error) {
	cfg, keeper, hold, err := begin(ctx, a, opts)
	if err != nil {
		return nil, err
	}
	c := &Cached{
		time:    keeper.time,
		keeper:  keeper,
		closing: newClosing(),
		stamper: newStamper(cfg, keeper.time, keeper, hold),
	}
	// The first padding may send the keeper on an errand, so it must know whom to tell; but
	// there is no ring before it is padded.
	ready := make(chan struct{})
	keeper.changed = func() {
		select {
		case <-ready:
			c.ring.Kick()
		case <-keeper.ctx.Done():
		}
	}
	err = c.ring.Init(ctx, ringbuffer.Config{
		Provider:      c.stamper,
		Capacity:      1 << cfg.boostPower,
		PaddingFactor: cfg.factor,
		Interval:      cfg.interval,
		Stale:         c.stamper.stale,
		OnSchedule: func() {
			c.era.Add(1)
			keeper.time.warn(cfg)
		},
		BeforeRun:  c.stamper.readClock,
		Assist:     true,
		TakePolicy: cfg.take,
		PutPolicy:  cfg.put,
		Logger:     cfg.logger,
	})
	if err != nil {
		keeper.close(c.stamper.hold, c.stamper.used())
		return nil, fmt.Errorf("uid: the first padding failed: %w", err)
	}
	close(ready)
	return c, nil
}

// Next returns a UID. It neither allocates nor blocks while the ring has one; when it is
// empty, the take policy decides, with no bound on waiting (NextContext has one). Its errors
// wrap ErrClosed, ErrTimeExhausted (for ever), ErrEmpty or, where a rollover or a
// reservation fails, ErrLease (with ErrWorkerID when the layout has no more worker IDs).
func (c *Cached) Next() (ID, error) {
	if c != nil {
		if v, ok := c.ring.TryTake(); ok {
			return ID(v), nil
		}
	}
	return c.next(context.Background())
}

// NextContext is Next with a bound on waiting: when ctx ends first, the error wraps its
// error and says what was waited for, and no UID is used up. While the ring has a UID, ctx
// is not looked at.
func (c *Cached) NextContext(ctx context.Context) (ID, error) {
	if c != nil {
		if v, ok := c.ring.TryTake(); ok {
			return ID(v), nil
		}
	}
	return c.next(ctx)
}

// next is the rest of Next, apart so that the fast path stays small.
func (c *Cached) next(ctx context.Context) (ID, error) {
	if !c.made() {
		return 0, errNotMade
	}
	v, _, err := c.ring.Claim(ctx, 1)
	if err != nil {
		return 0, translate(err)
	}
	return ID(v), nil
}

// NextN fills dst from the front, at one atomic add for each run that it takes from. When
// the ring is empty the take policy decides, as with Next.
func (c *Cached) NextN(dst []ID) (int, error) { return c.NextNContext(context.Background(), dst) }

// NextNContext is NextN with a bound on waiting.
func (c *Cached) NextNContext(ctx context.Context, dst []ID) (int, error) {
	if !c.made() {
		return 0, errNotMade
	}
	n := 0
	for n < len(dst) {
		first, got, err := c.ring.Claim(ctx, int64(len(dst)-n))
		if err != nil {
			return n, translate(err)
		}
		part := dst[n : n+int(got)]
		for i := range part {
			part[i] = ID(first + int64(i))
		}
		n += len(part)
	}
	return n, nil
}

// translate gives the ring's errors the generator's names. The ring lets neither its ErrClosed nor
// its ErrExhausted be found in what a take policy of the user's returns; what such a one returned
// of another generator's end is masked here.
func translate(err error) error {
	switch {
	case errors.Is(err, ringbuffer.ErrClosed):
		return ErrClosed
	case errors.Is(err, ErrClosed), errors.Is(err, ErrTimeExhausted) && !errors.Is(err, ringbuffer.ErrExhausted):
		return maskedError{err: err}
	}
	return err
}

// Parse takes a UID apart.
func (c *Cached) Parse(id ID) Parts {
	if !c.made() {
		return Parts{ID: id}
	}
	return c.time.format.Parse(id)
}

// Format returns the layout, epoch and time unit of the generator's UIDs.
func (c *Cached) Format() Format {
	if !c.made() {
		return Format{}
	}
	return c.time.format
}

// Close ends the generator: see Generator. UIDs that are in the ring are lost, which is a
// gap. It waits for what runs in the background, and for a few seconds at most for the
// lease to be given back; the error says that this failed, or wraps ErrBusy.
func (c *Cached) Close() error {
	if !c.made() {
		return nil
	}
	return c.closing.run(c.end)
}

// end is what Close does.
func (c *Cached) end() error {
	err := c.ring.Close() // after which the stamper is not called any more
	// After the ring, so that a span of the last era was claimed before.
	c.era.Add(1)
	return errors.Join(err, c.keeper.close(c.stamper.hold, c.stamper.used()))
}

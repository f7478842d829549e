package segment

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"golang.org/x/sys/cpu"

	"github.com/ringuid/ringuid/internal/safelog"
	"github.com/ringuid/ringuid/ringbuffer"
)

// noCopy, as a field, lets `go vet` find copies of a struct: it takes whatever has these methods for a lock.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}

// A Sequence hands out the numbers of one tag, from ranges of a Source that it keeps in memory. A take is one atomic
// add. A goroutine requests the next range before the current one is used up. All methods are safe for concurrent use.
//
// No number is handed out twice, by this Sequence or by another one of the same tag, in any process. The numbers that
// one process takes one after the other from one source rise. Those of several processes interleave. Numbers in
// memory are lost when the process ends, and so are ranges whose reply was lost: there are gaps.
//
// The zero value, and a nil *Sequence, has no source: its methods return errors that wrap ErrOption.
type Sequence struct {
	_    noCopy
	ring ringbuffer.Ring
	_    cpu.CacheLinePad
	enc  encoding // written only by New

	tag      string
	provider *provider
	cfg      config
	closed   atomic.Bool
}

// closeTimeout is how long Close waits for code of the source or of a policy that is still running, as Close of the ring does.
const closeTimeout = 5 * time.Second

// logTimeout is how long Close waits for log records to be written.
const logTimeout = time.Second

// errNotMade is the error of methods of a Sequence that New has not made.
var errNotMade = fmt.Errorf("%w: the Sequence must be created by New", ErrOption)

// New returns a Sequence of a tag. It requests the first ranges, and returns the source's error if none arrives: one
// that wraps ErrNoTag if there is no such tag. ctx limits only New. Invalid arguments are errors that wrap ErrOption
// or ErrTag. The caller must call Close, and closes the source's database or client after that.
func New(ctx context.Context, src Source, tag string, opts ...Option) (*Sequence, error) {
	cfg, err := newConfig(opts)
	if err != nil {
		return nil, err
	}
	return newSequence(ctx, src, tag, cfg, nil)
}

// newSequence returns a Sequence. prepare, if not nil, changes the provider before its first use.
func newSequence(ctx context.Context, src Source, tag string, cfg config, prepare func(*provider)) (*Sequence, error) {
	if err := CheckTag(tag); err != nil {
		return nil, err
	}
	sources, err := membersOf(src)
	if err != nil {
		return nil, err
	}
	s := &Sequence{tag: tag, cfg: cfg}
	s.provider = &provider{tag: tag, sources: sources, cfg: &s.cfg, ring: s.ring.Stats, recent: recent{window: cfg.window, start: time.Now()}}
	if prepare != nil {
		prepare(s.provider)
	}
	log := slog.New(slog.DiscardHandler)
	if s.provider.queue == nil {
		log = cmp.Or(cfg.logger, slog.Default()).With("tag", tag)
		s.provider.log = safelog.NewQueue(log)
	}
	err = s.ring.Init(ctx, ringbuffer.Config{
		Provider:      s.provider,
		Capacity:      cfg.capacity,
		PaddingFactor: paddingFactor,
		Interval:      s.provider.recent.interval(),
		OnSchedule:    func() { s.provider.recent.sample(func() uint64 { return s.ring.Stats().Taken }) },
		TakePolicy:    takePolicy{s.provider, cfg.takePolicy, cfg.maxWait},
		Logger:        log,
	})
	if err != nil {
		return nil, err
	}
	s.enc = s.provider.encoding()
	return s, nil
}

// paddingFactor lets the ring request the next range when one is used up. (With more than 128 ranges, it requests
// several then.)
const paddingFactor = 99

// Tag returns the tag.
func (s *Sequence) Tag() string {
	if s == nil {
		return ""
	}
	return s.tag
}

// Next returns the next number, at least 1. If none is in memory, it waits: see WithMaxWait and WithTakePolicy. It
// returns an *EmptyError (ErrEmpty) if none arrives, and ErrClosed after Close. With an error the number is 0.
func (s *Sequence) Next() (int64, error) {
	if s != nil && s.enc.stride == 1 { // before the atomic add, which later loads have to wait for
		if v, ok := s.ring.TryTake(); ok {
			return v, nil
		}
	}
	return s.take(context.Background())
}

// NextContext is like Next, but waits no longer than until ctx ends. If a number is in memory, ctx is not checked.
func (s *Sequence) NextContext(ctx context.Context) (int64, error) {
	if s != nil && s.enc.stride == 1 { // before the atomic add, which later loads have to wait for
		if v, ok := s.ring.TryTake(); ok {
			return v, nil
		}
	}
	return s.take(ctx)
}

// take is Next for numbers with a stride, and the slow path of Next for those without.
//
//go:noinline
func (s *Sequence) take(ctx context.Context) (int64, error) {
	if s != nil && s.enc.stride != 1 {
		if v, ok := s.ring.TryTake(); ok {
			return s.enc.number(v), nil
		}
	}
	r, err := s.Claim(ctx, 1)
	return r.First, err
}

// NextN fills dst with numbers from the front, and returns how many it filled in: len(dst), or fewer and an error of
// Next. The numbers rise, if there is only one source; they need not be consecutive.
func (s *Sequence) NextN(dst []int64) (int, error) {
	return s.NextNContext(context.Background(), dst)
}

// NextNContext is like NextN, but waits no longer than until ctx ends.
func (s *Sequence) NextNContext(ctx context.Context, dst []int64) (int, error) {
	return fill(dst, func(n int64) (Range, error) { return s.Claim(ctx, n) })
}

// fill fills dst with the numbers of claims.
func fill(dst []int64, claim func(n int64) (Range, error)) (int, error) {
	for n := 0; ; {
		if n == len(dst) {
			return n, nil
		}
		r, err := claim(int64(len(dst) - n))
		if err != nil {
			return n, err
		}
		for i := range r.Length {
			dst[n] = r.First + i*r.Stride
			n++
		}
	}
}

// Claim takes up to n numbers with one atomic add, as a Range: at least one, and fewer than n if the range in memory
// ends before. It waits as Next does. It is for callers that pass on whole ranges. An n less than 1 is an error that
// wraps ErrOption.
func (s *Sequence) Claim(ctx context.Context, n int64) (Range, error) {
	if s == nil || s.provider == nil {
		return Range{}, errNotMade
	}
	if n < 1 {
		return Range{}, fmt.Errorf("%w: the number of numbers to claim is %d; must be at least 1", ErrOption, n)
	}
	if r, ok := s.tryClaim(n); ok {
		return r, nil
	}
	limited, cancel := context.WithTimeoutCause(ctx, s.cfg.maxWait, fmt.Errorf("%w: within %v", errNotInTime, s.cfg.maxWait))
	defer cancel()
	first, got, err := s.ring.Claim(limited, n)
	if err == nil {
		return s.rangeOf(first, got), nil
	}
	err = s.translate(ctx, err)
	if empty, ok := err.(*EmptyError); ok && empty.hopeless {
		// While the take policy ran, a range may have been put before the source refused to return another one.
		if r, ok := s.tryClaim(n); ok {
			return r, nil
		}
	}
	return Range{}, err
}

// tryClaim is Claim of what is in memory. It reports whether that is anything.
func (s *Sequence) tryClaim(n int64) (Range, bool) {
	first, got := s.ring.TryClaim(n)
	if got == 0 {
		return Range{}, false
	}
	return s.rangeOf(first, got), true
}

// rangeOf returns the numbers of integers of the ring.
func (s *Sequence) rangeOf(first, got int64) Range {
	if s.enc.stride != 1 {
		first = s.enc.number(first)
	}
	return Range{First: first, Length: got, Stride: s.enc.stride}
}

// Close ends the Sequence: Next returns ErrClosed, waiting calls return, and no goroutine runs on, unless the error
// wraps ErrBusy because the source or a policy still runs after 5 seconds. The numbers in memory are lost. It may be
// called more than once. Close of a nil Sequence does nothing.
func (s *Sequence) Close() error {
	if s == nil || s.provider == nil {
		return nil
	}
	s.closed.Store(true)
	err := s.ring.Close()
	if s.provider.log != nil {
		s.provider.log.Flush(logTimeout)
	}
	if err != nil {
		return fmt.Errorf("%w: tag %q: %w", ErrBusy, s.tag, mask(err))
	}
	return nil
}

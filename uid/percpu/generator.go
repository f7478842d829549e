package percpu

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/cpu"

	"github.com/ringuid/ringuid/uid"
)

// ErrOption says that an option cannot be used.
var ErrOption = errors.New("percpu: bad option")

// Generator is a front on a uid.Cached: a uid.Generator, safe for concurrent use. New makes one; the
// calls of a nil or a zero Generator return an error that wraps ErrOption, or nothing.
type Generator struct {
	// The shards, one for each P. They are only written when GOMAXPROCS has grown: replaced by
	// more of them, and the old ones' spans become gaps. The first is stored before their count,
	// and loaded after it, so there are at least as many as the count says. A zero Generator has
	// a count of 0, so the look whether there is a shard finds it out too.
	_     cpu.CacheLinePad
	count atomic.Int64
	first atomic.Pointer[shard] // of an array
	_     cpu.CacheLinePad

	from     *uid.Cached
	maxBlock int
	err      error // what is wrong with the options
	growing  sync.Mutex
	pins     pins
}

var _ uid.Generator = (*Generator)(nil)

// shard is what one P has, on cache lines of its own.
type shard struct {
	_     cpu.CacheLinePad
	block uid.Block // belongs to the goroutine that is pinned to the P
	// filling is held by who claims the next span, by a send: of many goroutines that find
	// the span spent, and perhaps wait for the ring, one claims.
	filling chan struct{}
	_       cpu.CacheLinePad
}

// An Option sets one thing about a Generator.
type Option func(*Generator)

// WithMaxBlock bounds the spans that a P claims: 1 to uid.MaxBlock, which is the default. A
// lower bound narrows the interleaving and the gaps, and makes Ps share more often.
func WithMaxBlock(n int) Option {
	return func(g *Generator) {
		if g.err == nil && (n < 1 || n > uid.MaxBlock) {
			g.err = fmt.Errorf("%w: spans of at most %d UIDs, 1 to %d is needed", ErrOption, n, uid.MaxBlock)
		}
		g.maxBlock = n
	}
}

// New makes a front on c, which may be used beside it. With an option that cannot be used,
// or without c, each call returns an error that wraps ErrOption.
func New(c *uid.Cached, opts ...Option) *Generator {
	g := &Generator{from: c, maxBlock: uid.MaxBlock}
	for _, opt := range opts {
		if opt == nil {
			g.err = fmt.Errorf("%w: an option is nil", ErrOption)
			continue
		}
		opt(g)
	}
	if c == nil {
		g.err = fmt.Errorf("%w: the generator is nil", ErrOption)
	}
	g.grow()
	return g
}

// errNotMade is the error of the calls of a Generator that New did not make.
var errNotMade = fmt.Errorf("%w: the front is nil or the zero value; New must make it", ErrOption)

// Next returns a UID. It neither allocates nor blocks while the P has a span; else it claims
// one, and then does and returns what uid.Cached.Next does.
func (g *Generator) Next() (uid.ID, error) {
	if g == nil {
		return 0, errNotMade // not while pinned: nothing recovers from a fault there
	}
	p := g.pins.pin()
	if s := g.shard(p); s != nil {
		if id, ok := s.block.Next(); ok {
			g.pins.unpin(p)
			return id, nil
		}
	}
	g.pins.unpin(p)
	return g.next(context.Background(), p)
}

// NextContext is Next with a bound on waiting for the ring. While the P has a span, ctx is
// not looked at.
func (g *Generator) NextContext(ctx context.Context) (uid.ID, error) {
	if g == nil {
		return 0, errNotMade
	}
	p := g.pins.pin()
	id, ok := g.take(p)
	g.pins.unpin(p)
	if ok {
		return id, nil
	}
	return g.next(ctx, p)
}

// shard returns the shard of P p, nil if there is none.
func (g *Generator) shard(p int) *shard {
	if uint64(p) >= uint64(g.count.Load()) {
		return nil
	}
	return (*shard)(unsafe.Add(unsafe.Pointer(g.first.Load()), uintptr(p)*unsafe.Sizeof(shard{})))
}

// take takes a UID from the span of P p, to which the goroutine is pinned.
func (g *Generator) take(p int) (uid.ID, bool) {
	if s := g.shard(p); s != nil {
		return s.block.Next()
	}
	return 0, false
}

// next is the rest of Next: it claims another span for a P whose span is spent.
func (g *Generator) next(ctx context.Context, p int) (uid.ID, error) {
	if g.err != nil {
		return 0, g.err
	}
	if g.from == nil {
		return 0, errNotMade
	}
	s := g.shard(p)
	if s == nil {
		g.grow()
		p = 0 // the P's number may lie beyond GOMAXPROCS by now
		s = g.shard(p)
	}
	filling := s.filling
	select {
	case filling <- struct{}{}:
	default: // apart, because this select is cheaper without it
		select {
		case filling <- struct{}{}:
		case <-ctx.Done():
			return 0, fmt.Errorf("percpu: gave up waiting for a span: %w", context.Cause(ctx))
		}
	}
	defer func() { <-filling }()
	for {
		// Who held filling before may have claimed one; and this may be another P by now.
		now := g.pins.repin(p)
		id, ok := g.take(now)
		size := uid.MinBlock
		if s := g.shard(now); s != nil {
			size = min(s.block.NextSize(), g.maxBlock)
		}
		g.pins.unpin(now)
		if ok {
			return id, nil
		}
		span, err := g.from.Claim(ctx, size)
		if err != nil {
			return 0, err
		}
		if id, ok = span.Next(); !ok {
			continue // too old already, or closed
		}
		// If the P has been given another meanwhile, what is left of that is a gap: there
		// are no more who claim at a time than Ps, so it is seldom and little.
		now = g.pins.repin(p)
		if s := g.shard(now); s != nil {
			s.block = span.Move()
		}
		g.pins.unpin(now)
		return id, nil
	}
}

// grow sees to it that there are shards for all Ps.
func (g *Generator) grow() {
	g.growing.Lock()
	defer g.growing.Unlock()
	n := g.pins.count()
	if int64(n) <= g.count.Load() {
		return
	}
	all := make([]shard, n)
	for p := range all {
		all[p].filling = make(chan struct{}, 1)
	}
	g.first.Store(&all[0])
	g.count.Store(int64(n))
}

// NextN fills dst from the front, as uid.Cached.NextN does: a batch needs no span.
func (g *Generator) NextN(dst []uid.ID) (int, error) {
	switch {
	case g == nil || g.err == nil && g.from == nil:
		return 0, errNotMade
	case g.err != nil:
		return 0, g.err
	}
	return g.from.NextN(dst)
}

// Parse takes a UID apart. Without a Cached generator there are no parts but the UID.
func (g *Generator) Parse(id uid.ID) uid.Parts {
	if g == nil || g.from == nil {
		return uid.Parts{ID: id}
	}
	return g.from.Parse(id)
}

// Close closes the Cached generator, and with it ends all spans.
func (g *Generator) Close() error {
	if g == nil || g.from == nil {
		return nil
	}
	return g.from.Close()
}

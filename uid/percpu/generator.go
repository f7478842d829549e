package percpu

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/cpu"

	"github.com/ringuid/ringuid/internal/errmask"
	"github.com/ringuid/ringuid/internal/options"
	"github.com/ringuid/ringuid/uid"
)

// ErrOption is returned for an invalid option, and by a Generator that New has not created.
var ErrOption = errors.New("percpu: invalid option")

// Generator is a uid.Generator that takes its UIDs from a uid.Cached. It is safe for concurrent use.
// New returns a Generator. The methods of a nil or a zero Generator return an error that wraps
// ErrOption, or do nothing.
type Generator struct {
	// There is one shard for each P. count is the number of shards, and first points to the first
	// element of their array. Both are written only by New and when GOMAXPROCS has grown: then a
	// longer array replaces the old one, and the UIDs in the old blocks become gaps. first is
	// stored before count and loaded after it, so the array has at least count elements. In a zero
	// Generator count is 0, so the check for a shard also detects a Generator that is not
	// initialized.
	_     cpu.CacheLinePad
	count atomic.Int64
	first atomic.Pointer[shard]
	_     cpu.CacheLinePad

	from     *uid.Cached
	maxBlock int
	err      error      // the first invalid option; each call returns it
	growing  sync.Mutex // held while the shards are replaced
	pins     pins
}

var _ uid.Generator = (*Generator)(nil)

// shard is the state of one P, on cache lines of its own.
type shard struct {
	_     cpu.CacheLinePad
	block uid.Block // only the goroutine that is pinned to the P may access it
	// filling is a lock for claiming the next block; a send acquires it. If many goroutines find
	// the block used up, and perhaps must wait for the ring, only one of them claims.
	filling chan struct{}
	_       cpu.CacheLinePad
}

// An Option configures a Generator.
type Option interface{ apply(*Generator) }

type option func(*Generator)

func (o option) apply(c *Generator) { o(c) }

// WithMaxBlock sets the greatest number of UIDs in a block: 1 to uid.MaxBlock, which is the default. With
// a lower maximum UIDs interleave less and gaps are smaller, but Ps access the Cached generator more
// often.
func WithMaxBlock(n int) Option {
	return option(func(g *Generator) {
		if n < 1 || n > uid.MaxBlock {
			g.fail("maximum block is %d UIDs; must be 1 to %d", n, uid.MaxBlock)
		}
		g.maxBlock = n
	})
}

// New returns a Generator that takes its UIDs from c. The program may use c directly at the same
// time. The clock and the policies of c may take UIDs from c, but not from the Generator: such a call
// may wait for the one in which it is made. If c is nil or an option is invalid, each call of the
// Generator returns an error that wraps ErrOption.
func New(c *uid.Cached, opts ...Option) *Generator {
	g := &Generator{from: c, maxBlock: uid.MaxBlock}
	if c == nil {
		g.fail("the uid.Cached is nil; pass New one that uid.NewCached returned")
	}
	options.Apply(opts, func(o Option) { o.apply(g) }, g.fail)
	g.grow()
	return g
}

// fail records the first invalid argument.
func (g *Generator) fail(format string, args ...any) {
	options.SetError(&g.err, ErrOption, format, args...)
}

// errNotMade is returned by the methods of a nil or a zero Generator.
var errNotMade = fmt.Errorf("%w: the percpu.Generator is nil or the zero value; call New to get one", ErrOption)

// Next returns a UID. While the P has a block, Next neither allocates nor blocks. Otherwise it claims a
// block from the Cached generator, and then blocks and fails as uid.Cached.Next does.
func (g *Generator) Next() (uid.ID, error) {
	if g == nil {
		return 0, errNotMade // checked here, because a nil dereference while the goroutine is pinned would crash the process
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

// NextContext is like Next, but stops waiting for the ring when ctx ends. While the P has a block, ctx
// is not checked.
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

// shard returns the shard of P p, or nil if there is none.
func (g *Generator) shard(p int) *shard {
	if uint64(p) >= uint64(g.count.Load()) {
		return nil
	}
	return (*shard)(unsafe.Add(unsafe.Pointer(g.first.Load()), uintptr(p)*unsafe.Sizeof(shard{})))
}

// take takes a UID from the block of P p. The goroutine must be pinned to p.
func (g *Generator) take(p int) (uid.ID, bool) {
	if s := g.shard(p); s != nil {
		return s.block.Next()
	}
	return 0, false
}

// next is the slow path of Next. It claims another block for P p, whose block is used up.
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
		p = 0 // GOMAXPROCS may have shrunk meanwhile, so that p no longer exists
		s = g.shard(p)
	}
	filling := s.filling
	select {
	case filling <- struct{}{}:
	default: // a second select, because the first one is cheaper without ctx
		select {
		case filling <- struct{}{}:
		case <-ctx.Done():
			return 0, fmt.Errorf("percpu: gave up waiting for a block: %w", errmask.Ended(ctx, uid.ErrClosed, uid.ErrTimeExhausted, uid.ErrLease))
		}
	}
	defer func() { <-filling }()
	for {
		// The previous holder of filling may have claimed a block. The goroutine may have moved to
		// another P.
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
		block, err := g.from.Claim(ctx, size)
		if err != nil {
			return 0, err
		}
		if id, ok = block.Next(); !ok {
			continue // the block is too old already, or the generator is closed
		}
		// If the P has got another block meanwhile, what is left of that one becomes a gap. At
		// most one goroutine per P claims at any time, so this is rare and the gap is small.
		now = g.pins.repin(p)
		if s := g.shard(now); s != nil {
			s.block = block.Move()
		}
		g.pins.unpin(now)
		return id, nil
	}
}

// grow replaces the shards by more of them if there are fewer shards than Ps.
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

// NextN fills dst from its beginning as uid.Cached.NextN does. It claims no block.
func (g *Generator) NextN(dst []uid.ID) (int, error) {
	if err := g.check(); err != nil {
		return 0, err
	}
	return g.from.NextN(dst)
}

// NextNContext is like NextN, but stops waiting when ctx ends, as uid.Cached.NextNContext does.
func (g *Generator) NextNContext(ctx context.Context, dst []uid.ID) (int, error) {
	if err := g.check(); err != nil {
		return 0, err
	}
	return g.from.NextNContext(ctx, dst)
}

// All returns the iterator of uid.Cached.All, which claims blocks of its own.
func (g *Generator) All(ctx context.Context) iter.Seq2[uid.ID, error] {
	if err := g.check(); err != nil {
		return func(yield func(uid.ID, error) bool) { yield(0, err) }
	}
	return g.from.All(ctx)
}

// check returns the error of a Generator that cannot be used.
func (g *Generator) check() error {
	if g == nil || g.err == nil && g.from == nil {
		return errNotMade
	}
	return g.err
}

// Parse splits a UID into its parts. Without a Cached generator it returns only the UID.
func (g *Generator) Parse(id uid.ID) uid.Parts {
	if g == nil || g.from == nil {
		return uid.Parts{ID: id}
	}
	return g.from.Parse(id)
}

// Renew replaces the lease of the Cached generator, as its Renew does, which invalidates the blocks of all Ps: a call that begins
// after Renew has returned gets no UID of the former lease. If New was given an invalid argument, Renew returns an error that wraps
// ErrOption, and does nothing.
func (g *Generator) Renew(ctx context.Context) error {
	if err := g.check(); err != nil {
		return err
	}
	return g.from.Renew(ctx)
}

// Close closes the Cached generator, which invalidates all blocks, as Renew does.
func (g *Generator) Close() error {
	if g == nil || g.from == nil {
		return nil
	}
	return g.from.Close()
}

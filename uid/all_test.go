package uid

import (
	"context"
	"errors"
	"iter"
	"testing"
)

// registrationContext is a context that counts the functions that are registered with it.
type registrationContext struct {
	context.Context
	done       chan struct{}
	registered int
}

func (c *registrationContext) Done() <-chan struct{} { return c.done }

func (c *registrationContext) AfterFunc(func()) func() bool {
	c.registered++
	return func() bool { c.registered--; return true }
}

// A loop body that panics, breaks or ends leaves nothing registered with the context.
func TestAllRegistersNothingWithItsContext(t *testing.T) {
	c := newCached(t, new(disposableAssigner))
	ctx := &registrationContext{Context: context.Background(), done: make(chan struct{})}
	for range 1_000 {
		func() {
			defer func() { recover() }()
			for range c.All(ctx) {
				panic("in the loop's body")
			}
		}()
		for range c.All(ctx) {
			break
		}
	}
	if ctx.registered != 0 {
		t.Errorf("%d functions are still registered with the context", ctx.registered)
	}
}

// When its context ends, a loop that has taken few UIDs ends before the next one, and a loop that has
// taken many ends within maxUnchecked UIDs.
func TestAllEndsSoonAfterItsContext(t *testing.T) {
	c := newCached(t, new(disposableAssigner), WithScheduleInterval(0))
	for _, before := range []int{1, 2, 10, 16, 17, 100, 1_000, 5_000} {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		after, n := 0, 0
		for _, err := range c.All(ctx) {
			if err != nil {
				if !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
				continue
			}
			if n++; n == before {
				cancel()
			} else if n > before {
				after++
			}
		}
		if after > maxUnchecked || before <= 17 && after > 0 {
			t.Errorf("%d UIDs after the end of the context, which ended after %d", after, before)
		}
	}
}

func TestAllEnds(t *testing.T) {
	c := newCached(t, new(disposableAssigner))
	reason := errors.New("enough")
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	n, ends := 0, 0
	for id, err := range c.All(ctx) {
		if n++; n == 10 {
			cancel(reason)
		}
		if err == nil {
			continue
		}
		if ends++; id != 0 || !errors.Is(err, reason) {
			t.Errorf("the last element is %d, %v", id, err)
		}
	}
	if n < 11 || n > 10+MaxBlock+1 || ends != 1 {
		t.Errorf("%d UIDs and %d errors", n-ends, ends)
	}
	for id, err := range c.All(ctx) {
		t.Logf("%d, %v", id, err)
		if err == nil {
			t.Fatal("an iterator whose context has already ended yields a UID")
		}
	}

	all := c.All(context.Background())
	var last ID
	for range 3 { // the iterator may be used again
		for id, err := range all {
			if err != nil || id <= last {
				t.Fatalf("%d, %v after %d", id, err, last)
			}
			last = id
			break
		}
	}
	n = 0
	for id, err := range all {
		if n++; n == 5 {
			c.Close()
		}
		if err != nil && (id != 0 || err != ErrClosed || n != 6) {
			t.Errorf("element %d is %d, %v", n, id, err)
		}
	}
	if n != 6 {
		t.Errorf("%d elements with a Close after 5, want 6", n)
	}
}

// countingContext is a context that counts how often it is checked.
type countingContext struct {
	context.Context
	checks int
}

func (c *countingContext) Err() error {
	c.checks++
	return c.Context.Err()
}

// A fast loop checks its context about once in maxUnchecked UIDs, and a loop that has taken few before each one.
func TestAllChecksItsContextRarely(t *testing.T) {
	c := newCached(t, new(disposableAssigner), WithScheduleInterval(0))
	ctx := &countingContext{Context: context.Background()}
	n, before := 0, 0
	for range c.All(ctx) {
		if n++; n == 10 && ctx.checks != 10 {
			t.Errorf("%d checks for the first ten UIDs", ctx.checks)
		}
		if n == 10_000 {
			before = ctx.checks
		}
		if n == 20_000 {
			break
		}
	}
	if checks := ctx.checks - before; checks > 2*10_000/maxUnchecked || checks < 10_000/maxUnchecked {
		t.Errorf("%d checks for 10,000 UIDs, want about one for %d", checks, maxUnchecked)
	}
}

// A loop ends with the first UID after Close, also in the middle of a block.
func TestAllEndsWithClose(t *testing.T) {
	for _, after := range []int{5, 100, 5_000, 5_001, 5_002, 5_003} {
		c := newCached(t, new(disposableAssigner), WithScheduleInterval(0))
		n := 0
		for _, err := range c.All(context.Background()) {
			if n++; n == after {
				c.Close()
			}
			if n > after && err != ErrClosed {
				t.Fatalf("element %d is %v after Close", n, err)
			}
		}
		if n != after+1 {
			t.Errorf("%d elements, Close came after %d", n, after)
		}
	}
}

// A taker has the calls that all types have which return UIDs.
type taker interface {
	Next() (ID, error)
	NextContext(ctx context.Context) (ID, error)
	NextN(dst []ID) (int, error)
	NextNContext(ctx context.Context, dst []ID) (int, error)
	All(ctx context.Context) iter.Seq2[ID, error]
}

// Cached, Default and Local have the same calls, whose UIDs increase. A call without a UID says why.
func TestSameCallsEverywhere(t *testing.T) {
	cached, def := newCached(t, new(disposableAssigner)), newDefault(t, new(disposableAssigner))
	for name, g := range map[string]taker{"Cached": cached, "Default": def, "Local": cached.Local()} {
		last, n := ID(0), 0
		add := func(ids ...ID) {
			for _, id := range ids {
				if id <= last {
					t.Errorf("%s: %d comes after %d", name, id, last)
				}
				last = id
				n++
			}
		}
		dst := make([]ID, 1000)
		for range 3 {
			for _, nextN := range []func() (int, error){
				func() (int, error) { return g.NextN(dst) },
				func() (int, error) { return g.NextNContext(t.Context(), dst) },
			} {
				if n, err := nextN(); n != len(dst) || err != nil {
					t.Fatalf("%s: %d UIDs, %v", name, n, err)
				}
				add(dst...)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		wanted, ended := errors.New("no more"), error(nil)
		for id, err := range g.All(ctx) {
			if err != nil {
				ended = err
				break
			}
			if add(id); n == 7000 {
				cancel()
			}
		}
		if !errors.Is(ended, context.Canceled) || n < 7000 || n > 7000+maxUnchecked {
			t.Errorf("%s: the loop ended after %d UIDs by %v", name, n, ended)
		}
		ctx, stop := context.WithCancelCause(t.Context())
		stop(wanted)
		for _, err := range g.All(ctx) {
			if ended = err; err == nil {
				t.Errorf("%s: an iteration whose context has ended yields a UID", name)
				break
			}
		}
		if !errors.Is(ended, wanted) {
			t.Errorf("%s: %v, want the cause", name, ended)
		}
	}
	local := cached.Local()
	cached.Close()
	def.Close()
	for name, g := range map[string]taker{"Cached": cached, "Default": def, "Local": local, "zero Local": new(Local), "nil Local": (*Local)(nil)} {
		want := ErrClosed
		if name == "zero Local" || name == "nil Local" {
			want = ErrOption
		}
		if n, err := g.NextN(make([]ID, 3)); n != 0 || !errors.Is(err, want) {
			t.Errorf("%s: NextN = %d, %v; want %v", name, n, err, want)
		}
		yielded := 0
		for _, err := range g.All(t.Context()) {
			if yielded++; !errors.Is(err, want) {
				t.Errorf("%s: All yields %v, want %v", name, err, want)
			}
		}
		if yielded != 1 {
			t.Errorf("%s: All yields %d elements, want one", name, yielded)
		}
	}
}

package uid

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/bitsalloc"
	"github.com/ringuid/ringuid/internal/testkit/fakeclock"
	"github.com/ringuid/ringuid/workerassign"
)

// The rows of doc/internals/design.md, section 9: the results of bad input and of faults. The rows about the
// database, and about processes that share a file, are tested with those assigners.
func TestSection9(t *testing.T) {
	t.Run("widths", func(t *testing.T) {
		for _, w := range [][3]int{{0, 22, 13}, {28, -1, 13}, {28, 22, 0}, {28, 23, 13}} {
			if _, err := bitsalloc.New(w[0], w[1], w[2]); err == nil {
				t.Errorf("bitsalloc.New%v returned a layout", w)
			} else {
				for _, n := range w {
					if !strings.Contains(err.Error(), fmt.Sprint(n)) {
						t.Errorf("the error does not name %d: %v", n, err)
					}
				}
			}
		}
	})
	t.Run("worker ID beyond the layout", func(t *testing.T) {
		a := new(disposableAssigner)
		a.lastID.Store(3)
		a.released.Store(3)
		expectBothRefuse(t, a, ErrWorkerID, "must be 0 to 3 for the 2 worker bits of layout 1-31-2-13", 1, WithLayout(layout(t, 31, 2, 13)))
	})
	t.Run("worker ID below 0", func(t *testing.T) {
		a := new(disposableAssigner)
		a.lastID.Store(-9)
		a.released.Store(-9)
		expectBothRefuse(t, a, ErrWorkerID, "worker ID is -", 1)
	})
	t.Run("epoch in the future", func(t *testing.T) {
		epoch := time.Now().Add(time.Hour).Truncate(time.Second)
		expectBothRefuse(t, new(disposableAssigner), ErrBeforeEpoch, epoch.UTC().Format(time.RFC3339), 0, WithEpoch(epoch))
	})
	t.Run("time bits exhausted at the start", func(t *testing.T) {
		expectBothRefuse(t, new(disposableAssigner), ErrTimeExhausted, "ended at 2024-11-20T21:24:16Z", 0,
			WithEpoch(time.Date(2016, 5, 20, 0, 0, 0, 0, time.UTC)))
	})
	t.Run("no lease", func(t *testing.T) {
		a, broken := new(disposableAssigner), errors.New("the store is gone")
		a.failWith(broken)
		expectBothRefuse(t, a, broken, "no worker ID was assigned: the store is gone", 0)
		expectBothRefuse(t, a, ErrLease, "the store is gone", 0)
	})
	t.Run("context ended", func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		for _, mode := range modes {
			_, err := mode.make(ctx, blockingAssigner{})
			if !errors.Is(err, context.Canceled) || !errors.Is(err, ErrLease) {
				t.Errorf("%s: %v, want ErrLease with the context's error", mode.name, err)
			}
		}
	})
	t.Run("time bits exhausted later", func(t *testing.T) { testTimeBitsEnd(t, 0) })
	t.Run("ring empty", func(t *testing.T) {
		// A static lease grants no time in advance, so its ring is empty until a second begins.
		c := newCached(t, workerassign.Static(1), WithClock(fakeclock.New(noon)), WithTakePolicy(Fail))
		id, err := c.Next()
		if !errors.Is(err, ErrEmpty) || !strings.Contains(err.Error(), "the clock must reach the next time unit first") || id != 0 {
			t.Errorf("Next() = %d, %v; want ErrEmpty with the reason", id, err)
		}
		if n, err := c.NextN(make([]ID, 3)); n != 0 || !errors.Is(err, ErrEmpty) {
			t.Errorf("NextN() = %d, %v; want 0, ErrEmpty", n, err)
		}
	})
	t.Run("Close", func(t *testing.T) {
		for _, mode := range modes {
			g, err := mode.make(context.Background(), new(disposableAssigner))
			if err != nil {
				t.Fatal(err)
			}
			id := next(t, g)
			for range 2 {
				if err := g.Close(); err != nil {
					t.Errorf("%s: Close() = %v", mode.name, err)
				}
				if id, err := g.Next(); err != ErrClosed || id != 0 {
					t.Errorf("%s: Next() = %d, %v; want 0, ErrClosed", mode.name, id, err)
				}
				if n, err := g.NextN(make([]ID, 2)); err != ErrClosed || n != 0 {
					t.Errorf("%s: NextN() = %d, %v; want 0, ErrClosed", mode.name, n, err)
				}
			}
			if p := g.Parse(id); p.WorkerID != 1 {
				t.Errorf("%s: after Close Parse() = %v", mode.name, p)
			}
			if st := g.Stats(); st.Issued != 1 {
				t.Errorf("%s: after Close Stats().Issued = %d, want 1", mode.name, st.Issued)
			}
		}
	})
	t.Run("Close wakes waiting takers", func(t *testing.T) {
		for _, mode := range modes {
			// The clock stands still, so the next unit never begins.
			g, err := mode.make(context.Background(), workerassign.Static(1), WithClock(fakeclock.New(noon)))
			if err != nil {
				t.Fatal(err)
			}
			got := make(chan error)
			for range 3 {
				go func() {
					_, err := g.Next()
					got <- err
				}()
			}
			time.Sleep(10 * time.Millisecond)
			g.Close()
			for range 3 {
				if err := <-got; err != ErrClosed {
					t.Errorf("%s: Next() = %v, want ErrClosed", mode.name, err)
				}
			}
		}
	})
}

// blockingAssigner waits until its context ends.
type blockingAssigner struct{}

func (blockingAssigner) Assign(ctx context.Context, r workerassign.Request) (workerassign.Lease, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

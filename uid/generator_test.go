package uid

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/bitsalloc"
	"github.com/ringuid/ringuid/internal/fakeclock"
	"github.com/ringuid/ringuid/workerassign"
)

// Section 9 of doc/design.md, row by row: what bad input and faults get. The rows about the
// database and about two processes on one file are tested where those assigners are.
func TestSection9(t *testing.T) {
	t.Run("widths", func(t *testing.T) {
		for _, w := range [][3]int{{0, 22, 13}, {28, -1, 13}, {28, 22, 0}, {28, 23, 13}} {
			if _, err := bitsalloc.New(w[0], w[1], w[2]); err == nil {
				t.Errorf("bitsalloc.New%v made a layout", w)
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
	t.Run("time bits spent already", func(t *testing.T) {
		expectBothRefuse(t, new(disposableAssigner), ErrTimeExhausted, "ended at 2024-11-20T21:24:16Z", 0,
			WithEpoch(time.Date(2016, 5, 20, 0, 0, 0, 0, time.UTC)))
	})
	t.Run("no lease", func(t *testing.T) {
		a, broken := new(disposableAssigner), errors.New("the store is gone")
		a.failWith(broken)
		expectBothRefuse(t, a, broken, "no worker ID was assigned: the store is gone", 0)
		expectBothRefuse(t, a, ErrLease, "the store is gone", 0)
	})
	t.Run("context over", func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		for _, mode := range modes {
			_, err := mode.make(ctx, blockingAssigner{})
			if !errors.Is(err, context.Canceled) || !errors.Is(err, ErrLease) {
				t.Errorf("%s: %v, want ErrLease, of the context", mode.name, err)
			}
		}
	})
	t.Run("time bits spent while running", func(t *testing.T) { testTimeBitsEnd(t, 0) })
	t.Run("ring empty", func(t *testing.T) {
		// A static lease grants no future, so its ring is empty until a second has begun.
		c := newCached(t, workerassign.Static(1), WithClock(fakeclock.New(noon)), WithTakePolicy(Fail))
		id, err := c.Next()
		if !errors.Is(err, ErrEmpty) || !strings.Contains(err.Error(), "the clock must reach the next time unit first") || id != 0 {
			t.Errorf("Next() = %d, %v; want ErrEmpty and why", id, err)
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
				t.Errorf("%s: Parse after Close = %v", mode.name, p)
			}
			if st := stats(g); st.Issued != 1 {
				t.Errorf("%s: Stats after Close say %d issued, want 1", mode.name, st.Issued)
			}
		}
	})
	t.Run("Close wakes who waits", func(t *testing.T) {
		for _, mode := range modes {
			// A clock that stands still: the next unit never comes.
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

// blocking is an assigner that waits for its context.
type blockingAssigner struct{}

func (blockingAssigner) Assign(ctx context.Context, r workerassign.Request) (workerassign.Lease, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

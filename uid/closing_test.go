package uid

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/leasing"
	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/leaktest"
	"github.com/ringuid/ringuid/workerassign"
)

// Close releases each lease, and only once.
func TestCloseReleasesTheLeaseOnce(t *testing.T) {
	for _, mode := range modes {
		a := new(disposableAssigner)
		for n := range int64(100) {
			g, err := mode.make(context.Background(), a)
			if err != nil {
				t.Fatal(err)
			}
			g.Close()
			g.Close()
			if got := a.released.Load(); got != n+1 {
				t.Fatalf("%s: %d leases were released, want %d", mode.name, got, n+1)
			}
		}
	}
}

// Close during takes: every call returns a UID or ErrClosed, and no goroutine remains.
func TestCloseDuringTakes(t *testing.T) {
	rounds := testkit.Amount(20, 50, 100)
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			leaktest.Check(t)
			for range rounds {
				g, err := mode.make(context.Background(), new(disposableAssigner), WithLayout(layout(t, 31, 28, 4)))
				if err != nil {
					t.Fatal(err)
				}
				var takers sync.WaitGroup
				for range 4 {
					takers.Go(func() {
						for {
							if id, err := g.Next(); err != nil {
								if err != ErrClosed || id != 0 {
									t.Errorf("Next() = %d, %v; want ErrClosed", id, err)
								}
								return
							}
						}
					})
				}
				time.Sleep(300 * time.Microsecond)
				g.Close()
				takers.Wait()
			}
		})
	}
}

// A thousand generators of each kind, with worker IDs from a file, leave neither goroutines nor file
// descriptors behind.
func TestGeneratorsLeakNothing(t *testing.T) {
	generators := testkit.Amount[int64](100, 200, 1_000)
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			leaktest.Check(t)
			a := workerassign.NewFile(filepath.Join(t.TempDir(), "worker"))
			for want := range generators {
				g, err := mode.make(context.Background(), a)
				if err != nil {
					t.Fatal(err)
				}
				if p := g.Parse(next(t, g)); p.WorkerID != want+1 {
					t.Fatalf("worker ID %d, want %d", p.WorkerID, want+1)
				}
				if err := g.Close(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// unreleasable is an assigner of a lease whose Release fails. It is also that lease.
type unreleasable struct{}

func (unreleasable) Assign(context.Context, workerassign.Request) (workerassign.Lease, error) {
	return unreleasable{}, nil
}

func (unreleasable) WorkerID() int64 { return 3 }

func (unreleasable) NotBefore() time.Time { return time.Time{} }

func (unreleasable) Reserve(context.Context, time.Time) (workerassign.Grant, error) {
	return workerassign.Grant{Until: workerassign.Unbounded()}, nil
}

func (unreleasable) Release(context.Context, time.Time) error { return errors.New("no") }

func TestCloseReportsAFailedRelease(t *testing.T) {
	for _, mode := range modes {
		g, err := mode.make(context.Background(), unreleasable{})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := g.Close(); !errors.Is(err, ErrLease) || !strings.Contains(fmt.Sprint(err), "worker ID 3 was not released") {
				t.Errorf("%s: Close() = %v", mode.name, err)
			}
		}
	}
}

// Close releases the leases concurrently, so the timeouts of failing releases do not add up.
func TestCloseReleasesLeasesConcurrently(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCached(t, &fakeAssigner{assign: func(_ context.Context, n int64) (workerassign.Lease, error) {
			return &fakeLease{id: n, release: func(ctx context.Context) error {
				<-ctx.Done()
				return ctx.Err()
			}}, nil
		}}, smallOptions(t)...)
		for c.Stats().Rollovers == 0 || c.leases.Next() == nil {
			next(t, c)
			synctest.Wait()
		}
		begin := time.Now()
		if err := c.Close(); !errors.Is(err, ErrLease) || time.Since(begin) > leasing.ReleaseTimeout {
			t.Errorf("Close() = %v, after %v", err, time.Since(begin))
		}
	})
}

// A generator whose Close has begun is not OK, and returns no UID, also while the assigner still releases the lease: the assigner was
// told already what was used of it.
func TestReleaseComesLast(t *testing.T) {
	for _, mode := range modes {
		synctest.Test(t, func(t *testing.T) {
			release := make(chan struct{})
			g, err := mode.make(t.Context(), &fakeAssigner{assign: func(_ context.Context, n int64) (workerassign.Lease, error) {
				return &fakeLease{id: n, release: func(context.Context) error {
					<-release
					return nil
				}}, nil
			}}, smallOptions(t)...)
			if err != nil {
				t.Fatal(err)
			}
			if h := g.(interface{ Health() Health }).Health(); !h.OK() {
				t.Errorf("%s: Health() = %+v", mode.name, h)
			}
			go g.Close()
			synctest.Wait()
			if h := g.(interface{ Health() Health }).Health(); !errors.Is(h.Err, ErrClosed) {
				t.Errorf("%s: while the lease is released Health() = %+v; want ErrClosed", mode.name, h)
			}
			if id, err := g.Next(); err != ErrClosed || id != 0 {
				t.Errorf("%s: while the lease is released Next() = %d, %v; want ErrClosed", mode.name, id, err)
			}
			close(release)
			g.Close()
		})
	}
}

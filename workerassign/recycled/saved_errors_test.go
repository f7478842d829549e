package recycled_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit/leasetest"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/assigntest"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// The errors of Saved name the file, and both values.
func TestSavedErrorTexts(t *testing.T) {
	inFleet(t, func(f *fleet) {
		path := filepath.Join(f.TempDir(), "lease")
		saved := func(opts ...recycled.Option) workerassign.Assigner {
			opts = append([]recycled.Option{recycled.WithHorizon(25 * time.Hour)}, opts...)
			return recycled.Saved(f.assigner(opts...), path)
		}
		assign := func(a workerassign.Assigner, r workerassign.Request) error {
			l, err := a.Assign(f.Context(), r)
			if err == nil {
				f.Fatalf("Assign returned %+v", l)
			}
			return err
		}
		lease := func() workerassign.Lease {
			l, err := saved().Assign(f.Context(), f.request())
			if err != nil {
				f.Fatal(err)
			}
			return l
		}
		l := lease()
		leasetest.WantError(t, "in use", assign(saved(), f.request()), workerassign.ErrInUse,
			"workerassign: worker ID in use: another process, or another assigner of this process, has "+path+": end it first, or use another file and another worker ID")
		until, err := l.Reserve(f.Context(), time.Now().Add(48*time.Hour))
		if err != nil {
			f.Fatal(err)
		}
		f.release(l) // used up to now; the file has that as the mark
		r := f.request()
		r.Format = "1-30-20-13"
		leasetest.WantError(t, "format", assign(saved(), r), recycled.ErrPoolFormat,
			fmt.Sprintf("recycled: the pool has another format: the format in %s is %q, and this generator's is %q; use another file and another pool for another format",
				path, "1-28-22-13", "1-30-20-13"))
		leasetest.WantError(t, "worker ID", assign(saved(recycled.WithWorkerID(7)), f.request()), workerassign.ErrOption,
			path+" has a lease on worker ID 0, and this assigner's is 7 (WithWorkerID); use a file of its own for each worker ID")
		host := time.Now().Add(24 * time.Hour)
		r = f.request()
		r.Now = func() time.Time { return host }
		leasetest.WantError(t, "clock", assign(saved(), r), recycled.ErrClockSkew, fmt.Sprintf("this host's clock shows %s, and the store's %s; must not differ by more than 5s",
			host.UTC().Format(time.RFC3339Nano), f.Dump().Now.UTC().Format(time.RFC3339Nano)))
		// A generator has used the whole span, and the clocks have not moved on.
		l = lease()
		if until, err = l.Reserve(f.Context(), until.Until); err != nil {
			f.Fatal(err)
		}
		if err := l.Release(f.Context(), until.Until); err != nil {
			f.Fatal(err)
		}
		end := until.Until.UTC().Format(time.RFC3339Nano)
		leasetest.WantError(t, "used up", assign(saved(), f.request()), recycled.ErrClockSkew,
			fmt.Sprintf("worker ID 0 is leased until %s, and must not be used before %s: set the clock of the host or of the store", end, end))
		if err := os.Remove(path); err != nil {
			f.Fatal(err)
		}
		leasetest.WantError(t, "missing", assign(saved(), f.request()), workerassign.ErrCorrupt, path+" is missing, but its lock file shows that it existed: put the original file back (a copy is refused); "+
			"or make sure that no process uses the worker ID, and delete the file and its lock file")
	}, assigntest.WithNoLoss())
	inFleet(t, func(f *fleet) { // a horizon that is less than the span, for which both are named
		path := filepath.Join(f.TempDir(), "lease")
		_, err := recycled.Saved(f.assigner(), path).Assign(f.Context(), f.request())
		leasetest.WantError(t, "span", err, workerassign.ErrOption,
			"the span is 24h0m0s; must be at most the horizon of the pool in memory store, 1m15s: create the pool with WithHorizon of at least the span")
	})
}

package recycled_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit/slottest"
	"github.com/ringuid/ringuid/stores/filestore"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/assigntest"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// Invariant 1: an assigner whose state may have been copied with the process refuses a renewal, and says why. It has granted nothing:
// after that it grants a lease as before.
func TestInvariant1RenewalIsRefused(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	slotFile := filestore.New(path("slots"))
	for name, tt := range map[string]struct {
		a    workerassign.Assigner
		want string
	}{
		"Static":     {workerassign.Static(5), "static worker ID 5 may have been copied with this process"},
		"StaticFile": {workerassign.StaticFile(5, path("static")), "static worker ID 5, and perhaps the file " + path("static")},
		"File":       {workerassign.NewFile(path("counter")), "the counter in " + path("counter")},
		"Saved": {recycled.Saved(slottest.New(t, assigntest.NewMemory(),
			recycled.WithHorizon(48*time.Hour)), path("saved")), "the lease in " + path("saved")},
		"Recycled on a slot file": {recycled.New(slotFile), slotFile.String() + ", which has no clock of its own"},
		"Recycled on a store without a clock": {slottest.New(t, assigntest.NewMemory(assigntest.WithHostClock())),
			"which has no clock of its own"},
		"Prefix": {workerassign.Prefix(workerassign.Static(5), 1, 2), "static worker ID 5"},
		"Divide": {workerassign.Divide(workerassign.NewFile(path("divided")), 2), "the counter in " + path("divided")},
	} {
		t.Run(name, func(t *testing.T) {
			r := workerassign.Request{MaxWorkerID: 1023, Format: "1-28-10-13", ReserveAhead: 30 * time.Second, Renewal: true}
			for range 2 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				l, err := tt.a.Assign(ctx, r)
				if !errors.Is(err, workerassign.ErrRenewal) || l != nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), ": close the generator, and create ") {
					t.Errorf("Assign() = %v, %v; want ErrRenewal with %q", l, err, tt.want)
				}
			}
			r.Renewal = false
			l, err := tt.a.Assign(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			if id := l.WorkerID(); name == "File" && id != 1 {
				t.Errorf("the worker ID is %d, want 1", id)
			}
			l.Release(t.Context(), time.Time{})
		})
	}
}

// requests is an assigner that records the requests, and fails while fail is set.
type requests struct {
	workerassign.Assigner
	seen *[]workerassign.Request
	fail *error
}

var errDown = errors.New("the store is down")

func (a requests) Assign(ctx context.Context, r workerassign.Request) (workerassign.Lease, error) {
	*a.seen = append(*a.seen, r)
	if *a.fail != nil {
		return nil, *a.fail
	}
	return a.Assigner.Assign(ctx, r)
}

// Prefix passes a renewal on.
func TestPrefixPassesRenewalOn(t *testing.T) {
	inFleet(t, func(f *fleet) {
		var seen []workerassign.Request
		a := workerassign.Prefix(requests{f.assigner(), &seen, new(error)}, 1, 2)
		for n, renewal := range []bool{false, true, false} {
			r := f.request()
			r.Renewal = renewal
			if _, err := a.Assign(f.Context(), r); err != nil || seen[n].Renewal != renewal {
				f.Errorf("Assign() = %v; Renewal is %t, want %t", err, seen[n].Renewal, renewal)
			}
		}
	})
}

// Invariant 1: at a renewal, Divide gives up its parents, of all formats, and releases none of them, also when their parts are released.
// The next part is of a fresh one, which is requested as a renewal. A renewal that fails gives them up, too.
func TestInvariant1DivideRenewal(t *testing.T) {
	inFleet(t, func(f *fleet) {
		var seen []workerassign.Request
		var parents []workerassign.Lease
		var fail error
		a := workerassign.Divide(requests{keepLeases{f.assigner(), func(l workerassign.Lease) { parents = append(parents, l) }}, &seen, &fail}, 1)
		assign := func(renewal bool) workerassign.Lease {
			f.Helper()
			r := f.request()
			r.Renewal = renewal
			l, err := a.Assign(f.Context(), r)
			if err != nil {
				f.Fatal(err)
			}
			f.reserve(l, 20*time.Second)
			return l
		}
		isPartOf := func(l workerassign.Lease, parent int) {
			f.Helper()
			if len(parents) != parent+1 || l.WorkerID()&31 != parents[parent].WorkerID() {
				f.Errorf("the part %d is of one of %d parents, want a part of the last one, number %d", l.WorkerID(), len(parents), parent)
			}
		}
		first := assign(false)
		isPartOf(first, 0)
		isPartOf(assign(true), 1)
		isPartOf(assign(false), 1) // it was taken after the renewal
		first.Release(f.Context(), time.Now())
		if slot := f.slot(parents[0].WorkerID()); slot.Token == "" {
			f.Error("the first parent was released: a copy may use it")
		}
		isPartOf(assign(false), 2)
		r := f.request()
		r.Renewal, fail = true, errDown
		if _, err := a.Assign(f.Context(), r); !errors.Is(err, errDown) {
			f.Errorf("Assign() = %v; want the error of the inner assigner", err)
		}
		fail = nil
		isPartOf(assign(false), 3)
		for n, r := range seen {
			if want := n == 1 || n == 3; r.Renewal != want {
				f.Errorf("request %d: Renewal is %t, want %t", n, r.Renewal, want)
			}
		}
	})
}

// Recycled on a store with a clock grants a renewal another slot. The one before stays held.
func TestRenewalOfRecycled(t *testing.T) {
	inFleet(t, func(f *fleet) {
		a := f.assigner()
		l := f.assign(a)
		r := f.request()
		r.Renewal = true
		renewed, err := a.Assign(f.Context(), r)
		if err != nil || renewed.WorkerID() == l.WorkerID() || f.slot(l.WorkerID()).Token == "" {
			f.Errorf("Assign() = %v, %v; the slot before is %+v", renewed, err, f.slot(l.WorkerID()))
		}
	})
}

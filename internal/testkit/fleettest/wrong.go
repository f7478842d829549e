package fleettest

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/ledger"
)

// A kind is what the generators of one kind do.
type kind struct {
	isRun   atomic.Bool           // by Run
	started atomic.Int64          // by Run
	taken   atomic.Int64          // UIDs, by Process.Take
	failed  atomic.Pointer[error] // the last error of NewGenerator in Run
}

// of returns the kind of generators.
func (f *Fleet) of(cached bool) *kind {
	if cached {
		return &f.kinds[1]
	}
	return &f.kinds[0]
}

// idle returns which generators of Run have not started or have not generated a UID, and nil if there are none.
func (f *Fleet) idle() error {
	for n := range f.kinds {
		k := &f.kinds[n]
		if !k.isRun.Load() || k.started.Load() > 0 && k.taken.Load() > 0 {
			continue
		}
		err := errors.New("none")
		if last := k.failed.Load(); last != nil {
			err = *last
		}
		return fmt.Errorf("%d %s generators were started, and generated %d UIDs; must be some; the last error of a start: %w",
			k.started.Load(), []string{"Default", "Cached"}[n], k.taken.Load(), err)
	}
	return nil
}

// Taken returns how many UIDs Process.Take has taken.
func (f *Fleet) Taken() int64 { return f.kinds[0].taken.Load() + f.kinds[1].taken.Load() }

// Wrong ends the fleet, and returns what is wrong, given what the ledger says of it: duplicates, what the rules do not allow,
// generators of Run that did nothing, or a ledger that saw nothing.
func (f *Fleet) Wrong(report ledger.Report) (list []error) {
	f.End()
	add := func(isWrong bool, err error) {
		if isWrong {
			list = append(list, err)
		}
	}
	add(f.Duplicates() > 0, fmt.Errorf("%d duplicates; must be none", f.Duplicates()))
	add(len(report.Violations) > 0, fmt.Errorf("the ledger has %d violations; must be none", len(report.Violations)))
	idle := f.idle()
	add(idle != nil, idle)
	add(report.Writes == 0 || report.Grants == 0 || report.Stamps == 0,
		fmt.Errorf("the ledger saw %d writes, %d grants and %d time units stamped; must be some of each", report.Writes, report.Grants, report.Stamps))
	return list
}

// Check ends the fleet, and fails the test if something is Wrong, or if there are fewer UIDs than want.
func (f *Fleet) Check(t *testing.T, want int64) {
	t.Helper()
	t.Log(f.End())
	report := f.Ledger()
	t.Log(report)
	for _, err := range f.Wrong(report) {
		t.Error(err)
	}
	if f.generated.Load() < want {
		t.Errorf("%d UIDs; want at least %d", f.generated.Load(), want)
	}
}

// WaitLeases waits until the fleet has had that many more leases, and has generated UIDs. Leases of generators that were
// started just before may count or not: see WaitAllLeases.
func (f *Fleet) WaitLeases(t *testing.T, leases int64) {
	t.Helper()
	f.WaitAllLeases(t, f.leases.Load()+leases)
}

// WaitAllLeases waits until the fleet has had that many leases in all, and generates UIDs: with Run, generators of each kind have
// generated some, and one does now.
func (f *Fleet) WaitAllLeases(t *testing.T, leases int64) {
	t.Helper()
	counter := f.Generated
	if f.of(true).isRun.Load() || f.of(false).isRun.Load() {
		counter = f.Taken
	}
	before := counter()
	testkit.Retry(t, "the fleet goes on", func() error {
		if missing, n := leases-f.leases.Load(), counter()-before; missing > 0 || n == 0 {
			return fmt.Errorf("%d leases are missing, and %d UIDs were generated; generators: %v", max(missing, 0), n, f.idle())
		}
		return f.idle()
	})
}

// WaitDuplicate waits until a UID has been generated a second time.
func (f *Fleet) WaitDuplicate(t *testing.T) {
	t.Helper()
	testkit.Eventually(t, "a UID is generated a second time: otherwise this test could not find a defect", func() bool { return f.Duplicates() > 0 })
}

// Duplicates returns how many UIDs were generated a second time.
func (f *Fleet) Duplicates() int64 { return f.duplicates.Load() }

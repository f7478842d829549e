//go:build linux && amd64

// Package clonetest copies a running machine with generators of each assigner: a virtual machine of QEMU, whose snapshot is resumed
// several times. It shows which UIDs come twice, and for how long: doc/internals/fleet.md.
package clonetest

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid"
	"github.com/ringuid/ringuid/bitsalloc"
	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/clonetest/setup"
	"github.com/ringuid/ringuid/internal/testkit/mariadbtest"
	"github.com/ringuid/ringuid/internal/testkit/testserver"
	"github.com/ringuid/ringuid/stores/sqlstore"
	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

func isPlain(g *generator) bool   { return g.group == "plain" }
func isRenewed(g *generator) bool { return g.group == "renewed" }

// isLeased reports whether the generator has a lease that each extension protects (R4).
func (g *generator) isLeased() bool { return strings.HasPrefix(g.assigner, "recycled.") }

// isStrict reports whether the clock of a copy must be corrected before Renew.
func (g *generator) isStrict() bool { return g.assigner == setup.StrictClock }

// isRefused reports whether Renew must be refused, because the assigner's state is copied too.
func (g *generator) isRefused() bool {
	return slices.Contains([]string{"recycled.Saved", "filestore.New", "NewFile", "StaticFile", "Static"}, g.assigner)
}

// enough is how many UIDs show something.
const enough = 20

// timeShift is where the time of a UID begins, in the layout of all generators.
const timeShift = 20 + 13

// A machine is copied while it runs: two copies are resumed at once, and a third one later. Renew is called in each for half of the
// generators. It shows
//   - R4: with recycled worker IDs, no UID comes twice that the loser has taken after its next extension, which finds the lease void;
//   - Invariant 1: after Renew, no UID comes twice, or Renew returns an error that says why, and there are no UIDs any more;
//   - Invariant 1: no generator of a third process, which takes what copies have released, repeats a UID.
func TestCopiedMachine(t *testing.T) {
	testkit.Full(t, "it boots a virtual machine without hardware support, and copies it three times")
	guest := guestDirectory(t)
	server := mariadbtest.Start(t)
	var s setup.Setup
	for _, dsn := range []*string{&s.DSN, &s.SavedDSN} {
		name, db := server.Database()
		testserver.RunScript(t, db, ringuid.MySQLSchema())
		if err := recycled.CreatePool(t.Context(), sqlstore.New(db), setup.PoolOptions()...); err != nil {
			t.Fatal(err)
		}
		*dsn = server.DSN("root", "", name)
	}
	kernel, image := filepath.Join(guest, "vmlinuz"), filepath.Join(t.TempDir(), "image")
	inGuest := func(dsn string) string { return strings.Replace(dsn, "127.0.0.1", "10.0.2.2", 1) } // QEMU's name of its host
	writeImage(t, image, guest, setup.Setup{DSN: inGuest(s.DSN), SavedDSN: inGuest(s.SavedDSN)})

	machine := boot(t, kernel, image)
	original := run(t, "the original", machine, nil, "")
	original.awaitDone("start")
	original.await("UIDs", func(*generator) bool { return true }, func(g *generator) bool { return len(g.taken) >= enough })
	extensions := original.counts(func(g *generator) int { return g.extensions })
	// Soon after extensions, so that copies use the lease for almost as long as they can.
	original.await("extensions", (*generator).isLeased, func(g *generator) bool { return g.extensions > extensions[g] })
	takenAt := time.Now()
	snapshot, partial := machine.snapshot()

	first, second := load(t, kernel, image, snapshot), load(t, kernel, image, snapshot)
	pair := []*history{run(t, "the first copy", first, original, partial), run(t, "the second copy", second, original, partial)}
	for _, h := range pair {
		h.execute("copied")
	}
	awaitDuplicates(t, pair, func(g *generator) bool { return !g.isLeased() })
	for _, h := range pair {
		h.renew()
	}
	awaitLoser(t, original, pair)
	awaitDuplicates(t, pair, func(g *generator) bool { return isPlain(g) && !g.isLeased() })

	later := run(t, "the later copy", load(t, kernel, image, snapshot), original, partial)
	later.execute("copied")
	later.await("UIDs of the copy", isRenewed, func(g *generator) bool { return g.inPhase[setup.Copied] >= enough/4 || !g.voidAt.IsZero() })
	later.renew()
	awaitLoser(t, original, []*history{later}, pair...)
	awaitDuplicates(t, []*history{later, pair[0]}, func(g *generator) bool { return isPlain(g) && !g.isLeased() })
	for _, h := range []*history{pair[0], pair[1], later} {
		// A trigger on jumps of the clock would find nothing.
		h.mu.Lock()
		if least := slices.MinFunc(h.drifts, func(a, b time.Duration) int { return int(a.Abs() - b.Abs()) }); least.Abs() > time.Second {
			t.Errorf("%s: the wall clock of the guest has jumped by %v", h.name, least)
		}
		t.Logf("%s was resumed %.1f s after the snapshot; its wall clock moved against its monotonic clock by %v to %v", h.name,
			h.machine.resumed.Sub(takenAt).Seconds(), slices.Min(h.drifts), slices.Max(h.drifts))
		h.mu.Unlock()
	}
	later.execute(fmt.Sprint(time.Now().Unix()))
	later.await("UIDs after the clock was corrected", (*generator).isStrict, func(g *generator) bool { return g.inPhase[setup.Renewed] >= enough })

	// What closed copies release, others may use, while one copy continues.
	pair[0].execute("close")
	later.execute("close")
	third := takeOnHost(t, s.DSN)
	marks := pair[1].counts(func(g *generator) int { return len(g.taken) })
	pair[1].await("more UIDs", func(g *generator) bool { return !g.isStrict() && (isPlain(g) || !g.isRefused()) }, func(g *generator) bool {
		return len(g.taken) >= marks[g]+enough
	})
	pair[1].suspend()
	all := []*history{original, pair[0], pair[1], later}
	for _, h := range all {
		h.machine.end()
		h.checkLines()
	}
	check(t, all, third)
	logTable(t, pair, later)
}

// renew makes a copy call Renew, and checks what that returns, and that UIDs are taken afterwards, or fail.
func (h *history) renew() {
	h.tb.Helper()
	h.execute("renew")
	h.await("Renew", isRenewed, func(g *generator) bool {
		if g.isStrict() {
			return g.renewed != ""
		}
		refused := strings.Contains(g.renewErr, "may have been copied with this process: close the generator, and ")
		if g.isRefused() != (g.renewed == "ErrRenewal") || g.isRefused() != refused {
			h.tb.Fatalf("%s: Renew of %v returned %s, %s", h.name, g, g.renewed, g.renewErr)
		}
		if g.isRefused() {
			return strings.Contains(g.failures[setup.Renewed], g.renewErr[strings.LastIndex(g.renewErr, ": ")+2:])
		}
		return g.inPhase[setup.Renewed] >= enough
	})
}

// awaitLoser waits until of each leased generator that is not renewed one of the copies has found that it has lost its lease, and has
// taken UIDs of another one. It fails the test if UIDs still come twice, also in others, that are later than all that was granted
// before the snapshot.
func awaitLoser(t *testing.T, original *history, copies []*history, others ...*history) {
	t.Helper()
	const granted = 90 // seconds: more than 1.5 times what a generator reserves ahead, and what it borrows at this load
	all := slices.Concat(copies, others)
	for n, g := range copies[0].generators {
		if !isPlain(g) || !g.isLeased() {
			continue
		}
		last := int64(0)
		for id := range original.generators[n].taken {
			last = max(last, id>>timeShift)
		}
		testkit.Retry(t, "the loser takes another lease", func() error {
			for _, h := range all {
				h.mustRun()
				h.mu.Lock()
				defer h.mu.Unlock()
			}
			report := ""
			for _, h := range copies {
				g := h.generators[n]
				if g.inPhase[setup.Lost] >= enough {
					return nil
				}
				report += fmt.Sprintf("%s: %v, %d UIDs by phase, void at %v, errors %q; ", h.name, g, g.inPhase, g.voidAt, g.failures)
			}
			for i, h := range all {
				for id := range h.generators[n].taken {
					for _, o := range all[:i] {
						if _, ok := o.generators[n].taken[id]; ok && id>>timeShift > last+granted {
							t.Fatalf("R4: two copies extend one lease: %s and %s have returned %d; %s", h.name, o.name, id, report)
						}
					}
				}
			}
			return fmt.Errorf("%s", report)
		})
	}
}

// awaitDuplicates waits until two copies have returned the same UIDs again, of each generator that is chosen.
func awaitDuplicates(t *testing.T, copies []*history, chosen func(*generator) bool) {
	t.Helper()
	since := time.Now()
	for n, g := range copies[0].generators {
		if !chosen(g) {
			continue
		}
		testkit.Retry(t, fmt.Sprintf("%v: the copies continue to return the same UIDs", g), func() error {
			for _, h := range copies {
				h.mustRun()
				h.mu.Lock()
				defer h.mu.Unlock()
			}
			twice := 0
			for id, one := range copies[0].generators[n].taken {
				if other, ok := copies[1].generators[n].taken[id]; ok && (one.at.After(since) || other.at.After(since)) {
					twice++
				}
			}
			if twice < enough {
				return fmt.Errorf("%d of the UIDs since", twice)
			}
			return nil
		})
	}
}

// counts returns a number of each generator.
func (h *history) counts(number func(*generator) int) map[*generator]int {
	h.mu.Lock()
	defer h.mu.Unlock()
	counts := map[*generator]int{}
	for _, g := range h.generators {
		counts[g] = number(g)
	}
	return counts
}

// takeOnHost takes UIDs from generators of other processes, as the host has them, on the same tables.
func takeOnHost(t *testing.T, dsn string) map[string][]int64 {
	t.Helper()
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	layout, err := bitsalloc.New(30, 20, 13)
	if err != nil {
		t.Fatal(err)
	}
	third := map[string][]int64{}
	for n := range 4 * enough {
		name, a := "recycled.New", workerassign.Assigner(setup.Recycled(db))
		if n%4 == 0 {
			name, a = "NewDisposable", workerassign.NewDisposable(db)
		}
		g, err := uid.NewCached(testkit.Patient(t), a, uid.WithLayout(layout))
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		for range enough {
			id, err := g.NextContext(testkit.Patient(t))
			if err != nil {
				t.Fatal(err)
			}
			third[name] = append(third[name], int64(id))
		}
	}
	return third
}

package uid

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/bitsalloc"
	"github.com/ringuid/ringuid/internal/testkit"
)

// format returns a format. The arguments must be valid.
func format(t *testing.T, layout string, epoch time.Time, unit time.Duration) Format {
	t.Helper()
	l, err := bitsalloc.ParseLayout(layout)
	if err != nil {
		t.Fatal(err)
	}
	f, err := NewFormat(WithLayout(l), WithEpoch(epoch), WithTimeUnit(unit))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func day(year int, month time.Month, d int) time.Time {
	return time.Date(year, month, d, 0, 0, 0, 0, time.UTC)
}

// On 2024-11-21 the original's default format ended. Its last UID is the greatest integer, so that no
// UID sorts after it.
func TestMoveFromTheOriginalsDefaults(t *testing.T) {
	old := format(t, "1-28-22-13", day(2016, 5, 20), time.Second)
	r, err := Move{Old: old, New: format(t, "1-28-22-13", day(2024, 11, 20), time.Second), CutOver: day(2024, 11, 21)}.Check()
	if !errors.Is(err, ErrMove) || r.Safe || !r.LatestEpoch.IsZero() || !r.SafeLayout.IsZero() || r.LastOld != 1<<63-1 {
		t.Errorf("%+v, %v", r, err)
	}
	if !strings.Contains(err.Error(), "keep the old format") {
		t.Errorf("%v", err)
	}

	// Four years earlier, a move was possible. With a bit of the sequence moved to the time, UIDs of the
	// same time are half as great; with an earlier epoch they sort after the old ones.
	cut := day(2020, 11, 21)
	r, err = Move{Old: old, New: format(t, "1-29-22-12", day(2016, 5, 20), time.Second), CutOver: cut}.Check()
	if !errors.Is(err, ErrMove) || r.Safe || r.LatestEpoch.IsZero() {
		t.Fatalf("%+v, %v", r, err)
	}
	r, err = Move{Old: old, New: format(t, "1-29-22-12", r.LatestEpoch, time.Second), CutOver: cut}.Check()
	if err != nil || !r.Safe || r.FirstNew <= r.LastOld {
		t.Errorf("%+v, %v", r, err)
	}
}

// Random moves: the report agrees with the greatest old UID and the least new UID that Compose returns,
// and the epoch and widths that it offers are the best ones.
func TestMoveReports(t *testing.T) {
	testkit.WithoutRace(t)
	rng := rand.New(rand.NewPCG(1, 2))
	units := []time.Duration{time.Second, time.Second, 100 * time.Millisecond, 10 * time.Millisecond, time.Millisecond}
	cut := time.Date(2026, 11, 21, 7, 30, 0, 0, time.UTC)
	randomFormat := func(from int) Format {
		for {
			total := 40 + rng.IntN(24)
			timeBits := 26 + rng.IntN(20)
			if total-timeBits < 2 {
				continue
			}
			worker := 1 + rng.IntN(total-timeBits-1)
			f := format(t, fmt.Sprintf("1-%d-%d-%d", timeBits, worker, total-timeBits-worker),
				day(from, 1, 1).AddDate(0, 0, rng.IntN(3000)), units[rng.IntN(len(units))])
			if f.Epoch().Before(cut.AddDate(0, 0, -1)) && f.End().After(cut.AddDate(0, 0, 1)) {
				return f
			}
		}
	}
	safe, offeredEpoch, offeredWidths := 0, 0, 0
	for range 20_000 {
		cut = cut.Truncate(time.Second).Add(time.Duration(rng.IntN(1000)) * time.Millisecond)
		m := Move{Old: randomFormat(2015), New: randomFormat(2015), CutOver: cut, Ahead: time.Hour, Behind: time.Minute}
		r, err := m.Check()
		if r.Safe != (err == nil) || err != nil && !errors.Is(err, ErrMove) {
			t.Fatalf("%+v, %v", r, err)
		}
		lastOld, err1 := m.Old.Compose(cut.Add(time.Hour), m.Old.layout.MaxWorkerID(), m.Old.layout.MaxSequence())
		firstNew, err2 := m.New.Compose(cut.Add(-time.Minute), 0, 0)
		if err1 != nil || err2 != nil || r.LastOld != lastOld || r.FirstNew != firstNew || r.Safe != (firstNew > lastOld) {
			t.Fatalf("%+v of %+v; composed %d (%v) and %d (%v)", r, m, lastOld, err1, firstNew, err2)
		}
		if r.Safe {
			safe++
		}
		check := func(f Format) bool {
			r, _ := Move{Old: m.Old, New: f, CutOver: cut, Ahead: time.Hour, Behind: time.Minute}.Check()
			return r.Safe
		}
		at := func(epoch time.Time) Format {
			return mustFormat(t, WithLayout(m.New.Layout()), WithEpoch(epoch), WithTimeUnit(m.New.Unit()))
		}
		if !r.LatestEpoch.IsZero() {
			offeredEpoch++
			if !check(at(r.LatestEpoch)) || check(at(r.LatestEpoch.Add(time.Second))) {
				t.Fatalf("%v is not the latest epoch of %+v", r.LatestEpoch, m)
			}
		} else if r.Safe {
			t.Fatalf("%+v is safe, but there is no latest epoch", m)
		}
		if !r.SafeLayout.IsZero() {
			offeredWidths++
			f := m.New
			if f.layout = r.SafeLayout; !check(f) {
				t.Fatalf("widths %v of %+v are not safe", r.SafeLayout, m)
			}
			if s := r.SafeLayout.SequenceBits(); s > 1 {
				if f.layout = layout(t, 63-r.SafeLayout.WorkerBits()-s+1, r.SafeLayout.WorkerBits(), s-1); check(f) {
					t.Fatalf("widths %v of %+v do not have the fewest sequence bits", r.SafeLayout, m)
				}
			}
		}
	}
	t.Logf("%d safe moves, %d epochs and %d widths offered", safe, offeredEpoch, offeredWidths)
	if safe < 1_000 || offeredEpoch < 1_000 || offeredWidths < 1_000 {
		t.Error("too few cases of a kind")
	}
}

func TestMoveEdgeCases(t *testing.T) {
	f := format(t, "1-28-22-13", day(2026, 1, 1), time.Second)
	for name, m := range map[string]Move{
		"no formats":                         {CutOver: day(2027, 1, 1)},
		"before the new epoch":               {Old: f, New: f, CutOver: day(2025, 1, 1)},
		"after the end of the new time bits": {Old: f, New: f, CutOver: day(2035, 1, 1)},
		"a negative roll-out":                {Old: f, New: f, CutOver: day(2027, 1, 1), RollOut: -1},
		"a year above 9999":                  {Old: f, New: f, CutOver: time.Unix(1<<54, 0)},
	} {
		if r, err := m.Check(); !errors.Is(err, ErrOption) || r != (MoveReport{}) {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
	// An old format that begins after the cut-over has issued no UIDs.
	later := format(t, "1-28-22-13", day(2030, 1, 1), time.Second)
	if r, err := (Move{Old: later, New: f, CutOver: day(2027, 1, 1)}).Check(); err != nil || r.LastOld != -1 {
		t.Errorf("%+v, %v", r, err)
	}
	// The cut-over may be the new epoch.
	if r, err := (Move{Old: later, New: f, CutOver: f.Epoch()}).Check(); err != nil || r.FirstNew != 0 || !r.LatestEpoch.Equal(f.Epoch()) {
		t.Errorf("%+v, %v", r, err)
	}
	// During a gradual roll-out, old UIDs are generated for longer.
	if r, err := (Move{Old: f, New: f, CutOver: day(2027, 1, 1), RollOut: 24 * time.Hour}).Check(); !errors.Is(err, ErrMove) ||
		!r.LatestEpoch.Equal(day(2025, 12, 31).Add(-time.Hour-2*time.Minute-4*time.Second)) {
		t.Errorf("%+v, %v", r, err)
	}
	// A move without a change is unsafe for as long as UIDs may be stamped ahead.
	if r, err := (Move{Old: f, New: f, CutOver: day(2027, 1, 1)}).Check(); !errors.Is(err, ErrMove) ||
		!r.LatestEpoch.Equal(day(2026, 1, 1).Add(-time.Hour-2*time.Minute-4*time.Second)) {
		t.Errorf("%+v, %v", r, err)
	}
}

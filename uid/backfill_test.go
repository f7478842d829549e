package uid

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringuid/ringuid/bitsalloc"
	"github.com/ringuid/ringuid/internal/testkit/uniq"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// backfillFormat returns options of a layout with few UIDs for each time unit.
func backfillFormat(tb testing.TB, timeBits, workerBits, sequenceBits int) []FormatOption {
	l, err := bitsalloc.New(timeBits, workerBits, sequenceBits)
	if err != nil {
		tb.Fatal(err)
	}
	return []FormatOption{WithLayout(l)}
}

// Invariants 1 and 2: the UIDs of backfills, whose instants come in any order and which take other worker IDs, and those of generators on the
// same assigner are all different, and have the time that was asked for.
func TestBackfillIsUnique(t *testing.T) {
	opts := backfillFormat(t, 30, 20, 3)
	format, err := NewFormat(opts...)
	if err != nil {
		t.Fatal(err)
	}
	a := &disposableAssigner{}
	var set uniq.Set
	t.Cleanup(func() { t.Logf("%d UIDs", set.Len()) })
	var group sync.WaitGroup
	now := time.Now()
	for n := range 4 {
		b, err := NewBackfill(t.Context(), a, opts...)
		if err != nil {
			t.Fatal(err)
		}
		b.most = 1000
		for worker := range 2 {
			group.Go(func() {
				set := set.Writer()
				rnd := rand.New(rand.NewPCG(uint64(n), uint64(worker)))
				times := make([]time.Time, 100)
				ids := make([]ID, len(times))
				for range 300 {
					for i := range times { // the present second, too
						times[i] = now.Add(-time.Duration(rnd.Int64N(1<<rnd.IntN(13))) * time.Second)
					}
					if err := b.Fill(t.Context(), ids, times); err != nil {
						t.Error(err)
						return
					}
					for i, id := range ids {
						if at := format.Parse(id).Time; !at.Equal(times[i].Truncate(time.Second)) || id <= 0 {
							t.Errorf("UID %d has the time %v; want that of %v", id, at, times[i])
						}
						if !set.Add(int64(id)) {
							t.Errorf("UID %d came twice", id)
						}
					}
				}
			})
		}
		c, err := NewCached(t.Context(), a, WithLayout(format.Layout()))
		if err != nil {
			t.Fatal(err)
		}
		group.Go(func() {
			defer func() {
				if err := c.Close(); err != nil {
					t.Error(err)
				}
			}()
			set := set.Writer()
			for range 1000 {
				id, err := c.NextContext(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				if !set.Add(int64(id)) {
					t.Errorf("UID %d came twice", id)
				}
			}
		})
	}
	group.Wait()
}

// A unit whose UIDs are used up takes another worker ID, and only then: a Backfill uses as few as it can.
func TestBackfillTakesWorkerIDs(t *testing.T) {
	a := &disposableAssigner{}
	b, err := NewBackfill(t.Context(), a, backfillFormat(t, 30, 20, 3)...)
	if err != nil {
		t.Fatal(err)
	}
	for n := range int64(24) { // two units in turn
		for unit := range time.Duration(2) {
			id, err := b.At(DefaultEpoch().Add(unit * time.Second))
			if err != nil {
				t.Fatal(err)
			}
			if p := b.format.Parse(id); p.WorkerID != 1+n/8 || p.Sequence != n%8 {
				t.Fatalf("UID %d of unit %d: %v; want worker ID %d, sequence %d", n, unit, p, 1+n/8, n%8)
			}
		}
	}
	b.most = 2
	if id, err := b.At(DefaultEpoch().Add(time.Hour)); err != nil || b.format.Parse(id).WorkerID != 4 || len(b.counts) != 1 || len(b.workerIDs) != 1 {
		t.Fatalf("after the greatest number of units: %v, %v, %d counts", id, err, len(b.counts))
	}
	a.failWith(errors.New("the store is down"))
	for range 7 {
		if _, err := b.At(DefaultEpoch().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	ids := []ID{9, 9}
	err = b.Fill(t.Context(), ids, []time.Time{DefaultEpoch().Add(time.Hour), DefaultEpoch()})
	if !errors.Is(err, ErrLease) || ids[0] != 0 || ids[1] != 0 {
		t.Fatalf("without a worker ID: %v, %v", ids, err)
	}
	a.recover()
	if id, err := b.At(DefaultEpoch().Add(time.Hour)); err != nil || b.format.Parse(id).WorkerID != 5 || b.format.Parse(id).Sequence != 0 {
		t.Fatalf("after the failure: %v, %v", id, err)
	}
	if n := a.released.Load(); n != 0 {
		t.Errorf("%d leases were released", n)
	}
}

// The number 0 is no UID.
func TestBackfillBeginsAtOne(t *testing.T) {
	a := &disposableAssigner{}
	a.lastID.Store(-1)
	b, err := NewBackfill(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	if id, err := b.At(DefaultEpoch()); id != 1 || err != nil {
		t.Errorf("the first UID at the epoch is %d, %v; want 1", id, err)
	}
}

func TestBackfillRefusesTimes(t *testing.T) {
	b, err := NewBackfill(t.Context(), &disposableAssigner{})
	if err != nil {
		t.Fatal(err)
	}
	good := DefaultEpoch()
	for _, bad := range []time.Time{DefaultEpoch().Add(-1), b.format.End(), {}, time.Unix(1<<62, 0)} {
		ids := []ID{7, 7}
		if err := b.Fill(t.Context(), ids, []time.Time{good, bad}); !errors.Is(err, ErrRange) || ids[1] != 0 || ids[0] != 0 {
			t.Errorf("%v: %v, %v", bad, ids, err)
		}
	}
	if id, err := b.At(b.format.End().Add(-1)); err != nil || b.format.Parse(id).Delta != b.format.layout.MaxDelta() {
		t.Errorf("the last instant: %v, %v", id, err)
	}
	if err := b.Fill(t.Context(), make([]ID, 1), nil); !errors.Is(err, ErrOption) {
		t.Errorf("slices of different lengths: %v", err)
	}
	if _, err := new(Backfill).At(good); !errors.Is(err, ErrOption) {
		t.Errorf("the zero value: %v", err)
	}
	b.lock <- struct{}{}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.AtContext(ctx, good); !errors.Is(err, context.Canceled) {
		t.Errorf("while another call waits: %v", err)
	}
}

// An assigner whose worker IDs are used again is refused, and gets its lease back.
func TestBackfillRefusesAssigners(t *testing.T) {
	static, ending, late := workerassign.Static(5), &fakeAssigner{}, &disposableAssigner{}
	late.lastID.Store(1 << 22)
	released := 0
	last := &fakeLease{
		id: 1, reserve: func(_ context.Context, until time.Time) (time.Time, error) { return until.Add(-1), nil },
		release: func(context.Context) error { released++; return errors.New("the store has no disk") },
	}
	ending.assign = func(context.Context, int64) (workerassign.Lease, error) { return last, nil }
	file := filepath.Join(t.TempDir(), "static")
	for what, a := range map[string]workerassign.Assigner{
		"begins at": static, "ends at": ending, "must be 0 to 4194303": late, "the assigner is nil": nil,
		"worker ID 6": nil,
	} {
		want := ErrOption
		switch what {
		case "must be 0 to 4194303":
			want = ErrWorkerID
		case "worker ID 6":
			a = workerassign.StaticFile(6, file)
		}
		b, err := NewBackfill(t.Context(), a)
		if b != nil || !errors.Is(err, want) || !strings.Contains(fmt.Sprint(err), what) {
			t.Errorf("%s: %v, %v", what, b, err)
		}
		if said := strings.HasSuffix(fmt.Sprint(err), "; its release failed: the store has no disk"); said != (a == ending) {
			t.Errorf("%s: the error says that the release failed: %v: %v", what, said, err)
		}
	}
	if released != 1 || late.released.Load() != 1 {
		t.Error("a lease was not released")
	}
	if _, err := static.Assign(t.Context(), workerassign.Request{}); err != nil {
		t.Errorf("the static worker ID is not free: %v", err)
	}
	slots := recycled.New(&slotConnection{memory: newSlotMemory()}, recycled.WithLogger(slog.New(slog.DiscardHandler)))
	if b, err := NewBackfill(t.Context(), slots); b != nil || !errors.Is(err, ErrOption) {
		t.Errorf("worker IDs that are used again: %v, %v", b, err)
	}
	ending.assign = func(context.Context, int64) (workerassign.Lease, error) { return nil, nil }
	if _, err := NewBackfill(t.Context(), ending); !errors.Is(err, ErrLease) || !strings.Contains(err.Error(), "neither a lease nor an error") {
		t.Errorf("no lease: %v", err)
	}
	a := &disposableAssigner{}
	a.failWith(fmt.Errorf("%w: too many", workerassign.ErrWidth))
	if _, err := NewBackfill(t.Context(), a); !errors.Is(err, ErrWorkerID) {
		t.Errorf("no more worker IDs: %v", err)
	}
}

// The time bits of a layout may reach beyond the year 9999, which Format.End does not.
func TestBackfillOfWideLayout(t *testing.T) {
	b, err := NewBackfill(t.Context(), workerassign.NewFile(filepath.Join(t.TempDir(), "worker")), backfillFormat(t, 45, 10, 8)...)
	if err != nil {
		t.Fatal(err)
	}
	last := b.format.End().Add(-1)
	if id, err := b.At(last); err != nil || !b.format.Parse(id).Time.Equal(last.Truncate(time.Second)) {
		t.Errorf("%v, %v", b.format.Parse(id), err)
	}
}

// The library's assigners whose worker IDs are never used again are accepted, also behind Prefix and Divide.
func TestBackfillAccepts(t *testing.T) {
	file := workerassign.NewFile(filepath.Join(t.TempDir(), "worker"))
	seen, greatest := map[int64]bool{}, &disposableAssigner{}
	greatest.lastID.Store(1<<22 - 2)
	for _, a := range []workerassign.Assigner{file, workerassign.Prefix(file, 1, 1), workerassign.Divide(file, 2), greatest} {
		b, err := NewBackfill(t.Context(), a)
		if err != nil {
			t.Fatal(err)
		}
		id, err := b.At(DefaultEpoch().Add(time.Hour))
		if p := b.format.Parse(id); err != nil || p.Delta != 3600 || seen[p.WorkerID] {
			t.Errorf("%v, %v", p, err)
		}
		seen[b.format.Parse(id).WorkerID] = true
	}
}

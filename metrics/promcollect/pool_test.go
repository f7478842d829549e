package promcollect

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/stores/filestore"
	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// fakePool is a pool whose state a test decides.
type fakePool func(ctx context.Context) (recycled.State, error)

func (f fakePool) State(ctx context.Context) (recycled.State, error) { return f(ctx) }

// poolState returns a pool with four slots: one is held, one is free, one is held and free because its lease has ended, and one is not free yet.
func poolState(format string) recycled.State {
	now := epochTime().Add(time.Hour)
	earlier, later := now.Add(-time.Second), now.Add(time.Second)
	return recycled.State{
		Now:  now,
		Pool: recycled.Pool{Revision: 7, Format: format, First: 10, Slots: 4, Floor: now.Add(time.Minute)},
		Slots: []recycled.Slot{
			{WorkerID: 10, Revision: 1, Token: "a", FreeAt: later}, {WorkerID: 11, Revision: 1, FreeAt: earlier},
			{WorkerID: 12, Revision: 1, Token: "b", FreeAt: earlier}, {WorkerID: 13, Revision: 1, FreeAt: later},
		},
	}
}

// The metrics of a pool are those of its slots, and of its format.
func TestPool(t *testing.T) {
	for format, total := range map[string]float64{
		"1-41-10-12 2026-01-01T00:00:00Z 1ms":                                          1024 - 10,
		"1-41-10-12 2026-01-01T00:00:00Z 1ms; prefix 1 in 2 bits; divided by 3 bits":   32 - 10,
		"1-41-10-12 2026-01-01T00:00:00Z 1ms; divided by 99999999999999999999999 bits": -1,
		"1-41-10-12 2026-01-01T00:00:00Z 1ms; prefix 1 in 9 bits; divided by 1 bits":   -1,
		"of a generator that is not ours":                                              -1,
		"":                                                                             -1,
	} {
		registry := newRegistry(t, NewPoolCollector(fakePool(func(context.Context) (recycled.State, error) { return poolState(format), nil }), WithName("orders")))
		want := map[string]float64{"ok": 1, "slots": 4, "slots_held": 1, "floor_timestamp_seconds": float64(epochTime().Add(61 * time.Minute).Unix()), "failed_reads_total": 0}
		if total >= 0 {
			want["worker_ids"], want["worker_ids_remaining"] = total, total-2
		}
		for _, f := range poolFamilies() {
			name := f.name[len("ringuid_pool_"):]
			got, exported := values(t, registry, f.name, "pool")["orders"]
			if value, expected := want[name]; got != value || exported != expected {
				t.Errorf("%q: %s is %v (%v), want %v (%v)", format, name, got, exported, value, expected)
			}
		}
	}
}

// The metrics of a real pool agree with what generators take.
func TestPoolOfRecycled(t *testing.T) {
	layout := uid.WithTwitterLayout()
	pool := recycled.New(filestore.New(filepath.Join(t.TempDir(), "slots")))
	c := NewPoolCollector(pool)
	if n := values(t, newRegistry(t, c), "ringuid_pool_slots", "pool"); len(n) != 0 {
		t.Errorf("a pool that does not exist has %v slots", n)
	}
	for range 3 {
		g, err := uid.NewDefault(t.Context(), pool, layout, uid.WithLogger(slog.New(slog.DiscardHandler)))
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
	}
	var registry *prometheus.Registry
	testkit.Eventually(t, "the pool is read within three seconds", func() bool {
		registry = newRegistry(t, NewPoolCollector(pool))
		return values(t, registry, "ringuid_pool_ok", "pool")[""] == 1
	})
	for name, want := range map[string]float64{"ringuid_pool_worker_ids": 1024, "ringuid_pool_worker_ids_remaining": 1021, "ringuid_pool_slots": 3, "ringuid_pool_slots_held": 3} {
		if got := values(t, registry, name, "pool")[""]; got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
}

// The store is read at most once in each interval, for at most the timeout; concurrent scrapes share what was read. A failure is
// counted, and hides old values.
func TestPoolReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reads := 0
		var fail error
		registry := newRegistry(t, NewPoolCollector(fakePool(func(ctx context.Context) (recycled.State, error) {
			reads++
			if fail == nil {
				return poolState("1-41-10-12 2026-01-01T00:00:00Z 1ms"), nil
			}
			<-ctx.Done()
			return recycled.State{}, fail
		})))
		expect := func(what string, wantReads int, ok, failed float64, slots int) {
			t.Helper()
			if got := values(t, registry, "ringuid_pool_ok", "pool")[""]; got != ok {
				t.Errorf("%s: ok is %v", what, got)
			}
			if got := values(t, registry, "ringuid_pool_failed_reads_total", "pool")[""]; got != failed {
				t.Errorf("%s: %v failed reads", what, got)
			}
			if got := values(t, registry, "ringuid_pool_slots", "pool"); len(got) != slots || reads != wantReads {
				t.Errorf("%s: %d reads, %v", what, reads, got)
			}
		}
		expect("first", 1, 1, 0, 1)
		time.Sleep(poolInterval - 1)
		fail = errors.New("down")
		expect("within the interval", 1, 1, 0, 1)
		time.Sleep(time.Nanosecond)
		begin := time.Now()
		expect("down", 2, 0, 1, 0)
		if d := time.Since(begin); d != poolTimeout {
			t.Errorf("the scrape has waited for %v", d)
		}
		time.Sleep(poolInterval)
		fail = nil
		expect("up again", 3, 1, 1, 1)
	})
}

// While a store ignores its context, only the scrape that has called it waits for it.
func TestPoolThatIgnoresItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry := newRegistry(t, NewPoolCollector(fakePool(func(context.Context) (recycled.State, error) {
			time.Sleep(time.Hour)
			return recycled.State{}, errors.New("down")
		})))
		begin := time.Now()
		go registry.Gather()
		synctest.Wait()
		if got := values(t, registry, "ringuid_pool_ok", "pool"); len(got) != 1 || got[""] != 0 || time.Since(begin) != poolTimeout {
			t.Errorf("ok is %v after %v", got, time.Since(begin))
		}
		time.Sleep(time.Hour)
	})
}

// Invalid pools are errors of Register.
func TestPoolOptions(t *testing.T) {
	for _, c := range []prometheus.Collector{NewPoolCollector(nil), NewPoolCollector((*recycled.Assigner)(nil)), NewPoolCollector(&recycled.Assigner{}, WithLabels(prometheus.Labels{"pool": "x"}))} {
		if err := prometheus.NewRegistry().Register(c); !errors.Is(err, ErrOption) {
			t.Errorf("%v", err)
		}
	}
	// The error of State is no error of the other metrics.
	registry := newRegistry(t, NewPoolCollector(&recycled.Assigner{}), NewGeneratorCollector(newFake(t)))
	if got := values(t, registry, "ringuid_pool_ok", "pool"); len(got) != 1 || got[""] != 0 {
		t.Errorf("ok is %v", got)
	}
	if got := values(t, registry, "ringuid_uid_issued_total", "generator")[""]; got != 18 {
		t.Errorf("%v UIDs", got)
	}
}

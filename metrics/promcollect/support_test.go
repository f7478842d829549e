package promcollect

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"github.com/ringuid/ringuid/ringbuffer"
	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign"
)

// newRegistry returns a registry with collectors, which checks that they collect only what they describe.
func newRegistry(t *testing.T, collectors ...prometheus.Collector) *prometheus.Registry {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	for _, c := range collectors {
		if err := registry.Register(c); err != nil {
			t.Fatal(err)
		}
	}
	return registry
}

// gather returns the metrics of a registry.
func gather(t *testing.T, g prometheus.Gatherer) []*dto.MetricFamily {
	t.Helper()
	families, err := g.Gather()
	if err != nil {
		t.Fatal(err)
	}
	return families
}

// exposition returns the metrics of a registry as text.
func exposition(t *testing.T, g prometheus.Gatherer) string {
	t.Helper()
	var out bytes.Buffer
	for _, f := range gather(t, g) {
		if _, err := expfmt.MetricFamilyToText(&out, f); err != nil {
			t.Fatal(err)
		}
	}
	return out.String()
}

// values returns the values of a family, by the value of a label.
func values(t *testing.T, g prometheus.Gatherer, family, label string) map[string]float64 {
	t.Helper()
	found := map[string]float64{}
	for _, f := range gather(t, g) {
		if f.GetName() != family {
			continue
		}
		for _, m := range f.GetMetric() {
			key := ""
			for _, l := range m.GetLabel() {
				if l.GetName() == label {
					key = l.GetValue()
				}
			}
			if _, twice := found[key]; twice {
				t.Fatalf("%s has two metrics with %s=%q", family, label, key)
			}
			found[key] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return found
}

// names returns the names of the families of a registry.
func names(t *testing.T, g prometheus.Gatherer) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for _, f := range gather(t, g) {
		found[f.GetName()] = true
	}
	return found
}

// golden compares a text with that of a file.
func golden(t *testing.T, file, got string) {
	t.Helper()
	path := filepath.Join("testdata", file)
	if os.Getenv("RINGUID_UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the metrics are\n%s\nand %s has\n%s", got, path, want)
	}
}

// fakeGenerator is a uid.Generator with given statistics.
type fakeGenerator struct {
	uid.Generator
	stats  func() uid.Stats
	health func() uid.Health
}

func (f *fakeGenerator) Stats() uid.Stats   { return f.stats() }
func (f *fakeGenerator) Health() uid.Health { return f.health() }
func (f *fakeGenerator) Format() uid.Format { return f.stats().Format }

// epochTime returns the default epoch.
func epochTime() time.Time { return uid.DefaultEpoch() }

// exampleStats returns statistics with a different value in each field.
func exampleStats(t *testing.T) uid.Stats {
	t.Helper()
	f, err := uid.NewFormat()
	if err != nil {
		t.Fatal(err)
	}
	st := uid.Stats{
		WorkerID: 11, Format: f, End: f.End(),
		LeaseSince: epochTime().Add(12 * time.Second), LeaseUntil: epochTime().Add(1300 * time.Millisecond), LeaseBounded: true,
		WorkerIDsRemaining: 14, WorkerIDsTotal: 15, ReserveAhead: 16 * time.Second, LostLeases: 17, VoidLeases: 23, Issued: 18, RejectedTakes: 19,
		Ahead: -20 * time.Second, Rollbacks: 21, Rollovers: 22,
		Borrowed: 33 * time.Second, BorrowLimit: 34 * time.Second,
		Ring: ringbuffer.Stats{
			FailedPaddings: 28, LastFailure: epochTime().Add(29 * time.Second), Dropped: 30, Fill: 31,
			FillRuns: 32, CapacityRuns: 100,
		},
	}
	p := &st.Ring.Paddings
	p.Initial, p.Immediate, p.Scheduled, p.Caller = 24, 25, 26, 27
	return st
}

// newFake returns a generator with the statistics of exampleStats.
func newFake(t *testing.T) *fakeGenerator {
	t.Helper()
	st := exampleStats(t)
	return &fakeGenerator{
		stats: func() uid.Stats { return st },
		health: func() uid.Health {
			return uid.Health{Until: epochTime().Add(time.Hour), For: 35 * time.Second, Bounded: true}
		},
	}
}

// newCached returns a generator whose worker IDs are counted.
func newCached(t *testing.T) *uid.Cached {
	t.Helper()
	g, err := uid.NewCached(t.Context(), workerassign.NewFile(filepath.Join(t.TempDir(), "worker")), uid.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	return g
}

// newSequence returns a Sequence.
func newSequence(t *testing.T, src segment.Source, tag string, opts ...segment.Option) *segment.Sequence {
	t.Helper()
	s, err := segment.New(context.Background(), src, tag, append([]segment.Option{segment.WithLogger(slog.New(slog.DiscardHandler)), segment.WithMaxWait(0)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

package promcollect

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringuid/ringuid/bitsalloc"
	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/segment/segmenttest"
	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/assigntest"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// scrapeInterval is that of the recordings.
const scrapeInterval = 30 * time.Second

// recording is what a registry exports over a time, as promtool reads it.
type recording struct {
	t        *testing.T
	registry *prometheus.Registry
	start    time.Time
	scrapes  int
	series   map[string][]string
}

// record begins a recording.
func record(t *testing.T, collectors ...prometheus.Collector) *recording {
	return &recording{t: t, registry: newRegistry(t, collectors...), start: time.Now(), series: map[string][]string{}}
}

// run scrapes for a time. Between two scrapes it calls each once in each second, if it is not nil.
func (r *recording) run(d time.Duration, each func()) {
	r.t.Helper()
	for range d / scrapeInterval {
		r.scrape()
		for range scrapeInterval / time.Second {
			if each != nil {
				each()
			}
			time.Sleep(time.Second)
		}
	}
}

// scrape adds one value to each series, or a gap. Prometheus's tests begin at the time 0, so timestamps are relative to the start.
func (r *recording) scrape() {
	r.t.Helper()
	for _, f := range gather(r.t, r.registry) {
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
			}
			value := m.GetCounter().GetValue() + m.GetGauge().GetValue()
			if strings.HasSuffix(f.GetName(), "_timestamp_seconds") {
				value -= float64(r.start.UnixNano()) / 1e9
			}
			name := fmt.Sprintf("%s{%s}", f.GetName(), strings.Join(labels, ","))
			for len(r.series[name]) < r.scrapes {
				r.series[name] = append(r.series[name], "_")
			}
			r.series[name] = append(r.series[name], strconv.FormatFloat(value, 'f', -1, 64))
		}
	}
	r.scrapes++
}

// test returns a test for promtool: which alerts have fired at any time, and which never have.
func (r *recording) test(name string, fired, silent []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "  - name: '%s'\n    interval: %v\n    input_series:\n", name, scrapeInterval)
	for _, series := range slices.Sorted(maps.Keys(r.series)) {
		fmt.Fprintf(&b, "      - series: '%s'\n        values: '%s'\n", series, strings.Join(r.series[series], " "))
	}
	fmt.Fprintf(&b, "    promql_expr_test:\n")
	expect := func(alerts []string, samples string) {
		for _, alert := range alerts {
			fmt.Fprintf(&b, "      - expr: 'max by (alertname) (last_over_time(ALERTS{alertname=\"%s\",alertstate=\"firing\"}[10h]))'\n"+
				"        eval_time: %v\n        exp_samples: %s\n", alert, time.Duration(r.scrapes)*scrapeInterval, fmt.Sprintf(samples, alert))
		}
	}
	expect(fired, `[{labels: '{alertname="%s"}', value: 1}]`)
	expect(silent, "[] # %s")
	return b.String()
}

// situation is something that happens to a real generator or sequence.
type situation struct {
	name          string
	record        func(t *testing.T) *recording
	fired, silent []string // alerts; the latter are some that would be wrong
}

// Each alert fires on what a real generator or sequence exports in its situation, with a scrape every 30 s; and none does while all is well.
func TestAlertsFireOnRealMetrics(t *testing.T) {
	rules := readFile(t, "alerts.yml")
	var all, tests []string
	for _, m := range alertName.FindAllStringSubmatch(rules, -1) {
		all = append(all, m[1])
	}
	fired := map[string]bool{}
	situations := append(generatorSituations(), sequenceSituations()...)
	situations = append(situations, situation{name: "all is well", record: recordHealthy, silent: all})
	for _, s := range situations {
		synctest.Test(t, func(t *testing.T) { tests = append(tests, s.record(t).test(s.name, s.fired, s.silent)) })
		for _, alert := range s.fired {
			fired[alert] = true
		}
	}
	for _, alert := range all {
		if !fired[alert] {
			t.Errorf("%s has no situation", alert)
		}
	}
	directory := t.TempDir()
	for file, text := range map[string]string{
		"alerts.yml": rules,
		"test.yml":   fmt.Sprintf("rule_files: [alerts.yml]\nevaluation_interval: %v\ntests:\n%s", scrapeInterval, strings.Join(tests, "")),
	} {
		if err := os.WriteFile(filepath.Join(directory, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := promtool(t, directory, "", "test", "rules", "test.yml"); err != nil {
		t.Errorf("promtool: %v\n%s", err, out)
	}
}

// steppedClock is a clock whose wall clock can be set back.
type steppedClock struct {
	begin time.Time
	back  atomic.Int64
}

func (c *steppedClock) Now() time.Time {
	return time.Now().Round(0).Add(-time.Duration(c.back.Load()))
}
func (c *steppedClock) Monotonic() time.Duration { return time.Since(c.begin) }

// newOnFile returns a Cached generator with disposable worker IDs.
func newOnFile(t *testing.T, path string, opts ...uid.Option) *uid.Cached {
	t.Helper()
	g, err := uid.NewCached(t.Context(), workerassign.NewFile(path),
		append([]uid.Option{uid.WithEpoch(time.Date(1999, 12, 31, 0, 0, 0, 0, time.UTC)), uid.WithLogger(slog.New(slog.DiscardHandler))}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	return g
}

// smallLayout returns the options for a layout with 16 UIDs per second and 7 worker IDs, and a borrow limit of 10 s.
func smallLayout(t *testing.T) []uid.Option {
	t.Helper()
	f, err := uid.ParseFormat("1-40-3-4 1999-12-31T00:00:00Z 1s")
	if err != nil {
		t.Fatal(err)
	}
	return []uid.Option{uid.WithLayout(f.Layout()), uid.WithBoostPower(0), uid.WithMaxBorrow(10 * time.Second)}
}

// takeWithin takes n UIDs, as far as that succeeds within a millisecond.
func takeWithin(t *testing.T, g uid.Generator, n int) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	for range n {
		if _, err := g.NextContext(ctx); err != nil {
			return
		}
	}
}

func generatorSituations() []situation {
	outage := func(makeDefault bool) func(*testing.T) *recording {
		return func(t *testing.T) *recording {
			store := assigntest.NewMemory(assigntest.WithNoLoss())
			g := newOnStore(t, store, makeDefault)
			r := record(t, NewGeneratorCollector(g))
			r.run(5*time.Minute, nil)
			store.Kill()
			r.run(10*time.Minute, func() { takeWithin(t, g, 1) })
			return r
		}
	}
	return []situation{
		{"the store of the worker IDs is down", outage(false), []string{"RinguidNotOK", "RinguidLeaseNotExtended", "RinguidPaddingFails"}, nil},
		{"the store of the worker IDs of a Default is down", outage(true), []string{"RinguidNotOK", "RinguidLeaseNotExtended"}, nil},
		{"a failover of a store that can lose writes", func(t *testing.T) *recording {
			store := assigntest.NewMemory()
			g := newOnStore(t, store, false)
			r := record(t, NewGeneratorCollector(g))
			r.run(5*time.Minute, nil)
			store.Failover(0)
			r.run(10*time.Minute, func() { takeWithin(t, g, 1) })
			return r
		}, []string{"RinguidLeaseLost"}, []string{"RinguidNotOK", "RinguidLeaseNotExtended"}},
		{"a copy of the process has extended the lease", func(t *testing.T) *recording {
			store := assigntest.NewMemory(assigntest.WithNoLoss())
			g := newOnStore(t, store, false)
			r := record(t, NewGeneratorCollector(g))
			r.run(5*time.Minute, nil)
			slot := store.Dump().Slots[g.Stats().WorkerID]
			extended := slot
			extended.Revision, extended.Token, extended.Until = slot.Revision+1, strings.SplitN(slot.Token, ".", 2)[0]+".copy", slot.Until.Add(10*time.Second)
			if ok, err := store.Write(t.Context(), recycled.Write{History: store.Dump().History, Slots: []recycled.Slot{extended}, Replaced: []recycled.Slot{slot}}); !ok || err != nil {
				t.Fatalf("Write() = %t, %v", ok, err)
			}
			r.run(10*time.Minute, nil)
			return r
		}, []string{"RinguidLeaseVoid", "RinguidLeaseLost"}, []string{"RinguidNotOK"}},
		{"the store of a pool is down", func(t *testing.T) *recording {
			store := assigntest.NewMemory(assigntest.WithNoLoss())
			r := record(t, NewPoolCollector(recycled.New(store)))
			r.run(5*time.Minute, nil)
			store.Kill()
			r.run(10*time.Minute, nil)
			return r
		}, []string{"RinguidPoolNotRead"}, nil},
		{"a server has no UIDs", func(t *testing.T) *recording {
			failures := requestFailures()
			r := record(t, failures)
			r.run(5*time.Minute, nil)
			r.run(10*time.Minute, failures.WithLabelValues("/v1/uid").Inc)
			return r
		}, []string{"RinguidRequestsFail"}, nil},
		{"no worker IDs are left", func(t *testing.T) *recording {
			path := filepath.Join(t.TempDir(), "worker")
			var g *uid.Cached
			for range 7 {
				g = newOnFile(t, path, smallLayout(t)...)
			}
			r := record(t, NewGeneratorCollector(g))
			r.run(10*time.Minute, nil)
			return r
		}, []string{"RinguidWorkerIDsRunOut"}, nil},
		{"a pool is full", func(t *testing.T) *recording {
			workers := recycled.New(assigntest.NewMemory(assigntest.WithNoLoss()), recycled.WithLogger(slog.New(slog.DiscardHandler)))
			small, err := bitsalloc.New(40, 3, 4)
			if err != nil {
				t.Fatal(err)
			}
			var all []uid.Generator
			for range 8 {
				g, err := uid.NewDefault(t.Context(), workers, uid.WithLayout(small), uid.WithEpoch(time.Date(1999, 12, 31, 0, 0, 0, 0, time.UTC)))
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { g.Close() })
				all = append(all, g)
			}
			r := record(t, NewPoolCollector(workers))
			r.run(10*time.Minute, func() {
				for _, g := range all {
					takeWithin(t, g, 1)
				}
			})
			return r
		}, []string{"RinguidWorkerIDsRunOut"}, nil},
		{"the time bits end in 100 days", func(t *testing.T) *recording {
			end := time.Now().Add(100 * 24 * time.Hour)
			r := record(t, NewGeneratorCollector(newOnFile(t, filepath.Join(t.TempDir(), "worker"), uid.WithEpoch(end.Add(-(1<<28)*time.Second)))))
			r.run(10*time.Minute, nil)
			return r
		}, []string{"RinguidTimeBitsEnd"}, nil},
		{"the load is above the rate of the layout, without rollovers", func(t *testing.T) *recording {
			g := newOnFile(t, filepath.Join(t.TempDir(), "worker"), append(smallLayout(t), uid.WithRollover(false))...)
			r := record(t, NewGeneratorCollector(g))
			r.run(20*time.Minute, func() { takeWithin(t, g, 40) })
			return r
		}, []string{"RinguidBorrowNearLimit"}, []string{"RinguidRollovers"}},
		{"the load is above the rate of the layout", func(t *testing.T) *recording {
			g := newOnFile(t, filepath.Join(t.TempDir(), "worker"), uid.WithMaxBorrow(time.Minute))
			r := record(t, NewGeneratorCollector(g))
			r.run(20*time.Minute, func() { takeWithin(t, g, 10_000) })
			return r
		}, []string{"RinguidRollovers"}, nil},
		{"the clock is set back", func(t *testing.T) *recording {
			clock := &steppedClock{begin: time.Now()}
			r := record(t, NewGeneratorCollector(newOnFile(t, filepath.Join(t.TempDir(), "worker"), uid.WithClock(clock))))
			r.run(5*time.Minute, nil)
			clock.back.Store(int64(time.Minute))
			r.run(10*time.Minute, nil)
			return r
		}, []string{"RinguidClockSetBack"}, []string{"RinguidNotOK"}},
	}
}

// requestFailures returns a counter as that of ringuid serve, whose module requires this one.
func requestFailures() *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "ringuid_http_failures_total"}, []string{"route"})
	c.WithLabelValues("/v1/uid")
	return c
}

func sequenceSituations() []situation {
	// broken takes a number each second, and breaks the source after ten minutes.
	broken := func(breakIt func(src *segmenttest.Memory), d time.Duration) func(t *testing.T) *recording {
		return func(t *testing.T) *recording {
			src := newSource(t, 100, "orders")
			s := newSequence(t, src, "orders")
			r := record(t, NewSequenceCollector(s))
			next := func() { s.Next() }
			r.run(10*time.Minute, next)
			breakIt(src)
			r.run(d, next)
			return r
		}
	}
	daily := func(digits, n int) func(t *testing.T) *recording {
		return func(t *testing.T) *recording {
			d, err := segment.NewDaily(t.Context(), segmenttest.NewMemory(), "orders", digits, time.UTC, segment.WithLogger(slog.New(slog.DiscardHandler)))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { d.Close() })
			r := record(t, NewDailyCollector(d))
			r.run(5*time.Minute, nil)
			for range n {
				if _, err := d.Next(); err != nil && !errors.Is(err, segment.ErrExhausted) {
					t.Fatal(err)
				}
			}
			r.run(10*time.Minute, nil)
			return r
		}
	}
	return []situation{
		{"the source is down, and numbers are in memory", broken((*segmenttest.Memory).Kill, 9*time.Minute),
			[]string{"RinguidSegmentSourceDown", "RinguidSegmentRunsEmpty"}, []string{"RinguidSegmentRefused"}},
		{"the source is down for long", broken((*segmenttest.Memory).Kill, 20*time.Minute), []string{"RinguidSegmentNotOK"}, nil},
		{"the source hangs for long", broken((*segmenttest.Memory).Pause, 20*time.Minute), []string{"RinguidSegmentNotOK", "RinguidSegmentSourceDown"}, nil},
		{"the counter was set back", broken(func(src *segmenttest.Memory) { src.SetCounter("orders", 1) }, 10*time.Minute),
			[]string{"RinguidSegmentRefused"}, []string{"RinguidSegmentSourceDown"}},
		{"the tag was deleted", broken(func(src *segmenttest.Memory) { src.RemoveTag("orders") }, 10*time.Minute),
			[]string{"RinguidSegmentRefused"}, []string{"RinguidSegmentSourceDown"}},
		{"a day has no numbers left", daily(1, 10), []string{"RinguidSegmentExhausted"}, nil},
		{"a day has few numbers left", daily(3, 950), []string{"RinguidSegmentEndNear"}, []string{"RinguidSegmentExhausted"}},
		{"a stripe is down", func(t *testing.T) *recording {
			group, stores := newStripes(t)
			s := newSequence(t, group, "orders", segment.WithStepPolicy(segment.FixedStep{}))
			r := record(t, NewSequenceCollector(s))
			next := func() { s.Next() }
			r.run(5*time.Minute, next)
			stores[1].Kill()
			r.run(10*time.Minute, next)
			return r
		}, []string{"RinguidStripeDown"}, []string{"RinguidSegmentNotOK", "RinguidSegmentSourceDown"}},
	}
}

// newStripes returns a group of two stripes that have a tag.
func newStripes(t *testing.T) (*segment.Group, []*segmenttest.Memory) {
	t.Helper()
	stores := []*segmenttest.Memory{segmenttest.NewMemory(), segmenttest.NewMemory()}
	group := segment.NewGroup(segment.Stripe(0, 2, stores[0]), segment.Stripe(1, 2, stores[1]))
	if err := group.CreateTag(t.Context(), "orders", segment.TagConfig{Step: 10}); err != nil {
		t.Fatal(err)
	}
	return group, stores
}

// recordHealthy records generators and sequences that are used, or idle.
func recordHealthy(t *testing.T) *recording {
	store := assigntest.NewMemory(assigntest.WithNoLoss())
	busy, idle, byDefault := newOnStore(t, store, false), newOnStore(t, store, false), newOnStore(t, store, true)
	atLimit := newOnFile(t, filepath.Join(t.TempDir(), "worker"), uid.WithRollover(false), uid.WithMaxBorrow(5*time.Second)) // its full ring is
	static, err := uid.NewCached(t.Context(), workerassign.Static(7), uid.WithEpoch(time.Date(1999, 12, 31, 0, 0, 0, 0, time.UTC)), uid.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { static.Close() })
	group, _ := newStripes(t)
	s := newSequence(t, group, "orders")
	d, err := segment.NewDaily(t.Context(), segmenttest.NewMemory(), "orders", 6, time.UTC, segment.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	r := record(t, NewGeneratorCollector(busy, WithName("busy")), NewGeneratorCollector(idle, WithName("idle")), NewGeneratorCollector(byDefault, WithName("default")),
		NewGeneratorCollector(atLimit, WithName("at the limit")), NewGeneratorCollector(static, WithName("static")),
		NewSequenceCollector(s, WithName("group")), NewDailyCollector(d, WithName("daily")), NewPoolCollector(recycled.New(store)), requestFailures())
	r.run(time.Hour, func() {
		takeWithin(t, busy, 1000)
		takeWithin(t, byDefault, 1)
		s.Next()
		d.Next()
	})
	return r
}

package promcollect

import (
	"errors"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringuid/ringuid/ringbuffer"
	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/segment/segmenttest"
	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/uid/percpu"
	"github.com/ringuid/ringuid/workerassign"
)

// Each metric of a generator has the value of its field.
func TestGeneratorMetrics(t *testing.T) {
	g := newFake(t)
	golden(t, "generator.metrics", exposition(t, newRegistry(t, NewGeneratorCollector(g, WithName("orders"), WithLabels(prometheus.Labels{"fleet": "a"})))))
}

// Every field of the statistics has a metric, except those that are known otherwise.
func TestEveryFieldOfStatsHasAMetric(t *testing.T) {
	other := map[string]string{
		"LeaseBounded": "whether the lease has an end is whether there is a metric of it", "Ring": "see below",
	}
	ringField, _ := reflect.TypeFor[uid.Stats]().FieldByName("Ring")
	ofRing := map[string]string{
		"Taken": "issued", "RejectedTakes": "that of the generator", "RejectedPuts": "nobody puts",
		"Oldest": "the generator's Ahead", "Newest": "the generator's Borrowed", "LastError": "an error is not a number; it is in the log",
	}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[uid.Stats]()) {
		if other[field.Name] == "" {
			checkMetricOf(t, field)
		}
	}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[ringbuffer.Stats]()) {
		if ofRing[field.Name] == "" {
			field.Index = append([]int{ringField.Index[0]}, field.Index...)
			checkMetricOf(t, field)
		}
	}
}

// checkMetricOf checks that a metric depends on a field of the statistics.
func checkMetricOf(t *testing.T, field reflect.StructField) {
	t.Helper()
	g := newFake(t)
	before := exposition(t, newRegistry(t, NewGeneratorCollector(g)))
	st := g.stats()
	v := reflect.ValueOf(&st).Elem().FieldByIndex(field.Index)
	switch {
	case field.Type == reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(time.Unix(1, 0)))
	case field.Type == reflect.TypeFor[uid.Format]():
		f, err := uid.NewFormat(uid.WithTwitterLayout())
		if err != nil {
			t.Fatal(err)
		}
		v.Set(reflect.ValueOf(f))
	case field.Name == "Paddings":
		v.FieldByName("Caller").SetUint(1)
	case v.CanInt():
		v.SetInt(int64(time.Hour))
	case v.CanUint():
		v.SetUint(1)
	default:
		t.Fatalf("Stats has a field %s of a type that this test does not know", field.Name)
	}
	g.stats = func() uid.Stats { return st }
	if after := exposition(t, newRegistry(t, NewGeneratorCollector(g))); after == before {
		t.Errorf("no metric depends on %s", field.Name)
	}
}

// What is not known has no metric.
func TestUnknownHasNoMetric(t *testing.T) {
	g := newFake(t)
	all := names(t, newRegistry(t, NewGeneratorCollector(g)))
	st := exampleStats(t)
	st.LeaseBounded, st.WorkerIDsTotal, st.Ring.LastFailure = false, 0, time.Time{}
	g.stats = func() uid.Stats { return st }
	some := names(t, newRegistry(t, NewGeneratorCollector(g)))
	for _, name := range []string{"lease_end_timestamp_seconds", "lease_remaining_seconds", "reserve_ahead_seconds", "worker_ids", "worker_ids_remaining",
		"last_failure_timestamp_seconds"} {
		name = "ringuid_uid_" + name
		if !all[name] || some[name] {
			t.Errorf("%s: exported if it is known: %v; if it is not: %v", name, all[name], some[name])
		}
		delete(all, name)
	}
	if !reflect.DeepEqual(all, some) {
		t.Errorf("the other families are %v, and were %v", some, all)
	}
}

// The generators of package uid have metrics, several with one registry. A Default has none of a ring.
func TestGenerators(t *testing.T) {
	cached := newCached(t)
	byDefault, err := uid.NewDefault(t.Context(), workerassign.Static(5))
	if err != nil {
		t.Fatal(err)
	}
	defer byDefault.Close()
	registry := newRegistry(t, NewGeneratorCollector(cached, WithName("cached")), NewGeneratorCollector(byDefault, WithName("default")), NewGeneratorCollector(percpu.New(cached), WithName("percpu")))
	for range 7 {
		for _, g := range []uid.Generator{cached, byDefault} {
			if _, err := g.Next(); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, want := range map[string]map[string]float64{
		"ringuid_uid_issued_total":          {"cached": 7, "default": 7, "percpu": 7},
		"ringuid_uid_ok":                    {"cached": 1, "default": 1, "percpu": 1},
		"ringuid_uid_worker_id":             {"cached": 1, "default": 5, "percpu": 1},
		"ringuid_uid_worker_ids":            {"cached": 1<<22 - 1, "percpu": 1<<22 - 1},
		"ringuid_uid_worker_ids_remaining":  {"cached": 1<<22 - 2, "percpu": 1<<22 - 2},
		"ringuid_uid_layout_rate":           {"cached": 8192, "default": 8192, "percpu": 8192},
		"ringuid_uid_borrow_limit_seconds":  {"cached": 3600, "percpu": 3600},
		"ringuid_uid_failed_paddings_total": {"cached": 0, "percpu": 0},
	} {
		if got := values(t, registry, name, "generator"); !reflect.DeepEqual(got, want) {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	if rings := values(t, registry, "ringuid_uid_fill_ratio", "generator"); len(rings) != 2 || rings["cached"] <= 0 {
		t.Errorf("the fill levels are %v", rings)
	}
}

// A generator that was closed has its counters, and nothing that an alert would take for the state of a generator in use.
func TestClosedGenerator(t *testing.T) {
	g := newCached(t)
	registry := newRegistry(t, NewGeneratorCollector(g))
	for range 3 {
		if _, err := g.Next(); err != nil {
			t.Fatal(err)
		}
	}
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	if got := values(t, registry, "ringuid_uid_issued_total", "generator"); got[""] != 3 {
		t.Errorf("after Close, the issued UIDs are %v, want 3", got)
	}
	for name := range names(t, registry) {
		if !strings.HasSuffix(name, "_total") {
			t.Errorf("after Close, there is %s", name)
		}
	}
}

// A generator that is not OK is 0, and has its other metrics.
func TestGeneratorNotOK(t *testing.T) {
	g := newFake(t)
	g.health = func() uid.Health { return uid.Health{Err: uid.ErrTimeExhausted} }
	registry := newRegistry(t, NewGeneratorCollector(g))
	if ok := values(t, registry, "ringuid_uid_ok", "generator"); len(ok) != 1 || ok[""] != 0 {
		t.Errorf("ok is %v, want 0", ok)
	}
	if got := values(t, registry, "ringuid_uid_worker_id", "generator"); got[""] != 11 {
		t.Errorf("the worker ID is %v, want 11", got)
	}
}

// Invalid arguments are errors of Register. Nothing is collected then.
func TestInvalidCollectors(t *testing.T) {
	g, tags := newFake(t), newTags(t, segmenttest.NewMemory())
	for name, c := range map[string]prometheus.Collector{
		"nil":                NewGeneratorCollector(nil),
		"nil Cached":         NewGeneratorCollector((*uid.Cached)(nil)),
		"nil Default":        NewGeneratorCollector((*uid.Default)(nil)),
		"nil percpu":         NewGeneratorCollector((*percpu.Generator)(nil)),
		"zero Cached":        NewGeneratorCollector(new(uid.Cached)),
		"nil option":         NewGeneratorCollector(g, nil),
		"negative bound":     NewTagsCollector(tags, WithMaxTags(-1)),
		"nil option of Tags": NewTagsCollector(tags, nil),
		"label of the name":  NewGeneratorCollector(g, WithLabels(prometheus.Labels{"generator": "x"})),
		"label of a family":  NewGeneratorCollector(g, WithLabels(prometheus.Labels{"trigger": "x"})),
		"nil Sequence":       NewSequenceCollector(nil),
		"nil Tags":           NewTagsCollector(nil),
		"zero Tags":          NewTagsCollector(new(segment.Tags)),
		"zero Sequence":      NewSequenceCollector(new(segment.Sequence)),
		"zero Daily":         NewDailyCollector(new(segment.Daily)),
		"nil Daily":          NewDailyCollector(nil),
	} {
		if err := prometheus.NewRegistry().Register(c); !errors.Is(err, ErrOption) {
			t.Errorf("%s: Register() = %v, want ErrOption", name, err)
		}
		if got := collect(c); len(got) != 0 {
			t.Errorf("%s: %d metrics were collected", name, len(got))
		}
	}
	for name, c := range map[string]prometheus.Collector{
		"label name":  NewGeneratorCollector(g, WithLabels(prometheus.Labels{"": "x"})),
		"label value": NewGeneratorCollector(g, WithName("\xff")),
	} {
		if err := prometheus.NewRegistry().Register(c); err == nil {
			t.Errorf("%s: Register() = nil", name)
		}
	}
	registry := newRegistry(t, NewGeneratorCollector(g, WithName("a")))
	if err := registry.Register(NewGeneratorCollector(g, WithName("a"))); !errors.As(err, new(prometheus.AlreadyRegisteredError)) {
		t.Errorf("Register of a second collector with the same name = %v", err)
	}
}

// collect returns what a collector collects without a registry.
func collect(c prometheus.Collector) (found []prometheus.Metric) {
	ch := make(chan prometheus.Metric)
	go func() {
		defer close(ch)
		c.Collect(ch)
	}()
	for m := range ch {
		found = append(found, m)
	}
	return found
}

// Any number of scrapes run at the same time as calls of Next and Close.
func TestConcurrentScrapes(t *testing.T) {
	g := newCached(t)
	registries := []*prometheus.Registry{newRegistry(t, NewGeneratorCollector(g)), newRegistry(t, NewGeneratorCollector(g))}
	var all sync.WaitGroup
	for _, r := range registries {
		for range 2 {
			all.Go(func() {
				for last := 0.0; ; {
					families, err := r.Gather()
					if err != nil {
						t.Error(err)
						return
					}
					for _, f := range families {
						if f.GetName() == "ringuid_uid_issued_total" {
							if now := f.GetMetric()[0].GetCounter().GetValue(); now < last {
								t.Errorf("issued UIDs went from %v to %v", last, now)
							} else {
								last = now
							}
						}
					}
					if g.Health().Err != nil {
						return
					}
				}
			})
		}
	}
	for n := range 20_000 {
		if _, err := g.Next(); err != nil {
			t.Fatal(n, err)
		}
	}
	g.Close()
	all.Wait()
}

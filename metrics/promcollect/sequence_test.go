package promcollect

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/segment/segmenttest"
)

// newSource returns a source in memory that has tags.
func newSource(t *testing.T, step int64, tags ...string) *segmenttest.Memory {
	t.Helper()
	m := segmenttest.NewMemory()
	for _, tag := range tags {
		if err := m.CreateTag(context.Background(), tag, segment.TagConfig{Step: step}); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// take takes n numbers.
func take(t *testing.T, n int, next func() (int64, error)) {
	t.Helper()
	for range n {
		if _, err := next(); err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // for the next range
	}
}

// Each metric of a Sequence has the value of its field.
func TestSequenceMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newSource(t, 10, "orders")
		s := newSequence(t, src, "orders", segment.WithStepPolicy(segment.FixedStep{}))
		registry := newRegistry(t, NewSequenceCollector(s, WithName("a"), WithLabels(prometheus.Labels{"fleet": "b"})))
		take(t, 1, s.Next)
		time.Sleep(time.Second)
		take(t, 14, s.Next) // one more range, at 10 numbers per second
		src.Kill()
		take(t, 6, s.Next)
		golden(t, "sequence.metrics", exposition(t, registry))
	})
}

// What is known of a Sequence has a metric. There is one if the rate is known, and one for each reason.
func TestEveryFieldOfSegmentStatsHasAMetric(t *testing.T) {
	other := map[string]string{
		"Tag": "a label", "Rate": "Prometheus calculates it", "FailingSince": "Health has it", "LastError": "Health has it", "Ring": "Health has it",
	}
	for n := range reflect.TypeFor[segment.Stats]().NumField() {
		field := reflect.TypeFor[segment.Stats]().Field(n)
		if other[field.Name] != "" {
			continue
		}
		added := func(st segment.Stats) string {
			families, _ := sequenceFamilies()
			c := newCollector(newConfig(nil), "sequence", families, func(s *scrape) {
				s.addSequence("x", st, segment.Health{})
			})
			return exposition(t, newRegistry(t, c))
		}
		var st segment.Stats
		before := added(st)
		switch v := reflect.ValueOf(&st).Elem().Field(n); {
		case v.CanInt():
			v.SetInt(1)
		case v.CanUint():
			v.SetUint(1)
		default:
			t.Fatalf("Stats has a field %s of a type that this test does not know", field.Name)
		}
		if added(st) == before {
			t.Errorf("no metric depends on %s", field.Name)
		}
	}
}

// The label reason says why the source fails.
func TestReasons(t *testing.T) {
	for want, fail := range map[string]func(*segmenttest.Memory){
		reasonDown:      func(m *segmenttest.Memory) { m.Kill() },
		reasonNoTag:     func(m *segmenttest.Memory) { m.RemoveTag("orders") },
		reasonSetBack:   func(m *segmenttest.Memory) { m.SetCounter("orders", 1) },
		reasonExhausted: func(m *segmenttest.Memory) { m.SetCounter("orders", math.MaxInt64) },
	} {
		synctest.Test(t, func(t *testing.T) {
			src := newSource(t, 10, "orders")
			s := newSequence(t, src, "orders", segment.WithStepPolicy(segment.FixedStep{}))
			registry := newRegistry(t, NewSequenceCollector(s))
			check := func(when string, want map[string]float64) {
				t.Helper()
				if got := values(t, registry, "ringuid_segment_failing", "reason"); !reflect.DeepEqual(got, want) {
					t.Errorf("%s, the reasons are %v, want %v", when, got, want)
				}
			}
			none := map[string]float64{reasonDown: 0, reasonNoTag: 0, reasonSetBack: 0, reasonExhausted: 0, reasonInvalid: 0}
			check("before", none)
			fail(src)
			take(t, 11, s.Next)
			one := maps.Clone(none)
			one[want] = 1
			check(want, one)
			if ok := values(t, registry, "ringuid_segment_ok", "tag"); ok["orders"] != 1 {
				t.Errorf("%s: with numbers in memory, ok is %v", want, ok)
			}
			take(t, 9, s.Next)
			if ok := values(t, registry, "ringuid_segment_ok", "tag"); ok["orders"] != 0 {
				t.Errorf("%s: without numbers, ok is %v", want, ok)
			}
		})
	}
}

// Of several sources that have all failed, different reasons are none that waiting does not cure.
func TestReasonOf(t *testing.T) {
	down := errors.New("down")
	wrapped := fmt.Errorf("tag: %w: %w", segment.ErrNoTag, down)
	for _, tt := range []struct {
		err  error
		want string
	}{
		{down, reasonDown}, {wrapped, reasonNoTag}, {&segment.SetBackError{}, reasonSetBack}, {segment.ErrExhausted, reasonExhausted},
		{segment.ErrSource, reasonInvalid}, {segment.ErrOption, reasonInvalid},
		{errors.Join(segment.ErrExhausted, segment.ErrExhausted), reasonExhausted}, {errors.Join(segment.ErrExhausted, down), reasonDown},
		{errors.Join(wrapped, wrapped), reasonNoTag}, {errors.Join(down, wrapped), reasonDown},
	} {
		if got := reasonOf(tt.err); got != tt.want {
			t.Errorf("reasonOf(%v) = %q, want %q", tt.err, got, tt.want)
		}
	}
}

// A Sequence that was closed has only its counters.
func TestClosedSequences(t *testing.T) {
	src := newSource(t, 10, "orders")
	s := newSequence(t, src, "orders")
	tags, err := segment.NewTags(src, segment.WithMaxWait(time.Minute), segment.WithTryTimeout(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	d, err := segment.NewDaily(t.Context(), src, "orders", 6, time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		c     prometheus.Collector
		next  func() (int64, error)
		close func() error
	}{
		"Sequence": {NewSequenceCollector(s), s.Next, s.Close},
		"Tags":     {NewTagsCollector(tags), func() (int64, error) { return tags.Next("orders") }, tags.Close},
		"Daily":    {NewDailyCollector(d), d.Next, d.Close},
	} {
		registry := newRegistry(t, tt.c)
		if _, err := tt.next(); err != nil {
			t.Fatal(err)
		}
		if ok := values(t, registry, "ringuid_segment_ok", "tag"); len(ok) != 1 || ok["orders"] != 1 {
			t.Errorf("%s: ok is %v", name, ok)
		}
		if err := tt.close(); err != nil {
			t.Fatal(err)
		}
		if taken := values(t, registry, "ringuid_segment_taken_total", "tag"); len(taken) != 1 || taken["orders"] != 1 {
			t.Errorf("%s: after Close, taken is %v", name, taken)
		}
		for family := range names(t, registry) {
			if !strings.HasSuffix(family, "_total") {
				t.Errorf("%s: after Close, there is %s", name, family)
			}
		}
	}
}

// Each stripe of a group has a metric.
func TestStripeMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		group, stores := newStripes(t)
		s := newSequence(t, group, "orders", segment.WithStepPolicy(segment.FixedStep{}))
		registry := newRegistry(t, NewSequenceCollector(s))
		stores[1].Kill()
		take(t, 40, s.Next)
		want := map[string]float64{"stripe 0 of 2: memory": 0, "stripe 1 of 2: memory": 1}
		if got := values(t, registry, "ringuid_segment_source_failing", "source"); !reflect.DeepEqual(got, want) {
			t.Errorf("the sources are %v, want %v", got, want)
		}
		if got := values(t, registry, "ringuid_segment_failing", "reason"); got[reasonDown] != 0 {
			t.Errorf("while one stripe serves, the reasons are %v", got)
		}
	})
}

// A source whose description is not UTF-8, such as a path, does not fail the scrape.
func TestSourceThatIsNotUTF8(t *testing.T) {
	source := namedSource{segmenttest.NewMemory(), "file /srv/\xff"}
	if err := source.CreateTag(t.Context(), "orders", segment.TagConfig{}); err != nil {
		t.Fatal(err)
	}
	registry := newRegistry(t, NewSequenceCollector(newSequence(t, source, "orders")))
	if got := values(t, registry, "ringuid_segment_source_failing", "source"); !reflect.DeepEqual(got, map[string]float64{"file /srv/?": 0}) {
		t.Errorf("the sources are %v", got)
	}
}

// namedSource is a source with another description.
type namedSource struct {
	segment.Creator
	name string
}

func (s namedSource) String() string { return s.name }

// The metrics of a Daily have its tag without a date, and its numbers end with its digits.
func TestDailyMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, err := segment.NewDaily(t.Context(), segmenttest.NewMemory(), "orders", 3, time.UTC, segment.WithDailyStep(5), segment.WithLogger(slog.New(slog.DiscardHandler)))
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		registry := newRegistry(t, NewDailyCollector(d))
		for _, want := range []float64{12, 3} {
			take(t, int(want), d.Next)
			for family, want := range map[string]float64{"taken_total": want, "number_limit": 1000, "ok": 1} {
				if got := values(t, registry, "ringuid_segment_"+family, "tag"); len(got) != 1 || got["orders"] != want {
					t.Errorf("%s is %v, want %v", family, got, want)
				}
			}
			if got := values(t, registry, "ringuid_segment_source_failing", "source"); !reflect.DeepEqual(got, map[string]float64{"memory": 0}) {
				t.Errorf("the sources are %v", got)
			}
			time.Sleep(24 * time.Hour)
		}
	})
}

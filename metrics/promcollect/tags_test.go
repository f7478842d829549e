package promcollect

import (
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/segment/segmenttest"
)

// newTags returns a Tags with tags that have been used.
func newTags(t *testing.T, src *segmenttest.Memory, opts ...segment.TagsOption) *segment.Tags {
	t.Helper()
	tags, err := segment.NewTags(src, append([]segment.TagsOption{segment.WithLogger(slog.New(slog.DiscardHandler)),
		segment.WithStepPolicy(segment.FixedStep{}), segment.WithMaxWait(0)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tags.Close() })
	return tags
}

// taker returns Next for a tag. The first use of a tag waits.
func taker(t *testing.T, tags *segment.Tags, tag string) func() (int64, error) {
	return func() (int64, error) {
		for {
			n, err := tags.Next(tag)
			if err == nil || t.Context().Err() != nil {
				return n, err
			}
			synctest.Wait()
		}
	}
}

// No more tags than the bound have metrics of their own. The others are added up.
func TestTagsMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newSource(t, 10, "a", "b", "c", "d")
		tags := newTags(t, src)
		registry := newRegistry(t, NewTagsCollector(tags, WithMaxTags(2)))
		taken := func(want map[string]float64) {
			t.Helper()
			if got := values(t, registry, "ringuid_segment_taken_total", "tag"); !reflect.DeepEqual(got, want) {
				t.Errorf("taken are %v, want %v", got, want)
			}
		}
		taken(map[string]float64{})
		take(t, 3, taker(t, tags, "d"))
		taken(map[string]float64{"d": 3})
		for i, tag := range []string{"c", "b", "a"} {
			take(t, i+1, taker(t, tags, tag))
		}
		taken(map[string]float64{"a": 3, "d": 3, "": 3}) // d was first
		take(t, 4, taker(t, tags, "c"))
		taken(map[string]float64{"a": 3, "d": 3, "": 7})
		for family, want := range map[string]map[string]float64{
			"buffered": {"a": 17, "d": 17, "": 33}, "ok": {"a": 1, "d": 1, "": 1}, "ranges_total": {"a": 2, "d": 2, "": 4},
			"next_number": {"a": 21, "d": 21}, "tags": {"": 4},
		} {
			if got := values(t, registry, "ringuid_segment_"+family, "tag"); !reflect.DeepEqual(got, want) {
				t.Errorf("%s is %v, want %v", family, got, want)
			}
		}
		if got := values(t, registry, "ringuid_segment_source_failing", "source"); !reflect.DeepEqual(got, map[string]float64{"memory": 0}) {
			t.Errorf("the sources are %v", got)
		}
		src.Kill()
		take(t, 12, taker(t, tags, "c"))
		if got := values(t, registry, "ringuid_segment_source_failing", "source"); !reflect.DeepEqual(got, map[string]float64{"memory": 1}) {
			t.Errorf("during an outage the sources are %v", got)
		}
		src.Start()
		time.Sleep(time.Minute)
		src.RemoveTag("b")
		take(t, 18, taker(t, tags, "b"))
		if got := values(t, registry, "ringuid_segment_ok", "tag"); got[""] != 0 || got["a"] != 1 {
			t.Errorf("without numbers of one of the other tags, ok is %v", got)
		}
		for _, f := range gather(t, registry) {
			if f.GetName() != "ringuid_segment_failing" {
				continue
			}
			for _, m := range f.GetMetric() {
				labels := map[string]string{}
				for _, l := range m.GetLabel() {
					labels[l.GetName()] = l.GetValue()
				}
				if want := labels["tag"] == "" && labels["reason"] == reasonNoTag; want != (m.GetGauge().GetValue() == 1) {
					t.Errorf("%v fails: %v, want %v", labels, m.GetGauge().GetValue(), want)
				}
			}
		}
	})
}

// The sum of the other tags does not decrease when tags are dropped, opened again, or get metrics of their own.
func TestRestOfTagsNeverFalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var all []string
		for n := range 6 {
			all = append(all, fmt.Sprintf("tag%d", n))
		}
		src := newSource(t, 10, all...)
		tags := newTags(t, src, segment.WithIdle(10*time.Minute))
		registry := newRegistry(t, NewTagsCollector(tags, WithMaxTags(2)))
		rest := 0.0
		scrape := func(taken float64) {
			t.Helper()
			n := values(t, registry, "ringuid_segment_taken_total", "tag")
			if n[""] != rest+taken {
				t.Fatalf("the sum of the others rose from %v to %v, want by %v", rest, n[""], taken)
			}
			rest = n[""]
			if len(n) > 3 {
				t.Fatalf("%d tags have metrics: %v", len(n)-1, n)
			}
		}
		for _, tag := range all {
			take(t, 5, taker(t, tags, tag))
		}
		scrape(20)
		for range 5 { // all but tag4 are dropped
			take(t, 1, taker(t, tags, "tag4"))
			time.Sleep(5 * time.Minute)
		}
		if n := values(t, registry, "ringuid_segment_tags", "tag"); n[""] != 1 {
			t.Fatalf("%v tags are in memory, want tag4", n)
		}
		if n := values(t, registry, "ringuid_segment_taken_total", "tag"); n["tag4"] != 10 || len(n) != 2 {
			t.Errorf("taken are %v, want tag4 and the others", n)
		}
		scrape(0)
		for _, tag := range all {
			take(t, 3, taker(t, tags, tag))
		}
		scrape(12) // tag4 and tag0 have their own
		for _, tag := range slices.Backward(all) {
			take(t, 1, taker(t, tags, tag))
		}
		scrape(4)
	})
}

// A tag that was dropped and used again between two scrapes counts from 0.
func TestRestOfTagsCountsAgain(t *testing.T) {
	r := &tagsReader{own: map[string]bool{}, seen: map[string]sequenceCounters{}}
	total := uint64(0)
	for _, tt := range []struct{ taken, ranges, want uint64 }{{5, 2, 5}, {9, 3, 9}, {9, 3, 9}, {4, 2, 13}, {6, 2, 15}, {7, 1, 22}} {
		rest, _ := r.count([]tagReading{{stats: segment.Stats{Tag: "a", Issued: tt.taken, Ranges: tt.ranges, RejectedTakes: 1, FailedTries: 1}}})
		if rest.taken != tt.want || rest.taken < total || rest.rejectedTakes < 1 || rest.failedTries < 1 {
			t.Errorf("with %d taken, the sum is %+v, want %d", tt.taken, rest, tt.want)
		}
		total = rest.taken
	}
}

// Scrapes that run at the same time count nothing twice.
func TestConcurrentScrapesOfTags(t *testing.T) {
	src := newSource(t, 1000, "a", "b", "c")
	tags := newTags(t, src, segment.WithMaxWait(time.Minute))
	registry := newRegistry(t, NewTagsCollector(tags, WithMaxTags(0)))
	var takers, scrapers sync.WaitGroup
	done := make(chan struct{})
	for range 3 {
		scrapers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					if _, err := registry.Gather(); err != nil {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	const each = 5000
	for _, tag := range []string{"a", "b", "c"} {
		takers.Go(func() {
			for range each {
				if _, err := tags.Next(tag); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	takers.Wait()
	close(done)
	scrapers.Wait()
	if n := values(t, registry, "ringuid_segment_taken_total", "tag"); n[""] != 3*each {
		t.Errorf("taken are %v, want %d", n, 3*each)
	}
}

package segment_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"
	"weak"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/leaktest"
	"github.com/ringuid/ringuid/internal/testkit/uniq"
	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/segment/segmenttest"
)

// NewTags refuses invalid arguments, and a Tags that it has not made returns errors.
func TestTagsArguments(t *testing.T) {
	m := segmenttest.NewMemory()
	for name, opts := range map[string][]segment.TagsOption{
		"nil": {nil}, "idle": {segment.WithIdle(time.Millisecond)}, "negative idle": {segment.WithIdle(-time.Hour)}, "max": {segment.WithMaxTags(0)},
		"create": {segment.WithCreate(segment.TagConfig{Start: -1})}, "option": {segment.WithCapacity(3)},
	} {
		if _, err := segment.NewTags(m, opts...); !errors.Is(err, segment.ErrOption) {
			t.Errorf("%s: NewTags = %v, want ErrOption", name, err)
		}
	}
	if _, err := segment.NewTags(nil); !errors.Is(err, segment.ErrOption) {
		t.Errorf("NewTags without a source = %v, want ErrOption", err)
	}
	if _, err := segment.NewTags(rangeSource{}, segment.WithCreate(segment.TagConfig{})); !errors.Is(err, segment.ErrOption) {
		t.Errorf("NewTags with WithCreate and no Creator = %v, want ErrOption", err)
	}
	for _, tags := range []*segment.Tags{nil, {}} {
		if _, err := tags.Next("x"); !errors.Is(err, segment.ErrOption) {
			t.Errorf("Next = %v, want ErrOption", err)
		}
		if n, err := tags.NextN("x", make([]int64, 1)); n != 0 || !errors.Is(err, segment.ErrOption) {
			t.Errorf("NextN = %d, %v, want ErrOption", n, err)
		}
		for range tags.Stats() {
			t.Error("Stats has an element")
		}
		for range tags.Health() {
			t.Error("Health has an element")
		}
		if err := tags.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
	}
	tags := newTags(t, m, segment.WithMaxWait(longWait))
	for _, tag := range []string{"", " x", "x\n", strings.Repeat("x", 129), "\xff"} {
		if _, err := tags.Next(tag); !errors.Is(err, segment.ErrTag) {
			t.Errorf("Next(%q) = %v, want ErrTag", tag, err)
		}
	}
	create(t, m, "x", segment.TagConfig{})
	if _, err := tags.Claim(t.Context(), "x", 0); !errors.Is(err, segment.ErrOption) {
		t.Errorf("Claim of 0 numbers = %v, want ErrOption", err)
	}
}

// Many goroutines of several processes use hundreds of tags, while tags are dropped: each number comes once.
func TestTagsExact(t *testing.T) {
	leaktest.Check(t)
	synctest.Test(t, func(t *testing.T) {
		const tags, processes, goroutines, each = 300, 2, 8, 3000
		m := segmenttest.NewMemory()
		var seen [tags]uniq.Set
		var wg sync.WaitGroup
		for p := range processes {
			all := newTags(t, m.Client(fmt.Sprint(p)), segment.WithCreate(segment.TagConfig{Step: 3}), segment.WithIdle(time.Second))
			for g := range goroutines {
				wg.Go(func() {
					random := rand.New(rand.NewPCG(uint64(p), uint64(g)))
					for n := range each {
						i := random.IntN(tags)
						v, err := all.Next(fmt.Sprint("tag", i))
						if err != nil {
							t.Error(err)
							return
						}
						if !seen[i].Writer().Add(v) {
							t.Errorf("tag %d has the number %d twice", i, v)
							return
						}
						if n%200 == 0 {
							time.Sleep(time.Duration(random.IntN(3000)) * time.Millisecond) // in which tags are dropped
						}
					}
				})
			}
		}
		wg.Wait()
		var sum int64
		for i := range seen {
			sum += seen[i].Len()
		}
		if sum != processes*goroutines*each {
			t.Errorf("%d numbers, want %d", sum, processes*goroutines*each)
		}
	})
}

// Stats and Health have the tags in memory.
func TestTagsStats(t *testing.T) {
	m := segmenttest.NewMemory()
	tags := newTags(t, m, segment.WithCreate(segment.TagConfig{}), segment.WithMaxWait(longWait))
	dst := make([]int64, 10)
	for n := range 5 {
		if got, err := tags.NextN(fmt.Sprint("tag", n), dst); got != 10 || err != nil {
			t.Fatal(got, err)
		}
	}
	names := map[string]bool{}
	for tag, s := range tags.Stats() {
		names[tag] = s.Tag == tag && s.Issued == 10
	}
	for tag, h := range tags.Health() {
		if !names[tag] || !h.OK() {
			t.Errorf("tag %q: %t, %+v", tag, names[tag], h)
		}
	}
	if len(names) != 5 {
		t.Errorf("Stats has %v, want 5 tags", names)
	}
	for range tags.Stats() {
		break
	}
	for range tags.Health() {
		break
	}
}

// A tag that is a part of a long text does not keep that in memory.
func TestTagsKeepNoLongText(t *testing.T) {
	tags := newTags(t, segmenttest.NewMemory(), segment.WithCreate(segment.TagConfig{}), segment.WithMaxWait(longWait))
	open := func() weak.Pointer[byte] {
		text := strings.Repeat("x", 1<<20)
		if _, err := tags.Next(text[:5]); err != nil {
			t.Fatal(err)
		}
		return weak.Make(unsafe.StringData(text))
	}
	text := open()
	testkit.Eventually(t, "the text is gone", func() bool {
		runtime.GC()
		return text.Value() == nil
	})
	if v, err := tags.Next("xxxxx"); err != nil || v != 2 {
		t.Errorf("Next = %d, %v; want the second number of the tag", v, err)
	}
}

// BenchmarkTagsNext measures the look-up of a tag, and the memory of an open one.
func BenchmarkTagsNext(b *testing.B) {
	for _, tags := range []int{1, 10_000} {
		b.Run(fmt.Sprint(tags), func(b *testing.B) {
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			all := newTags(b, segmenttest.NewMemory(), segment.WithCreate(segment.TagConfig{Step: 1 << 30}))
			names := make([]string, tags)
			for i := range names {
				names[i] = fmt.Sprint("tag", i)
				if _, err := all.Next(names[i]); err != nil {
					b.Fatal(err)
				}
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			n := 0
			for b.Loop() {
				if _, err := all.Next(names[n%tags]); err != nil {
					b.Fatal(err)
				}
				n++
			}
			b.ReportMetric(float64(after.HeapAlloc+after.StackInuse-before.HeapAlloc-before.StackInuse)/float64(tags), "B/tag")
		})
	}
}

package segment_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/leaktest"
	"github.com/ringuid/ringuid/internal/uniq"
	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/segment/segmenttest"
)

// newTags returns a Tags that is closed at the end of the test.
func newTags(tb testing.TB, src segment.Source, opts ...segment.TagsOption) *segment.Tags {
	tb.Helper()
	t, err := segment.NewTags(src, append([]segment.TagsOption{quietOption()}, opts...)...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := t.Close(); err != nil {
			tb.Errorf("Close: %v", err)
		}
	})
	return t
}

// hookedSource calls a function before each call of Take, which may fail the call.
type hookedSource struct {
	*segmenttest.Memory
	before func(ctx context.Context, r segment.Request) error
}

func (s hookedSource) Take(ctx context.Context, r segment.Request) (segment.Range, error) {
	if err := s.before(ctx, r); err != nil {
		return segment.Range{}, err
	}
	return s.Memory.Take(ctx, r)
}

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
	tags := newTags(t, m)
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

// A tag that does not exist is an error, and is found within a second after it was created.
func TestTagsUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var takes atomic.Int64
		m := segmenttest.NewMemory()
		tags := newTags(t, hookedSource{m, func(context.Context, segment.Request) error { takes.Add(1); return nil }})
		for range 100 {
			if v, err := tags.Next("x"); v != 0 || !errors.Is(err, segment.ErrNoTag) {
				t.Fatalf("Next = %d, %v; want ErrNoTag", v, err)
			}
		}
		if n := takes.Load(); n != 1 {
			t.Errorf("the source was asked %d times for a tag that it does not have, want once", n)
		}
		time.Sleep(123 * time.Millisecond)
		create(t, m, "x", segment.TagConfig{})
		begin := time.Now()
		for {
			if v, err := tags.Next("x"); err == nil {
				if v != 1 {
					t.Errorf("Next = %d, want 1", v)
				}
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		if took := time.Since(begin); took > time.Second {
			t.Errorf("the tag was found %v after it was created, want within a second", took)
		}
	})
}

// Names that do not exist do not fill the memory, whether the source is up or down, and tags in use do not notice them.
func TestTagsFlood(t *testing.T) {
	for _, down := range []bool{false, true} {
		t.Run(fmt.Sprintf("down=%t", down), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := segmenttest.NewMemory()
				create(t, m, "x", segment.TagConfig{Step: 1 << 20})
				create(t, m, "y", segment.TagConfig{})
				tags := newTags(t, m, segment.WithMaxTags(100), segment.WithMaxWait(0))
				first := func(tag string) (err error) {
					for range 3 { // with WithMaxWait(0), the first call does not wait
						if _, err = tags.Next(tag); err == nil {
							return nil
						}
						time.Sleep(20 * time.Millisecond)
						synctest.Wait()
					}
					return err
				}
				if err := first("x"); err != nil {
					t.Fatal(err)
				}
				if down {
					m.Kill()
				}
				full := false
				for n := range 1000 {
					_, err := tags.Next(fmt.Sprint("unknown", n))
					full = full || errors.Is(err, segment.ErrTooManyTags)
					if err == nil {
						t.Fatal("a tag that does not exist has a number")
					}
					if _, err := tags.Next("x"); err != nil {
						t.Fatalf("Next of a tag that is open, while others are asked for: %v", err)
					}
				}
				if !full {
					t.Error("no call returned ErrTooManyTags")
				}
				m.Start()
				time.Sleep(time.Second)
				if err := first("y"); err != nil {
					t.Errorf("Next of a tag that exists, a second after the flood: %v", err)
				}
				synctest.Wait()
			})
		})
	}
}

// The limit counts tags that are open. Many goroutines that use the same tag first do not exceed it, and tags that were dropped give way.
func TestTagsMaxTags(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := segmenttest.NewMemory()
		tags := newTags(t, m, segment.WithMaxTags(2), segment.WithIdle(time.Minute), segment.WithCreate(segment.TagConfig{}))
		for round := range 20 {
			var wg sync.WaitGroup
			for g := range 16 {
				wg.Go(func() {
					if _, err := tags.Next(fmt.Sprint("tag", round*2+g%2)); err != nil {
						t.Errorf("Next of one of two tags, with a limit of two: %v", err)
					}
				})
			}
			wg.Wait()
			if _, err := tags.Next("one more"); !errors.Is(err, segment.ErrTooManyTags) {
				t.Fatalf("Next of a third tag = %v, want ErrTooManyTags", err)
			}
			time.Sleep(2*time.Minute + time.Second)
		}
	})
}

// A counter that was set back while its tag was dropped is refused, and works again when it was raised.
func TestTagsSetBackWhileDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := segmenttest.NewMemory()
		create(t, m, "x", segment.TagConfig{Step: 10})
		tags := newTags(t, m, segment.WithIdle(time.Second))
		last := int64(0)
		for range 15 {
			v, err := tags.Next("x")
			if err != nil {
				t.Fatal(err)
			}
			last = v
		}
		time.Sleep(3 * time.Second)
		for range tags.Stats() {
			t.Fatal("the tag is still open after 3 s of no use")
		}
		end := m.Counter("x")
		m.SetCounter("x", 5)
		if v, err := tags.Next("x"); !errors.Is(err, segment.ErrSetBack) {
			t.Fatalf("Next after the counter was set back = %d, %v; want ErrSetBack", v, err)
		}
		if c := m.Counter("x"); c != 5 {
			t.Errorf("the counter is %d after a refusal, want 5", c)
		}
		time.Sleep(time.Hour) // the entry is kept
		if v, err := tags.Next("x"); !errors.Is(err, segment.ErrSetBack) {
			t.Fatalf("Next an hour later = %d, %v; want ErrSetBack", v, err)
		}
		m.SetCounter("x", end)
		time.Sleep(time.Second)
		if v, err := tags.Next("x"); err != nil || v <= last {
			t.Errorf("Next after the counter was raised = %d, %v; want more than %d", v, err, last)
		}
	})
}

// A tag that is gone is not created again by the processes that have received numbers of it.
func TestTagsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := segmenttest.NewMemory()
		tags := newTags(t, m, segment.WithIdle(time.Second), segment.WithCreate(segment.TagConfig{Step: 2}))
		if _, err := tags.Next("x"); err != nil {
			t.Fatal(err)
		}
		m.RemoveTag("x")
		for range 5 {
			tags.Next("x") // what is in memory
		}
		if v, err := tags.Next("x"); !errors.Is(err, segment.ErrNoTag) {
			t.Errorf("Next of a tag that is open and gone = %d, %v; want ErrNoTag", v, err)
		}
		for range 3 {
			time.Sleep(time.Minute)
			if v, err := tags.Next("x"); !errors.Is(err, segment.ErrNoTag) {
				t.Errorf("Next of a tag that was dropped and is gone = %d, %v; want ErrNoTag", v, err)
			}
		}
	})
}

// Many processes create a tag at the same time. Each number comes once.
func TestTagsCreateRace(t *testing.T) {
	for _, lost := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			m := segmenttest.NewMemory()
			if lost {
				m.SetFaults(func(op segmenttest.Op) segmenttest.Fault {
					if op.Create != nil {
						return segmenttest.LoseReply
					}
					return segmenttest.NoFault
				})
			}
			var seen uniq.Set
			var wg sync.WaitGroup
			for p := range 10 {
				tags := newTags(t, m.Client(fmt.Sprint(p)), segment.WithCreate(segment.TagConfig{Step: 4}))
				for range 4 {
					wg.Go(func() {
						w := seen.Writer()
						for range 50 {
							v, err := tags.Next("x")
							if err != nil || !w.Add(v) {
								t.Errorf("Next with lost replies %t = %d, %v; want a new number", lost, v, err)
								return
							}
						}
					})
				}
			}
			wg.Wait()
		})
	}
}

// WithCreate passes on the configuration, with an UnusedBefore; the error of a source that refuses is returned.
func TestTagsCreateConfig(t *testing.T) {
	m := segmenttest.NewMemory()
	var got segment.TagConfig
	m.SetFaults(func(op segmenttest.Op) segmenttest.Fault {
		if op.Create != nil {
			got = *op.Create
		}
		return segmenttest.NoFault
	})
	tags := newTags(t, m, segment.WithCreate(segment.TagConfig{Start: 77, Step: 9}))
	if v, err := tags.Next("x"); err != nil || v != 77 {
		t.Errorf("Next = %d, %v; want 77", v, err)
	}
	if got.Start != 77 || got.Step != 9 || got.UnusedBefore.IsZero() || got.UnusedBefore.Year() > 2000 {
		t.Errorf("the tag was created with %+v", got)
	}
	m.Failover(0)
	if v, err := tags.Next("y"); err != nil || v < 1_000_000 {
		t.Errorf("Next of a new tag after a failover = %d, %v; want a number beyond the gap", v, err)
	}
	refusing := newTags(t, segmenttest.NewMemory(segmenttest.WithoutRecord()), segment.WithCreate(segment.TagConfig{}))
	if _, err := refusing.Next("x"); !errors.Is(err, segment.ErrNoTag) || !strings.Contains(err.Error(), "no record") {
		t.Errorf("Next with a source that refuses to create = %v; want its error", err)
	}
}

// The first use of a tag waits while the source is down, as the others do, and returns what has failed.
func TestTagsDownAtFirstUse(t *testing.T) {
	for _, how := range []string{"down", "paused"} {
		synctest.Test(t, func(t *testing.T) {
			m := segmenttest.NewMemory()
			create(t, m, "x", segment.TagConfig{})
			tags := newTags(t, m)
			if how == "down" {
				m.Kill()
			} else {
				m.Pause()
			}
			begin := time.Now()
			_, err := tags.Next("x")
			var empty *segment.EmptyError
			if took := time.Since(begin); !errors.As(err, &empty) || took != segment.DefaultMaxWait || empty.Tag != "x" || empty.Source == "" || empty.Wait == nil {
				t.Fatalf("Next with a source that is %s = %v after %v; want an EmptyError after %v", how, err, took, segment.DefaultMaxWait)
			}
			if how == "down" && (!errors.Is(err, segmenttest.ErrDown) || empty.Since != begin || empty.Tries < 3) {
				t.Errorf("the error is %#v; want ErrDown since %v", empty, begin)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if _, err := tags.NextContext(ctx, "x"); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, segment.ErrEmpty) {
				t.Errorf("NextContext = %v; want ErrEmpty and the error of the context", err)
			}
			time.AfterFunc(time.Second, func() { m.Start(); m.Resume() })
			begin = time.Now()
			if v, err := tags.Next("x"); err != nil || v != 1 || time.Since(begin) > 2*time.Second {
				t.Errorf("Next when the source is up again after a second = %d, %v after %v", v, err, time.Since(begin))
			}
		})
	}
}

// Opening, dropping and closing race. Nothing is left, and calls return numbers or ErrClosed.
func TestTagsClose(t *testing.T) {
	leaktest.Check(t)
	for round := range 200 {
		m := segmenttest.NewMemory()
		m.SetFaults(func(segmenttest.Op) segmenttest.Fault { runtime.Gosched(); return segmenttest.NoFault })
		tags, err := segment.NewTags(m, quietOption(), segment.WithCreate(segment.TagConfig{Step: 1}))
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for g := range 6 {
			wg.Go(func() {
				for n := 0; ; n++ {
					_, err := tags.Next(fmt.Sprint("tag", (g+n)%20))
					if errors.Is(err, segment.ErrClosed) {
						return
					}
					if err != nil {
						t.Errorf("Next while Close runs: %v", err)
						return
					}
				}
			})
		}
		for range round % 17 {
			runtime.Gosched()
		}
		wg.Go(func() { tags.Close() })
		if err := tags.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
		if _, err := tags.Next("tag1"); !errors.Is(err, segment.ErrClosed) {
			t.Errorf("Next after Close = %v, want ErrClosed", err)
		}
		wg.Wait()
		if t.Failed() {
			return
		}
	}
}

// Calls that wait for the first range of a tag return ErrClosed at once when the Tags is closed.
func TestTagsCloseWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, how := range []string{"down", "paused"} {
			m := segmenttest.NewMemory()
			create(t, m, "x", segment.TagConfig{})
			if how == "down" {
				m.Kill()
			} else {
				m.Pause()
			}
			tags := newTags(t, m)
			var wg sync.WaitGroup
			for range 20 {
				wg.Go(func() {
					if _, err := tags.Next("x"); !errors.Is(err, segment.ErrClosed) {
						t.Errorf("Next of a source that is %s while Close runs = %v, want ErrClosed", how, err)
					}
				})
			}
			time.Sleep(time.Second)
			begin := time.Now()
			if err := tags.Close(); err != nil || time.Since(begin) > 0 {
				t.Errorf("Close = %v after %v", err, time.Since(begin))
			}
			wg.Wait()
		}
	})
}

// Next races with the drop of its tag: no number is lost for the caller, and none comes twice.
func TestTagsNextWhileDropped(t *testing.T) {
	leaktest.Check(t)
	synctest.Test(t, func(t *testing.T) {
		m := segmenttest.NewMemory()
		create(t, m, "x", segment.TagConfig{Step: 2})
		tags := newTags(t, m, segment.WithIdle(time.Second))
		var seen uniq.Set
		for range 300 {
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() {
					v, err := tags.Next("x")
					if err != nil || !seen.Writer().Add(v) {
						t.Errorf("Next = %d, %v; want a new number", v, err)
					}
				})
			}
			wg.Wait()
			time.Sleep(2 * time.Second) // the next calls and the drop are at the same time
		}
	})
}

// Sources that panic or end their goroutine, at the first use, give errors, and the tag works afterwards.
func TestTagsBadSource(t *testing.T) {
	leaktest.Check(t)
	for name, bad := range map[string]func(){"panic": func() { panic("boom") }, "Goexit": runtime.Goexit} {
		synctest.Test(t, func(t *testing.T) {
			var isBad atomic.Bool
			isBad.Store(true)
			m := segmenttest.NewMemory()
			create(t, m, "x", segment.TagConfig{})
			tags := newTags(t, hookedSource{m, func(context.Context, segment.Request) error {
				if isBad.Load() {
					bad()
				}
				return nil
			}})
			if _, err := tags.Next("x"); err == nil {
				t.Errorf("Next with %s of the source succeeded", name)
			}
			isBad.Store(false)
			time.Sleep(time.Second)
			if v, err := tags.Next("x"); err != nil || v != 1 {
				t.Errorf("Next after %s of the source = %d, %v; want 1", name, v, err)
			}
		})
	}
}

// A source that calls Next of its own Tags gets an error in time, and so does its caller.
func TestTagsRecursion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tags *segment.Tags
		var inner error
		m := segmenttest.NewMemory()
		create(t, m, "x", segment.TagConfig{})
		tags = newTags(t, hookedSource{m, func(ctx context.Context, r segment.Request) error {
			_, inner = tags.NextContext(ctx, r.Tag)
			return inner
		}})
		begin := time.Now()
		if _, err := tags.Next("x"); !errors.Is(err, segment.ErrEmpty) || time.Since(begin) > segment.DefaultMaxWait {
			t.Errorf("Next = %v after %v; want ErrEmpty", err, time.Since(begin))
		}
		if err := tags.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
		if inner == nil {
			t.Error("the call within the source succeeded")
		}
	})
}

// A source that ignores its context is reported by Close, also if the tag was dropped meanwhile.
func TestTagsBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		m := segmenttest.NewMemory()
		create(t, m, "x", segment.TagConfig{Step: 1})
		var taken atomic.Int64
		tags, err := segment.NewTags(hookedSource{m, func(context.Context, segment.Request) error {
			if taken.Add(1) > 2 {
				<-release
			}
			return nil
		}}, quietOption(), segment.WithIdle(time.Second))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tags.Next("x"); err != nil {
			t.Fatal(err)
		}
		tags.Next("x")
		time.Sleep(10 * time.Second) // it is dropped
		for range tags.Stats() {
			t.Error("the tag was not dropped")
		}
		if err := tags.Close(); !errors.Is(err, segment.ErrBusy) {
			t.Errorf("Close with a source that does not return = %v, want ErrBusy", err)
		}
		close(release)
		if err := tags.Close(); err != nil {
			t.Errorf("Close again = %v", err)
		}
	})
}

// slowSource returns a range after a minute, and ignores its context.
type slowSource struct{ returned *atomic.Bool }

func (s slowSource) Take(context.Context, segment.Request) (segment.Range, error) {
	time.Sleep(time.Minute)
	s.returned.Store(true)
	return segment.Range{First: 1, Length: 10}, nil
}
func (slowSource) String() string { return "a slow source" }

// A tag whose opening ends after Close has returned ErrBusy is closed: no goroutine is left in the bubble.
func TestTagsOpenedAfterClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ignored atomic.Bool
		tags, err := segment.NewTags(slowSource{&ignored}, quietOption(), segment.WithTryTimeout(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tags.Next("x"); !errors.Is(err, segment.ErrEmpty) {
			t.Errorf("Next = %v, want ErrEmpty", err)
		}
		if err := tags.Close(); !errors.Is(err, segment.ErrBusy) {
			t.Errorf("Close = %v, want ErrBusy", err)
		}
		time.Sleep(10 * time.Minute)
		if !ignored.Load() {
			t.Error("the source was not called")
		}
	})
}

// Stats and Health have the tags in memory.
func TestTagsStats(t *testing.T) {
	m := segmenttest.NewMemory()
	tags := newTags(t, m, segment.WithCreate(segment.TagConfig{}))
	dst := make([]int64, 10)
	for n := range 5 {
		if got, err := tags.NextN(fmt.Sprint("tag", n), dst); got != 10 || err != nil {
			t.Fatal(got, err)
		}
	}
	names := map[string]bool{}
	for s := range tags.Stats() {
		names[s.Tag] = s.Taken == 10
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

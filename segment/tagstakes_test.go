package segment_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/ringbuffer"
	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/segment/segmenttest"
)

// WithMaxTakes limits the requests at a time, and is 1 to 1024.
func TestTagsMaxTakes(t *testing.T) {
	for _, n := range []int{-1, 0, 1025} {
		if _, err := segment.NewTags(segmenttest.NewMemory(), segment.WithMaxTakes(n)); !errors.Is(err, segment.ErrOption) || !strings.Contains(err.Error(), "1024") {
			t.Errorf("WithMaxTakes(%d): %v, want ErrOption with the bound", n, err)
		}
	}
	for _, limit := range []int{1, 3} {
		synctest.Test(t, func(t *testing.T) {
			calls := newLoad(10 * time.Millisecond)
			m := segmenttest.NewMemory()
			tags := newTags(t, hookedSource{m, func(ctx context.Context, _ segment.Request) error { calls.call(ctx); return nil }},
				segment.WithCreate(segment.TagConfig{Step: 1}), segment.WithMaxTakes(limit))
			var wg sync.WaitGroup
			for n := range 20 {
				wg.Go(func() {
					for range 5 {
						if _, err := tags.Next(fmt.Sprint("tag", n)); err != nil {
							t.Errorf("Next = %v", err)
						}
					}
				})
			}
			wg.Wait()
			synctest.Wait()
			if calls.most != limit {
				t.Errorf("%d requests at a time, want %d", calls.most, limit)
			}
		})
	}
}

// A tag for which a call waits overtakes thousands that still have numbers in memory.
func TestTagsWaitingCallGoesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const count = 1000
		var slow atomic.Bool
		m := segmenttest.NewMemory()
		tags := newTags(t, hookedSource{m, func(context.Context, segment.Request) error {
			if slow.Load() {
				time.Sleep(100 * time.Millisecond)
			}
			return nil
		}}, segment.WithCreate(segment.TagConfig{Step: 2}), segment.WithStepPolicy(segment.FixedStep{}))
		for n := range count {
			if _, err := tags.Next(fmt.Sprint("tag", n)); err != nil {
				t.Fatal(err)
			}
		}
		slow.Store(true)
		for range 2 { // the second one is of the second range
			for n := range count {
				if _, err := tags.Next(fmt.Sprint("tag", n)); err != nil {
					t.Fatal(err)
				}
			}
		}
		begin := time.Now()
		if _, err := tags.Next("new"); err != nil || time.Since(begin) > time.Second {
			t.Errorf("Next of a new tag = %v after %v, behind %d tags that need a range", err, time.Since(begin), count)
		}
		if _, err := tags.Next("tag999"); err != nil || time.Since(begin) > time.Second {
			t.Fatalf("Next of a tag with numbers = %v after %v", err, time.Since(begin))
		}
		begin = time.Now()
		if _, err := tags.Next("tag999"); err != nil || time.Since(begin) > time.Second {
			t.Errorf("Next of a tag without numbers = %v after %v, behind %d tags that need a range", err, time.Since(begin), count)
		}
	})
}

// A source that never returns blocks the tags that called it, and not the others.
func TestTagsOverdueSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		m := segmenttest.NewMemory()
		tags := newTags(t, hookedSource{m, func(_ context.Context, r segment.Request) error {
			if strings.HasPrefix(r.Tag, "bad") {
				<-release
			}
			return nil
		}}, segment.WithCreate(segment.TagConfig{}), segment.WithTryTimeout(time.Second))
		var wg sync.WaitGroup
		for n := range 2 * 16 {
			wg.Go(func() {
				if _, err := tags.Next(fmt.Sprint("bad", n)); !errors.Is(err, segment.ErrEmpty) {
					t.Errorf("Next = %v, want ErrEmpty", err)
				}
			})
		}
		wg.Wait()
		begin := time.Now()
		if _, err := tags.Next("good"); err != nil {
			t.Errorf("Next of a tag whose calls return = %v", err)
		}
		if took := time.Since(begin); took > 3*time.Second {
			t.Errorf("Next of a tag whose calls return took %v", took)
		}
		close(release)
	})
}

// Single tags that the source refuses do not delay others, and are one log record per second with their number. They
// are found as soon as they are in order again.
func TestTagsRefusedTags(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const count = 150
		m := segmenttest.NewMemory()
		var log records
		tags := newTags(t, m, log.option(), segment.WithCreate(segment.TagConfig{Step: 2, Start: 100}), segment.WithStepPolicy(segment.FixedStep{}))
		next := func(tag string) error { _, err := tags.Next(tag); return err }
		for n := range count {
			if err := next(fmt.Sprint("tag", n)); err != nil {
				t.Fatal(err)
			}
			m.SetCounter(fmt.Sprint("tag", n), 50)
		}
		if err := next("good"); err != nil {
			t.Fatal(err)
		}
		for range 4 {
			for n := range count {
				next(fmt.Sprint("tag", n))
			}
		}
		for range 1000 {
			begin := time.Now()
			if err := next("good"); err != nil || time.Since(begin) > 10*time.Millisecond {
				t.Fatalf("Next of a tag in order = %v after %v, while %d others are refused", err, time.Since(begin), count)
			}
			time.Sleep(50 * time.Millisecond)
		}
		n, text := log.reset()
		counted := 0
		for _, m := range regexp.MustCompile(`tags=(\d+)`).FindAllStringSubmatch(text, -1) {
			tags, _ := strconv.Atoi(m[1])
			counted += tags
		}
		if n < 1 || n > 3 || counted != count || !strings.Contains(text, "set back") {
			t.Errorf("%d log records of %d tags, want at most 3 of %d:\n%s", n, counted, count, text)
		}
		for n := range count {
			m.SetCounter(fmt.Sprint("tag", n), 1000)
		}
		begin := time.Now()
		for n := range count {
			for next(fmt.Sprint("tag", n)) != nil {
				if time.Since(begin) > 2*time.Second {
					t.Fatalf("%d tags work %v after they were corrected, want all", n, time.Since(begin))
				}
				time.Sleep(10 * time.Millisecond)
			}
		}
		time.Sleep(5 * time.Second)
		if n, text := log.reset(); n < 1 || n > 4 || !strings.Contains(text, "work again") {
			t.Errorf("%d log records, want at most 4:\n%s", n, text)
		}
	})
}

// Tags that the source refuses are asked for again without a call at most 200 times per second, of all together.
func TestTagsRefusedTagsAreAskedSlowly(t *testing.T) {
	oneThread(t)
	synctest.Test(t, func(t *testing.T) {
		const count = 500
		calls := newLoad(0)
		m := segmenttest.NewMemory()
		tags := newTags(t, hookedSource{m, func(ctx context.Context, _ segment.Request) error { calls.call(ctx); return nil }},
			segment.WithCreate(segment.TagConfig{Step: 1, Start: 100}), segment.WithStepPolicy(segment.FixedStep{}))
		for n := range count {
			tag := fmt.Sprint("tag", n)
			if _, err := tags.Next(tag); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			m.SetCounter(tag, 50)
			tags.Next(tag) // another range is requested
		}
		time.Sleep(10 * time.Second)
		if n := calls.peak(time.Now().Add(-7*time.Second), time.Now()); n < 190 || n > 201 {
			t.Errorf("up to %d requests per second for %d tags that are refused, want 200", n, count)
		}
	})
}

// The longest timeout of a try is no short one.
func TestTagsLongestTryTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := segmenttest.NewMemory()
		tags := newTags(t, hookedSource{m, func(context.Context, segment.Request) error { time.Sleep(100 * time.Millisecond); return nil }},
			segment.WithCreate(segment.TagConfig{}), segment.WithTryTimeout(math.MaxInt64))
		time.AfterFunc(50*time.Millisecond, func() {
			if s := tags.Sources()[0]; s.LastError != nil {
				t.Errorf("during the first call: %+v", s)
			}
		})
		if _, err := tags.Next("x"); err != nil {
			t.Error(err)
		}
	})
}

// A tag that is added is found within a second of its first use after that, also while the store refuses many others.
func TestTagsAddedTagIsFoundInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := segmenttest.NewMemory()
		tags := newTags(t, hookedSource{m, func(ctx context.Context, _ segment.Request) error { time.Sleep(5 * time.Millisecond); return nil }})
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		defer wg.Wait()
		defer cancel()
		for n := range 100 {
			wg.Go(func() {
				for ctx.Err() == nil {
					tags.NextContext(ctx, fmt.Sprint("unknown", n))
					time.Sleep(100 * time.Millisecond)
				}
			})
		}
		for n := range 10 {
			tag := fmt.Sprint("tag", n)
			if _, err := tags.Next(tag); !errors.Is(err, segment.ErrNoTag) {
				t.Fatalf("Next = %v, want ErrNoTag", err)
			}
			time.Sleep(time.Duration(n) * 77 * time.Millisecond)
			create(t, m, tag, segment.TagConfig{})
			begin := time.Now()
			for {
				_, err := tags.Next(tag)
				if took := time.Since(begin); took > time.Second {
					t.Fatalf("Next %v after the tag was created = %v", took, err)
				}
				if err == nil {
					break
				}
				time.Sleep(10 * time.Millisecond)
			}
		}
	})
}

// With every take policy, calls return in time while the requests of their tags wait for their turn, with what has
// failed.
func TestTagsPoliciesInOutage(t *testing.T) {
	oneThread(t)
	for _, policy := range []ringbuffer.TakePolicy{nil, ringbuffer.Wait, ringbuffer.CallerPads, ringbuffer.Fail} {
		synctest.Test(t, func(t *testing.T) {
			m := segmenttest.NewMemory()
			opts := []segment.TagsOption{segment.WithCreate(segment.TagConfig{Step: 1}), segment.WithStepPolicy(segment.FixedStep{}), segment.WithMaxTakes(1)}
			if policy != nil {
				opts = append(opts, segment.WithTakePolicy(policy))
			}
			tags := newTags(t, m, opts...)
			const count = 50
			for n := range count {
				if _, err := tags.Next(fmt.Sprint("tag", n)); err != nil {
					t.Fatal(err)
				}
			}
			m.Kill()
			for round := range 5 {
				var wg sync.WaitGroup
				for n := range count {
					wg.Go(func() {
						begin := time.Now()
						_, err := tags.Next(fmt.Sprint("tag", n))
						var empty *segment.EmptyError
						switch {
						case err == nil && round < 2:
						case !errors.As(err, &empty), !errors.Is(err, segmenttest.ErrDown), empty.Since.IsZero(), empty.Tries == 0:
							t.Errorf("round %d with policy %v: Next = %v; want ErrEmpty and what has failed", round, policy, err)
						case time.Since(begin) > 3*time.Second:
							t.Errorf("round %d with policy %v: Next took %v", round, policy, time.Since(begin))
						}
					})
				}
				wg.Wait()
				time.Sleep(10 * time.Second)
			}
			m.Start()
			time.Sleep(3 * time.Second)
			for n := range count {
				if _, err := tags.Next(fmt.Sprint("tag", n)); err != nil {
					t.Errorf("Next with policy %v after the outage = %v", policy, err)
				}
			}
		})
	}
}

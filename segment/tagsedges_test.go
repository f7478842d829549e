package segment_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/segment/segmenttest"
)

// The first use of a tag does not wait if only one of several stores works, whichever it is.
func TestTagsFirstUseWithOneStore(t *testing.T) {
	for working := range 3 {
		synctest.Test(t, func(t *testing.T) {
			g, stores := stripes(3)
			create(t, g, "x", segment.TagConfig{})
			for i, s := range stores {
				if i != working {
					s.Kill()
				}
			}
			tags := newTags(t, g)
			begin := time.Now()
			if v, err := tags.Next("x"); err != nil || v%3 != int64(working) || time.Since(begin) > 0 {
				t.Errorf("Next = %d, %v after %v; want a number of store %d at once", v, err, time.Since(begin), working)
			}
		})
	}
}

// wantRefused uses so many tags at the same time, which must all be refused at once.
func wantRefused(t *testing.T, tags *segment.Tags, name string, count int, want error) {
	t.Helper()
	begin := time.Now()
	var wg sync.WaitGroup
	for n := range count {
		wg.Go(func() {
			if _, err := tags.Next(fmt.Sprint(name, n)); !errors.Is(err, want) {
				t.Errorf("Next = %v, want %v", err, want)
			}
		})
	}
	wg.Wait()
	if took := time.Since(begin); took > 100*time.Millisecond {
		t.Errorf("%d tags were refused after %v", count, took)
	}
}

// Many tags that the source does not have are refused again without a delay, one after the other, as soon as they are
// asked for again.
func TestTagsRefusedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const count = 300
		var log records
		tags := newTags(t, segmenttest.NewMemory(), log.option())
		for range 3 {
			wantRefused(t, tags, "unknown", count, segment.ErrNoTag)
			time.Sleep(499 * time.Millisecond)
		}
		time.Sleep(5 * time.Second)
		if n, text := log.reset(); n > 0 {
			t.Errorf("%d log records of errors that callers have:\n%s", n, text)
		}
	})
}

// A tag that the source refuses again and again is logged once a minute.
func TestTagsRefusedAgainIsLoggedOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := segmenttest.NewMemory()
		create(t, m, "x", segment.TagConfig{Step: 1})
		var log records
		tags := newTags(t, m, log.option(), segment.WithStepPolicy(segment.FixedStep{}))
		for n := range 9 { // every 20 seconds
			if _, err := tags.Next("x"); err != nil {
				t.Fatal(err)
			}
			synctest.Wait() // the range after that
			end := m.Counter("x")
			m.SetCounter("x", 1)
			for range 3 {
				tags.Next("x") // the last ones find no number
			}
			time.Sleep(5 * time.Second)
			failed, text := log.reset()
			m.SetCounter("x", end)
			time.Sleep(10 * time.Second)
			worked, text2 := log.reset()
			if want := 1 - min(n%3, 1); failed != want || worked != want || want > 0 && (!strings.Contains(text, "set back") || !strings.Contains(text2, "work again")) {
				t.Errorf("refusal %d: %d records, want %d:\n%s%d records when it works again:\n%s", n, failed, want, text, worked, text2)
			}
			time.Sleep(5 * time.Second)
			synctest.Wait() // a scheduled padding comes at the same time
		}
	})
}

// A stripe that works again is asked before one that still fails: calls do not wait for that.
func TestGroupAsksWorkingStripeFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked [2]atomic.Int64
		var hung atomic.Bool
		stores := [2]*segmenttest.Memory{segmenttest.NewMemory(), segmenttest.NewMemory()}
		var all []*segment.Striped
		for i := range stores {
			all = append(all, segment.Stripe(i, 2, hookedSource{stores[i], func(ctx context.Context, _ segment.Request) error {
				asked[i].Add(1)
				if i == 1 && hung.Load() {
					<-ctx.Done()
				}
				return ctx.Err()
			}}))
		}
		g := segment.NewGroup(all...)
		create(t, g, "x", segment.TagConfig{Step: 1})
		s, err := segment.New(t.Context(), g, "x", quietOption(), segment.WithStepPolicy(segment.FixedStep{}), segment.WithMaxWait(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		hung.Store(true)
		stores[0].Kill()
		for range 2 { // what is in memory
			if _, err := s.Next(); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Minute) // both have failed several times
		stores[0].Start()
		if _, err := s.Next(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		asked[1].Store(0)
		for range 20 {
			if _, err := s.Next(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		if good, bad := asked[0].Load(), asked[1].Load(); good < 20 || bad > 2 {
			t.Errorf("the stripes were asked %d and %d times for 20 numbers; want the one that works", good, bad)
		}
	})
}

// Take of a Group finds the stripe that works, whichever it is and whoever was asked last.
func TestGroupTakeWithOneStripe(t *testing.T) {
	for _, count := range []int{2, 3, 5} {
		for working := range count {
			g, stores := stripes(count)
			create(t, g, "x", segment.TagConfig{})
			for i, s := range stores {
				if i != working {
					s.Kill()
				}
			}
			for range 2 * count {
				if r, err := g.Take(t.Context(), segment.Request{Tag: "x"}); err != nil || r.First%int64(count) != int64(working) {
					t.Fatalf("Take with only stripe %d of %d = %+v, %v", working, count, r, err)
				}
			}
		}
	}
}

// WithIdle(0) never drops a tag, and a tag in use is not dropped either.
func TestTagsInUseAreNotDropped(t *testing.T) {
	for _, idle := range []time.Duration{0, time.Second} {
		synctest.Test(t, func(t *testing.T) {
			m := segmenttest.NewMemory()
			create(t, m, "x", segment.TagConfig{Step: 1000})
			tags := newTags(t, m, segment.WithIdle(idle), segment.WithStepPolicy(segment.FixedStep{}))
			for want := int64(1); want < 200; want++ {
				if v, err := tags.Next("x"); err != nil || v != want {
					t.Fatalf("Next of a tag in use = %d, %v; want %d", v, err, want)
				}
				time.Sleep(500 * time.Millisecond)
			}
			time.Sleep(time.Hour)
			want := int64(200) // numbers in memory are lost when the tag is dropped
			if idle > 0 {
				want = 2001
			}
			if v, err := tags.Next("x"); err != nil || v != want {
				t.Errorf("Next an hour later with WithIdle(%v) = %d, %v; want %d", idle, v, err, want)
			}
		})
	}
}

// A call that waits for a number while its tag is dropped gets one of the tag that is opened again.
func TestTagsDroppedWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var down atomic.Bool
		m := segmenttest.NewMemory()
		create(t, m, "x", segment.TagConfig{Step: 1})
		tags := newTags(t, hookedSource{m, func(ctx context.Context, _ segment.Request) error {
			if down.Load() {
				<-ctx.Done()
			}
			return ctx.Err()
		}}, segment.WithIdle(time.Second), segment.WithMaxWait(time.Hour), segment.WithStepPolicy(segment.FixedStep{}))
		if _, err := tags.Next("x"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		down.Store(true)
		if _, err := tags.Next("x"); err != nil { // the last one in memory
			t.Fatal(err)
		}
		time.AfterFunc(30*time.Second, func() { down.Store(false) })
		begin := time.Now()
		if v, err := tags.Next("x"); err != nil || v < 3 || time.Since(begin) < 20*time.Second {
			t.Errorf("Next while the tag is dropped = %d, %v after %v", v, err, time.Since(begin))
		}
	})
}

// What was received of a tag that is dropped is remembered at once, and also a range that arrives while it is dropped: a
// counter that is set back below that is refused.
func TestTagsSetBackDuringDrop(t *testing.T) {
	for _, late := range []bool{false, true} { // after a range has arrived that the drop has waited for
		synctest.Test(t, func(t *testing.T) {
			var slow atomic.Bool
			m := segmenttest.NewMemory()
			create(t, m, "x", segment.TagConfig{Step: 10})
			tags := newTags(t, slowReplies{m, &slow}, segment.WithIdle(2*time.Second), segment.WithStepPolicy(segment.FixedStep{}))
			if _, err := tags.Next("x"); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			time.Sleep(2100 * time.Millisecond) // it was used in this interval and is used in the next one, and dropped after 6 s
			slow.Store(true)
			for range 12 { // the next range is requested
				if _, err := tags.Next("x"); err != nil {
					t.Fatal(err)
				}
			}
			synctest.Wait()
			before := m.Counter("x")
			time.Sleep(3950 * time.Millisecond)
			for range tags.Stats() {
				t.Fatal("the tag was not dropped")
			}
			slow.Store(false)
			if late {
				time.Sleep(time.Second)
				m.SetCounter("x", before-10) // the end of what had arrived before
			} else {
				m.SetCounter("x", 5)
			}
			if v, err := tags.Next("x"); !errors.Is(err, segment.ErrSetBack) {
				t.Errorf("Next = %d, %v; want ErrSetBack", v, err)
			}
		})
	}
}

// slowReplies is a source whose replies arrive when the call was canceled, or not before a second.
type slowReplies struct {
	*segmenttest.Memory
	slow *atomic.Bool
}

func (s slowReplies) Take(ctx context.Context, r segment.Request) (segment.Range, error) {
	got, err := s.Memory.Take(ctx, r)
	if s.slow.Load() {
		<-ctx.Done()
		time.Sleep(100 * time.Millisecond)
	}
	return got, err
}

// Health has all tags in memory. The errors of tags that cannot be opened have the source's description.
func TestTagsHealth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := segmenttest.NewMemory()
		tags := newTags(t, m, segment.WithCreate(segment.TagConfig{Step: 10}), segment.WithIdle(time.Hour))
		for n := range 3 {
			if _, err := tags.Next(fmt.Sprint("tag", n)); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		m.Kill()
		_, err := tags.Next("new")
		var empty *segment.EmptyError
		if !errors.As(err, &empty) || empty.Source != "memory" || empty.Tag != "new" || !errors.Is(empty.Cause, segmenttest.ErrDown) {
			t.Errorf("Next of a tag that cannot be opened = %#v", err)
		}
		seen := map[string]segment.Health{}
		for tag, h := range tags.Health() {
			seen[tag] = h
		}
		if len(seen) != 3 || !seen["tag0"].OK() || seen["tag1"].Buffered != 19 {
			t.Errorf("Health = %+v", seen)
		}
		for range tags.Health() {
			break
		}
	})
	for _, tags := range []*segment.Tags{nil, {}} {
		for tag, h := range tags.Health() {
			t.Errorf("Health of a Tags that NewTags has not made has %q, %+v", tag, h)
		}
	}
}

// The bounds of the options are allowed.
func TestTagsOptionBounds(t *testing.T) {
	tags := newTags(t, segmenttest.NewMemory(), segment.WithMaxTags(1), segment.WithMaxTakes(1024), segment.WithIdle(time.Second), segment.WithCreate(segment.TagConfig{}),
		segment.WithMaxWait(longWait))
	if _, err := tags.Next("x"); err != nil {
		t.Error(err)
	}
	if _, err := tags.Next("y"); !errors.Is(err, segment.ErrTooManyTags) {
		t.Errorf("Next of a second tag with WithMaxTags(1) = %v", err)
	}
}

// Tags that were dropped, and whose counters were set back meanwhile, are refused at once, however often they are asked
// for: their requests are not those that nobody waits for.
func TestTagsDroppedTagsAreRefusedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const count = 300
		m := segmenttest.NewMemory()
		tags := newTags(t, m, segment.WithCreate(segment.TagConfig{Start: 100}), segment.WithIdle(time.Second))
		for n := range count {
			if _, err := tags.Next(fmt.Sprint("tag", n)); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(5 * time.Second)
		for n := range count {
			m.SetCounter(fmt.Sprint("tag", n), 50)
		}
		for range 3 {
			wantRefused(t, tags, "tag", count, segment.ErrSetBack)
			time.Sleep(2 * time.Second)
		}
	})
}

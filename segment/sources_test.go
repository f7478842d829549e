package segment_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/segment/segmenttest"
)

// Sources of a Tags shows a source that fails, also before any tag is open, and Health shows it for each tag, also for
// tags that have not asked it yet because they wait for their turn.
func TestTagsSources(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, stores := stripes(2)
		create(t, g, "any", segment.TagConfig{})
		tags := newTags(t, g, segment.WithCreate(segment.TagConfig{Step: 1}), segment.WithStepPolicy(segment.FixedStep{}), segment.WithMaxTakes(1))
		check := func(when string, failing int) {
			t.Helper()
			states := tags.Sources()
			if len(states) != 2 {
				t.Fatalf("%s: Sources = %+v", when, states)
			}
			for i, s := range states {
				fails := i < failing
				if fails != errors.Is(s.LastError, segmenttest.ErrDown) || fails == s.FailingSince.IsZero() || !strings.Contains(s.Source, fmt.Sprint("stripe ", i)) || s.End != 0 {
					t.Errorf("%s: source %d is %+v", when, i, s)
				}
			}
		}
		check("at the start", 0)
		stores[0].Kill()
		stores[1].Kill()
		if _, err := tags.Next("tag0"); err == nil {
			t.Fatal("Next succeeded")
		}
		check("when all are down and no tag is open", 2)
		for range tags.Health() {
			t.Error("Health has a tag that is not open")
		}
		stores[0].Start()
		stores[1].Start()
		const count = 20
		for range 3 { // the requests of a tag begin with another source each time
			for n := range count {
				if _, err := tags.Next(fmt.Sprint("tag", n)); err != nil {
					t.Fatal(err)
				}
				synctest.Wait() // the sources are free again; a request does not wait for one that is not
			}
			time.Sleep(10 * time.Second)
		}
		check("when all work", 0)
		stores[0].Kill()
		stores[1].Kill()
		for range 4 {
			for n := range count {
				ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
				tags.NextContext(ctx, fmt.Sprint("tag", n))
				cancel()
			}
		}
		check("when all are down", 2)
		seen := map[string]bool{}
		for tag, h := range tags.Health() {
			seen[tag] = true
			if h.FailingSince.IsZero() || !errors.Is(h.LastError, segmenttest.ErrDown) {
				t.Errorf("tag %q, in an outage: %+v", tag, h)
			}
		}
		if len(seen) != count {
			t.Errorf("Health has %d tags, want %d", len(seen), count)
		}
	})
	for _, tags := range []*segment.Tags{nil, {}} {
		if s := tags.Sources(); s != nil {
			t.Errorf("Sources = %v", s)
		}
	}
}

// A tag that requests nothing has no failures, while the source fails for other tags.
func TestTagsQuietTagInOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := segmenttest.NewMemory()
		tags := newTags(t, m, segment.WithCreate(segment.TagConfig{}))
		if _, err := tags.Next("quiet"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		m.Kill()
		if _, err := tags.Next("busy"); err == nil {
			t.Fatal("Next succeeded")
		}
		for tag, h := range tags.Health() {
			if !h.OK() || !h.FailingSince.IsZero() || h.LastError != nil {
				t.Errorf("tag %q has %+v", tag, h)
			}
		}
	})
}

// Sources of a Daily are those of the day in use, or, after midnight, the failures of opening the next day.
func TestDailySources(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, stores := stripes(2)
		create(t, g, "any", segment.TagConfig{})
		d, err := segment.NewDaily(t.Context(), g, "orders", 6, time.UTC, quietOption())
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		end := int64(0)
		for i, s := range d.Sources() {
			if s.LastError != nil || !s.FailingSince.IsZero() || !strings.Contains(s.Source, fmt.Sprint("stripe ", i)) {
				t.Errorf("source %d is %+v", i, s)
			}
			end = max(end, s.End)
		}
		if st := d.Stats(); end != st.End {
			t.Errorf("the sources end at %d, want %d", end, st.End)
		}
		stores[0].Kill()
		stores[1].Kill()
		down := time.Now()
		time.Sleep(24 * time.Hour)
		if _, err := d.Next(); err == nil {
			t.Fatal("Next succeeded")
		}
		synctest.Wait()
		states := d.Sources()
		if len(states) != 2 {
			t.Fatalf("Sources = %+v", states)
		}
		for i, s := range states {
			if !errors.Is(s.LastError, segmenttest.ErrDown) || !s.FailingSince.After(down) || !strings.Contains(s.Source, fmt.Sprint("stripe ", i)) ||
				!strings.Contains(s.LastError.Error(), fmt.Sprintf("stripe %d of", i)) {
				t.Errorf("source %d, when the next day cannot be opened, is %+v", i, s)
			}
		}
		stores[0].Start()
		stores[1].Start()
		time.Sleep(time.Second)
		if _, err := d.Next(); err != nil {
			t.Fatal(err)
		}
		for i, s := range d.Sources() {
			if s.LastError != nil || !s.FailingSince.IsZero() {
				t.Errorf("source %d after the failure is %+v", i, s)
			}
		}
	})
	for _, d := range []*segment.Daily{nil, {}} {
		if s := d.Sources(); s != nil {
			t.Errorf("Sources = %v", s)
		}
	}
}

// A Group with a stripe whose source cannot create tags is refused where tags are created automatically, and accepted
// elsewhere.
func TestGroupWithoutCreator(t *testing.T) {
	m := segmenttest.NewMemory()
	bad := segment.Stripe(1, 2, rangeSource{})
	for name, src := range map[string]segment.Creator{"group": segment.NewGroup(segment.Stripe(0, 2, m), bad), "stripe": bad} {
		_, err := segment.NewTags(src, segment.WithCreate(segment.TagConfig{}))
		if !errors.Is(err, segment.ErrOption) || !strings.Contains(err.Error(), "stripe 1 of 2") || !strings.Contains(err.Error(), "WithCreate") {
			t.Errorf("NewTags with a %s without a Creator = %v, want ErrOption that names the stripe", name, err)
		}
		_, err = segment.NewDaily(t.Context(), src, "x", 6, time.UTC)
		if !errors.Is(err, segment.ErrOption) || !strings.Contains(err.Error(), "stripe 1 of 2") || m.Writes() > 0 {
			t.Errorf("NewDaily with a %s without a Creator = %v, want ErrOption that names the stripe", name, err)
		}
		newTags(t, src)
	}
}

// WithDailyStep is at most the numbers of a day.
func TestDailyStepBound(t *testing.T) {
	for _, digits := range []int{1, 6, 10} {
		most := int64(9)
		for range digits - 1 {
			most = most*10 + 9
		}
		_, err := segment.NewDaily(t.Context(), segmenttest.NewMemory(), "x", digits, time.UTC, segment.WithDailyStep(most+1))
		if !errors.Is(err, segment.ErrOption) || !strings.Contains(err.Error(), fmt.Sprint(most)) || !strings.Contains(err.Error(), fmt.Sprint(most+1)) {
			t.Errorf("NewDaily with %d digits and a step of %d = %v, want ErrOption with the value and the bound", digits, most+1, err)
		}
		d, err := segment.NewDaily(t.Context(), segmenttest.NewMemory(), "x", digits, time.UTC, segment.WithDailyStep(most), quietOption())
		if err != nil {
			t.Fatalf("NewDaily with %d digits and a step of %d = %v", digits, most, err)
		}
		if v, err := d.Next(); err != nil || v%10 != 1 {
			t.Errorf("Next = %d, %v", v, err)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}

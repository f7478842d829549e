package segment_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/testkit/uniq"
	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/segment/segmenttest"
	"github.com/ringuid/ringuid/stores/filestore"
)

// The tag that says which stripe a store is works with a real store: its counter stays where it is, and a second
// CreateTag repairs a store in which it is missing.
func TestStripeDeclaration(t *testing.T) {
	file := filestore.New(filepath.Join(t.TempDir(), "numbers"))
	create(t, file, segment.StripeTag("orders", 1, 3), segment.TagConfig{}) // by hand
	stripe := segment.Stripe(1, 3, file)
	tags := newTags(t, stripe, segment.WithCreate(segment.TagConfig{Step: 5}), segment.WithMaxWait(longWait), segment.WithTryTimeout(time.Minute)) // a tag takes six fsyncs
	if v, err := tags.Next("orders"); err != nil || v%3 != 1 {
		t.Errorf("Next of a tag that was created by hand = %d, %v", v, err)
	}
	if v, err := tags.Next("x"); !errors.Is(err, segment.ErrNoTag) {
		t.Errorf("Next of another tag = %d, %v; want ErrNoTag", v, err)
	}
	if err := stripe.CreateTag(t.Context(), "orders", segment.TagConfig{}); !errors.Is(err, segment.ErrTagExists) {
		t.Errorf("CreateTag of a tag that exists = %v, want ErrTagExists", err)
	}
	for _, tag := range []string{"y", "z"} {
		if v, err := tags.Next(tag); err != nil || v%3 != 1 {
			t.Errorf("Next of a new tag = %d, %v", v, err)
		}
	}
	r, err := file.Take(t.Context(), segment.Request{Tag: segment.StripeTag("", 1, 3), Size: 1})
	if err != nil || r.First != 1 {
		t.Errorf("the tag that says which stripe the store is has the range %+v, %v; want 1 as its first number", r, err)
	}
}

// Programs that create tags by themselves do not do so on stores that were exchanged, nor with another number of
// stripes: the tag would begin again at its start, with numbers that were handed out.
func TestStripesExchangedAutomaticTags(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, c := segmenttest.NewMemory(), segmenttest.NewMemory(), segmenttest.NewMemory()
		first := segment.NewGroup(segment.Stripe(0, 2, a), segment.Stripe(1, 2, b))
		create(t, first, "declared", segment.TagConfig{})
		var seen, days uniq.Set
		tags := newTags(t, first, segment.WithCreate(segment.TagConfig{Step: 2}))
		daily := newDaily(t, first, time.UTC, segment.WithDailyStep(2))
		for range 20 {
			if v, err := tags.Next("x"); err != nil || !seen.Writer().Add(v) {
				t.Fatalf("Next of a tag that is created automatically = %d, %v", v, err)
			}
			if v, err := daily.Next(); err != nil || !days.Writer().Add(v) {
				t.Fatalf("Next of a Daily = %d, %v", v, err)
			}
		}
		for name, g := range map[string]*segment.Group{
			"exchanged": segment.NewGroup(segment.Stripe(0, 2, b), segment.Stripe(1, 2, a)),
			"count":     segment.NewGroup(segment.Stripe(0, 3, a), segment.Stripe(1, 3, b), segment.Stripe(2, 3, c)),
			"empty":     segment.NewGroup(segment.Stripe(0, 2, segmenttest.NewMemory()), segment.Stripe(1, 2, segmenttest.NewMemory())),
		} {
			wrong := newTags(t, g, segment.WithCreate(segment.TagConfig{Step: 2}))
			v, err := wrong.Next("x")
			if !errors.Is(err, segment.ErrNoTag) || !strings.Contains(err.Error(), "another store") || !strings.Contains(err.Error(), "number of stripes") {
				t.Errorf("%s: Next of a tag that was created automatically = %d, %v; want ErrNoTag with advice", name, v, err)
			}
			d, err := segment.NewDaily(t.Context(), g, "orders", 6, time.UTC, quietOption())
			if err == nil {
				d.Close()
			}
			if !errors.Is(err, segment.ErrNoTag) {
				t.Errorf("%s: NewDaily = %v; want ErrNoTag", name, err)
			}
		}
	})
}

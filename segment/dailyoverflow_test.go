package segment_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/segment/segmenttest"
)

// Nothing beyond the digits is handed out, and the next day begins again.
func TestDailyOverflow(t *testing.T) {
	for _, digits := range []int{1, 3} {
		for _, count := range []int{1, 3} {
			synctest.Test(t, func(t *testing.T) {
				var clock testClock
				g, stores := stripes(count)
				create(t, g, "declared", segment.TagConfig{})
				d, err := segment.NewDaily(t.Context(), g, "orders", digits, time.UTC, quietOption(), segment.WithDailyStep(4), segment.WithClock(clock.now))
				if err != nil {
					t.Fatal(err)
				}
				defer d.Close()
				scale := int64(1)
				for range digits {
					scale *= 10
				}
				for day := int64(20000101); day < 20000103; day++ {
					seen := map[int64]bool{}
					for {
						v, err := d.Next()
						if errors.Is(err, segment.ErrExhausted) {
							break
						}
						if err != nil || v/scale != day || v%scale == 0 || seen[v] {
							t.Fatalf("Next with %d digits and %d stripes = %d, %v", digits, count, v, err)
						}
						seen[v] = true
					}
					if want := scale - 1; count == 1 && int64(len(seen)) != want {
						t.Errorf("%d numbers on a day with %d digits, want %d", len(seen), digits, want)
					}
					if st := d.Stats(); st.Limit != scale || d.Tag() != "orders" {
						t.Errorf("Stats().Limit = %d and Tag() = %q, want %d and orders", st.Limit, d.Tag(), scale)
					}
					if d.Health().OK() {
						t.Error("Health is OK although there are no numbers left")
					}
					time.Sleep(time.Minute)
					tag := segment.StripeTag(fmt.Sprint("orders.", day), 0, count)
					before := stores[0].Counter(tag)
					time.Sleep(10 * time.Minute)
					if after := stores[0].Counter(tag); after != before {
						t.Errorf("the counter of a day that has no numbers left rose from %d to %d", before, after)
					}
					synctest.Wait() // the Daily looks at the same time
					clock.offset.Add(int64(24 * time.Hour))
				}
			})
		}
	}
}

// A burst does not reserve more than a hundredth of a day's numbers at a time.
func TestDailyBurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := segmenttest.NewMemory()
		d := newDaily(t, m, time.UTC)
		for range 200_000 {
			if _, err := d.Next(); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if c := m.Counter("orders.20000101"); c > 230_000 {
			t.Errorf("after 200,000 numbers, the counter is %d", c)
		}
	})
}

// A tag of a day that was created by hand, with the default step, is not used up by the first processes.
func TestDailyTagByHand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := segmenttest.NewMemory()
		create(t, m, segment.DailyTag("orders", 2000, 1, 1), segment.TagConfig{Start: 1})
		for p := range 20 {
			d, err := segment.NewDaily(t.Context(), m, "orders", 3, time.UTC, quietOption())
			if err != nil {
				t.Fatalf("NewDaily of process %d: %v", p, err)
			}
			defer d.Close()
			for range 25 {
				if _, err := d.Next(); err != nil {
					t.Fatalf("Next of process %d: %v", p, err)
				}
			}
		}
	})
}

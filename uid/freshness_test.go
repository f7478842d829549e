package uid

import (
	"fmt"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/needs"
)

// lateness is how late the scheduled padding may come on a busy machine.
const paddingDelay = time.Second

// However a UID is taken, its time is within the bound of the clock: after 10 s of idleness, and
// at one UID a second, for a few of them; for a minute with RINGUID_MINUTE set.
func TestFreshAfterIdleness(t *testing.T) {
	needs.Time(t, "it is idle for 10 s")
	t.Parallel()
	seconds := 3
	if os.Getenv("RINGUID_MINUTE") != "" {
		seconds = 60
	}
	c := newCached(t, new(disposableAssigner))
	for way, make := range waysToTake(c) {
		take := make()
		t.Run(fmt.Sprint(way), func(t *testing.T) {
			t.Parallel()
			ids := []ID{0}
			check := func() {
				t.Helper()
				if _, err := take(ids); err != nil {
					t.Fatal(err)
				}
				if behind := time.Since(c.Parse(ids[0]).Time); behind > DefaultMaxStaleness+paddingDelay {
					t.Errorf("a UID is %v behind the clock", behind)
				}
			}
			check()
			time.Sleep(10 * time.Second)
			for range seconds {
				check()
				time.Sleep(time.Second)
			}
		})
	}
}

// D6: the original reads the clock once, at start, so that an idle service stamps ever older
// times. Here an idle hour leaves UIDs within the bound of a few seconds, at 1 UID a second
// as well.
func TestD6IdleStaysFresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCached(t, new(disposableAssigner), WithEpoch(bubbleEpoch))
		check := func() {
			t.Helper()
			p := c.Parse(next(t, c))
			if lag := time.Since(p.Time); lag > DefaultMaxStaleness || lag < -9*time.Second {
				t.Errorf("%v lies %v behind the clock", p, lag)
			}
			if ahead := c.Stats().Ahead; ahead < -DefaultMaxStaleness {
				t.Errorf("Stats().Ahead = %v", ahead)
			}
		}
		check()
		time.Sleep(time.Hour + 123*time.Millisecond)
		check()
		for range 60 {
			time.Sleep(time.Second)
			check()
		}
		if st := c.Stats(); st.Issued != 62 || st.Dropped < 3500*8192 || st.Paddings.Scheduled < 3500 || st.Rollovers != 0 {
			t.Errorf("Stats() = %+v", st)
		}
	})
}

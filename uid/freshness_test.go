package uid

import (
	"fmt"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
)

// paddingDelay is how late scheduled padding may be on a busy machine.
const paddingDelay = time.Second

// The time of a UID, taken in any way, is within the staleness bound: after 10 s of idleness, and then
// at one UID per second for 3 s, or for a minute if RINGUID_MINUTE is set.
func TestFreshAfterIdleness(t *testing.T) {
	testkit.Slow(t, "it is idle for 10 s")
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
					t.Errorf("the UID is %v behind the clock", behind)
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

// D6: the original reads the clock once, at its start, so the UIDs of an idle service become ever
// older. Here they stay within the staleness bound after an hour of idleness, and at 1 UID per second.
func TestD6IdleStaysFresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCached(t, new(disposableAssigner), WithEpoch(bubbleEpoch))
		check := func() {
			t.Helper()
			p := c.Parse(next(t, c))
			if behind := time.Since(p.Time); behind > DefaultMaxStaleness || behind < -9*time.Second {
				t.Errorf("%v is %v behind the clock", p, behind)
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

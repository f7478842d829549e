package uid

import (
	"testing"
	"testing/synctest"
	"time"
)

// D6: the original reads the clock once, at its start, so the UIDs of an idle service become ever
// older. Here they stay within the staleness bound after an hour of idleness, and at 1 UID per second, in
// whatever way they are taken.
func TestD6IdleStaysFresh(t *testing.T) {
	for way := range 4 {
		synctest.Test(t, func(t *testing.T) {
			c := newCached(t, new(disposableAssigner), WithEpoch(bubbleEpoch))
			take, ids := waysToTake(c)[way](), []ID{0}
			check := func() {
				t.Helper()
				if n, err := take(ids); n != 1 || err != nil {
					t.Fatalf("way %d: %d, %v", way, n, err)
				}
				p := c.Parse(ids[0])
				if behind := time.Since(p.Time); behind > DefaultMaxStaleness || behind < -9*time.Second {
					t.Errorf("way %d: %v is %v behind the clock", way, p, behind)
				}
				if ahead := c.Stats().Ahead; ahead < -DefaultMaxStaleness {
					t.Errorf("way %d: Stats().Ahead = %v", way, ahead)
				}
			}
			check()
			time.Sleep(time.Hour + 123*time.Millisecond)
			check()
			for range 60 {
				time.Sleep(time.Second)
				check()
			}
			if st := c.Stats(); st.Issued < 62 || way < 2 && st.Issued != 62 || st.Ring.Dropped < 3500*8192 || st.Ring.Paddings.Scheduled < 3500 || st.Rollovers != 0 {
				t.Errorf("way %d: Stats() = %+v", way, st)
			}
		})
	}
}

package redisstore_test

import (
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit/slottest"
	"github.com/ringuid/ringuid/internal/testkit/uniq"
	"github.com/ringuid/ringuid/uid"
)

// A million UIDs with the defaults require five leases or more, one after the other, and no wait for the clock. If a lease could be
// replaced only when its first unit has begun, each burst would take 2.4 seconds or more. (TestBurstOnRecycled of package uid has a
// simulated clock.) A busy machine makes some bursts slow.
func TestBurst(t *testing.T) {
	s, _, _ := newStore(t)
	c, err := uid.NewCached(t.Context(), slottest.New(t, s))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var set uniq.Set
	writer := set.Writer()
	ids := make([]uid.ID, 1_000_000)
	bursts, fastest := 0, time.Hour
	for ; bursts < 3 || fastest > 2*time.Second && bursts < 40; bursts++ {
		begin := time.Now()
		if n, err := c.NextN(ids); err != nil {
			t.Fatalf("after %d UIDs: %v", n, err)
		}
		fastest = min(fastest, time.Since(begin))
		for _, id := range ids {
			if !writer.Add(int64(id)) {
				t.Fatalf("%v came twice", c.Parse(id))
			}
		}
	}
	if n := c.Stats().Rollovers; n < uint64(4*bursts) || fastest > 2*time.Second {
		t.Errorf("%d bursts of a million UIDs, of which the fastest took %v, had %d rollovers; want 2s at most, and %d rollovers or more",
			bursts, fastest, n, 4*bursts)
	}
}

package redisstore_test

import (
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit/slottest"
	"github.com/ringuid/ringuid/internal/testkit/uniq"
	"github.com/ringuid/ringuid/uid"
)

// A million UIDs with the defaults require five leases or more, one after the other, and no wait for the clock. If a lease could be
// replaced only when its first unit has begun, five bursts would take 12 seconds or more. (TestBurstOnRecycled of package uid has a
// simulated clock.) A busy machine has more tries.
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
	bursts, begin, took := 0, time.Now(), time.Hour // took: of five bursts
	for deadline := begin.Add(5 * time.Minute); took > 8*time.Second && (bursts%5 != 0 || time.Now().Before(deadline)); bursts++ {
		if bursts%5 == 0 {
			begin = time.Now()
		}
		if n, err := c.NextN(ids); err != nil {
			t.Fatalf("after %d UIDs: %v", n, err)
		}
		for _, id := range ids {
			if !writer.Add(int64(id)) {
				t.Fatalf("%v came twice", c.Parse(id))
			}
		}
		if bursts%5 == 4 {
			took = time.Since(begin)
		}
	}
	if n := c.Stats().Rollovers; n < uint64(4*bursts) || took > 8*time.Second {
		t.Errorf("%d bursts of a million UIDs had %d rollovers, and the last five took %v; want at least %d, and 8s at most", bursts, n, took, 4*bursts)
	}
}

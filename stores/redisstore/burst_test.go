package redisstore_test

import (
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit/slottest"
	"github.com/ringuid/ringuid/internal/testkit/uniq"
	"github.com/ringuid/ringuid/uid"
)

// A million UIDs with the defaults require five leases or more, one after the other, and no wait for the clock. If a lease could be
// replaced only when its first unit has begun, five bursts would take 12 seconds or more, instead of milliseconds. (TestBurstOnRecycled
// of package uid bounds the time closely, by a simulated clock.)
func TestBurst(t *testing.T) {
	s, _, _ := newStore(t)
	c, err := uid.NewCached(t.Context(), slottest.New(t, s))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var set uniq.Set
	writer, took := set.Writer(), time.Duration(0)
	ids := make([]uid.ID, 1_000_000)
	for range 5 {
		begin := time.Now()
		if n, err := c.NextN(ids); err != nil {
			t.Fatalf("after %d UIDs: %v", n, err)
		}
		took += time.Since(begin)
		for _, id := range ids {
			if !writer.Add(int64(id)) {
				t.Fatalf("%v came twice", c.Parse(id))
			}
		}
	}
	if st := c.Stats(); took > 8*time.Second || st.Rollovers < 20 {
		t.Errorf("five bursts of a million UIDs took %v, with %d rollovers; want at most 8s, and at least 20", took, st.Rollovers)
	}
}

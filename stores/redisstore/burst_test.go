package redisstore_test

import (
	"testing"

	"github.com/ringuid/ringuid/internal/testkit/slottest"
	"github.com/ringuid/ringuid/internal/testkit/uniq"
	"github.com/ringuid/ringuid/uid"
)

// A million UIDs with the defaults require five leases or more, one after the other. No UID comes twice. (TestBurstOnRecycled of package
// uid has a simulated clock, and shows that they are no wait.)
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
	for range 5 {
		if n, err := c.NextN(ids); err != nil {
			t.Fatalf("after %d UIDs: %v", n, err)
		}
		for _, id := range ids {
			if !writer.Add(int64(id)) {
				t.Fatalf("%v came twice", c.Parse(id))
			}
		}
	}
	if st := c.Stats(); st.Rollovers < 20 {
		t.Errorf("%d rollovers in five bursts of a million UIDs, want at least 20", st.Rollovers)
	}
}

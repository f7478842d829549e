package recycled_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/ringuid/ringuid/workerassign/recycled"
)

// allCounter counts the reads of all slots, and the other reads.
type allCounter struct {
	recycled.Store
	all, others int
}

func (c *allCounter) Read(ctx context.Context, q recycled.Query) (recycled.State, error) {
	if q.All {
		c.all++
	} else {
		c.others++
	}
	return c.Store.Read(ctx, q)
}

// A host that waits for a full pool looks for a released slot each second, and reads all slots seldom: 100 hosts that
// read 1,000 slots each second use most of a Redis.
func TestPoolFullReadsAllSeldom(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.max = 9
		for range 10 {
			f.reserve(f.assign(f.assigner()), 70*time.Second)
		}
		c := &allCounter{Store: f.Memory}
		ctx, cancel := context.WithTimeout(f.Context(), 3*time.Minute)
		defer cancel()
		started := time.Now()
		if _, err := f.assignerOn(c).Assign(ctx, f.request()); err != nil && !errors.Is(err, recycled.ErrPoolFull) {
			f.Error(err)
		}
		waited := time.Since(started)
		if seconds := int(waited / time.Second); seconds < 30 || c.others < seconds || c.all > 10 {
			f.Errorf("in %v all slots were read %d times, and others %d times; want at most 10, and once a second", waited, c.all, c.others)
		}
	})
}

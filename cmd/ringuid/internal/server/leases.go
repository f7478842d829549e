package server

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/ringuid/ringuid/workerassign"
)

// leaseCacheTime is how long the list of leases is used again: it reads all slots of the store.
const leaseCacheTime = 10 * time.Second

// maxLeases is how many leases the list has.
const maxLeases = 1000

// poolState is the list of leases as JSON.
type poolState struct {
	Time     time.Time `json:"time"` // the store's clock
	Format   string    `json:"format"`
	Slots    int64     `json:"slots"` // how many worker IDs the pool has
	Held     int       `json:"held"`  // how many of them have a holder
	Leases   []lease   `json:"leases"`
	Complete bool      `json:"complete"` // false if leases has only a part
}

// lease is a worker ID of the pool.
type lease struct {
	WorkerID int64     `json:"worker_id"`
	Held     bool      `json:"held"`
	From     time.Time `json:"from"`
	Until    time.Time `json:"until"`
	FreeAt   time.Time `json:"free_at"`
	Name     string    `json:"name"`
	Host     string    `json:"host"`
	Process  string    `json:"process"`
}

// A leaseCache keeps the list of leases for a while.
type leaseCache struct {
	reading chan struct{} // has one element while nobody reads; it guards the fields below

	at   time.Time
	body *poolState
}

func newLeaseCache() leaseCache {
	c := leaseCache{reading: make(chan struct{}, 1)}
	c.reading <- struct{}{}
	return c
}

// get returns the list, which is not older than leaseCacheTime. Only one call at a time reads the store.
func (l *leaseCache) get(ctx context.Context, pool Pool) (*poolState, error) {
	select {
	case <-l.reading:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { l.reading <- struct{}{} }()
	if l.body != nil && time.Since(l.at) < leaseCacheTime {
		return l.body, nil
	}
	st, err := pool.State(ctx)
	if err != nil {
		return nil, err
	}
	l.body, l.at = newPoolState(st), time.Now()
	return l.body, nil
}

// newPoolState returns the state of a pool as JSON: the leases that are held first, by worker ID.
func newPoolState(st workerassign.PoolState) *poolState {
	out := &poolState{Time: st.Now.UTC(), Format: st.Pool.Format, Slots: st.Pool.Slots, Leases: []lease{}, Complete: true}
	for _, slot := range st.Slots {
		l := lease{
			WorkerID: slot.WorkerID, Held: slot.Token != "", From: slot.From.UTC(), Until: slot.Until.UTC(), FreeAt: slot.FreeAt.UTC(),
			Name: slot.Holder.Name, Host: slot.Holder.Host, Process: slot.Holder.Process,
		}
		if l.Held {
			out.Held++
		}
		out.Leases = append(out.Leases, l)
	}
	slices.SortFunc(out.Leases, func(a, b lease) int {
		if a.Held != b.Held {
			if a.Held {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.WorkerID, b.WorkerID)
	})
	if len(out.Leases) > maxLeases {
		out.Leases, out.Complete = out.Leases[:maxLeases], false
	}
	return out
}

// leases answers with the list of leases.
func (c *call) leases() {
	if c.s.opts.Pool == nil {
		c.fail(http.StatusNotFound, "the worker IDs of this server are not leased from a pool", nil)
		return
	}
	list, err := c.s.leases.get(&c.limit, c.s.opts.Pool)
	if err != nil {
		c.fail(http.StatusServiceUnavailable, "the store does not answer; the log has the details", err)
		return
	}
	c.sendJSON(http.StatusOK, list)
}

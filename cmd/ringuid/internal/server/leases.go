package server

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"github.com/ringuid/ringuid/workerassign/recycled"
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

// newPoolState returns the state of a pool as JSON: the leases that are held first, by worker ID.
func newPoolState(st recycled.State) *poolState {
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
	list, err := c.s.leases.get(&c.limit, func() (*poolState, error) {
		st, err := c.s.opts.Pool.State(&c.limit)
		if err != nil {
			return nil, err
		}
		return newPoolState(st), nil
	})
	if err != nil {
		c.fail(http.StatusServiceUnavailable, "the store does not answer; the log has the details", err)
		return
	}
	c.sendJSON(http.StatusOK, list)
}

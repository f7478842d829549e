package recycled

import (
	"time"

	"github.com/ringuid/ringuid/workerassign"
)

// CopyLease returns what a copy of this process has of a lease of Recycled: the process was resumed twice from one snapshot, for
// example.
func CopyLease(lease workerassign.Lease) workerassign.Lease {
	l := lease.(*slotLease)
	return &slotLease{recycled: l.recycled, req: l.req, workerID: l.workerID, from: l.from, horizon: l.horizon, slot: l.slot, tokens: l.tokens}
}

// AdoptToken makes a token of a copy of the lease its own, as if extensions had no fresh tokens.
func AdoptToken(lease workerassign.Lease, token string) {
	l := lease.(*slotLease)
	if leaseOf(token) == leaseOf(l.slot.Token) {
		l.tokens = withToken(l.tokens, token)
	}
}

// NewMemory returns a store that loses no writes, and has the host's clock; and a function that gives it another history. An external
// test file sets it, because the store imports this package.
var NewMemory func(now func() time.Time) (store Store, changeHistory func())

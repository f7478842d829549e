package workerassign

// CopyLease returns what a copy of this process has of a lease of Recycled: the process was resumed twice from one snapshot, for
// example.
func CopyLease(lease Lease) Lease {
	l := lease.(*slotLease)
	return &slotLease{recycled: l.recycled, req: l.req, workerID: l.workerID, from: l.from, horizon: l.horizon, slot: l.slot, tokens: l.tokens}
}

// AdoptToken makes a token of a copy of the lease its own, as if extensions had no fresh tokens.
func AdoptToken(lease Lease, token string) {
	l := lease.(*slotLease)
	if leaseOf(token) == leaseOf(l.slot.Token) {
		l.tokens = withToken(l.tokens, token)
	}
}

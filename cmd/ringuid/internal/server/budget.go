package server

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"sync/atomic"

	"golang.org/x/sync/semaphore"
)

// A budget bounds the memory of the answers of one kind that are in flight: those that are generated, and those that wait for their
// clients to read them. Requests beyond it wait for a while, and are then refused.
type budget struct {
	bytes    *semaphore.Weighted
	size     int64
	requests atomic.Int64 // that have a part of it, or wait for one
	most     int64        // of these
}

// The sizes of the budgets. Twice their sum, which is what the garbage collector allows, and the memory of 1,000 connections, are
// less than 128 MiB.
const (
	listBudget  = 12 << 20
	parseBudget = 8 << 20
)

// smallAnswer is the length of the longest body of an answer that no budget bounds. The buffers of its connection hold it, so its
// handler never waits for the client.
const smallAnswer = 3 << 10

func newBudget(size, requests int) *budget {
	return &budget{bytes: semaphore.NewWeighted(int64(size)), size: int64(size), most: int64(max(requests, 1))}
}

// errBudget is the error of a request that has found no part of a budget in time.
var errBudget = errors.New("server: the answers in flight use all memory that is allowed for them")

// reserve waits for the memory of an answer with a body of some length, but no longer than the request may take. It returns how many bytes
// of the budget it has taken, for release. If it gets none, it answers the request, and ok is false.
func (c *call) reserve(b *budget, body, memory int) (taken int64, ok bool) {
	if body <= smallAnswer {
		return 0, true
	}
	taken = min(int64(memory), b.size)
	if b.requests.Add(1) <= b.most && c.acquireShare(taken) {
		if c.acquire(b.bytes, taken) == nil {
			return taken, true
		}
		c.releaseShare()
	}
	b.requests.Add(-1)
	c.failBudget()
	return 0, false
}

// acquire waits for n bytes, but no longer than the request may take.
func (c *call) acquire(s *semaphore.Weighted, n int64) error {
	if s.TryAcquire(n) { // Acquire would start a timer
		return nil
	}
	return s.Acquire(&c.limit, n)
}

// connectionShare is how many bytes of the budgets the requests of one connection may have at the same time. Only in HTTP/2 it has several.
const connectionShare = listBudget / 8

// shareKey is the key of a TLS connection's share in the context of its requests.
type shareKey struct{}

// connContext is an http.Server's ConnContext: it gives a TLS connection its share of the budgets.
func connContext(ctx context.Context, c net.Conn) context.Context {
	if _, ok := c.(*tls.Conn); !ok {
		return ctx
	}
	return context.WithValue(ctx, shareKey{}, semaphore.NewWeighted(connectionShare))
}

// acquireShare waits for as much of the connection's share.
func (c *call) acquireShare(n int64) bool {
	share, ok := c.r.Context().Value(shareKey{}).(*semaphore.Weighted)
	if !ok {
		return true
	}
	n = min(n, connectionShare)
	if c.acquire(share, n) != nil {
		return false
	}
	c.share, c.shared = share, n
	return true
}

// releaseShare gives back what acquireShare has taken.
func (c *call) releaseShare() {
	if c.share != nil {
		c.share.Release(c.shared)
	}
}

// reserveMore increases a part that reserve has taken to n bytes, if that is more. It does not wait if it holds a part: others that hold
// one might wait for this.
func (c *call) reserveMore(b *budget, taken int64, n int) (int64, bool) {
	if taken == 0 {
		return c.reserve(b, n, n)
	}
	more := min(int64(n), b.size) - taken
	if more > 0 && !b.bytes.TryAcquire(more) {
		c.failBudget()
		return taken, false
	}
	return taken + max(more, 0), true
}

// failBudget answers a request that has found no part of a budget.
func (c *call) failBudget() {
	c.fail(http.StatusServiceUnavailable, "too many long answers wait for their clients; try again later, or request fewer", errBudget)
}

// release gives back what reserve has taken.
func (c *call) release(b *budget, taken int64) {
	if taken > 0 {
		c.releaseShare()
		b.bytes.Release(taken)
		b.requests.Add(-1)
	}
}

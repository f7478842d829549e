package server

import (
	"context"
	"net"
	"sync"

	"golang.org/x/sync/semaphore"
)

// A joiningConn sends a list at once. net/http writes an answer of more than 4,096 bytes in two parts, the headers with the
// beginning of the body, and the rest: two system calls, and a client that is woken twice, which take longer than all work for
// the UIDs of the list.
type joiningConn struct {
	net.Conn
	held *[]byte // what was written since hold was called; nil if writes are not held
	err  error   // of the joined write that failed
}

// The length of answers that are joined. In lesser ones, net/http writes the second part later. For greater ones, the copy
// would cost more than it saves.
const (
	minJoined = 8 << 10
	maxJoined = 64 << 10
)

// Write implements net.Conn. It is not safe for concurrent use, which net/http does not need.
func (c *joiningConn) Write(p []byte) (int, error) {
	if c.err != nil {
		return 0, c.err // an answer would follow one that is incomplete
	}
	if c.held == nil {
		return c.Conn.Write(p)
	}
	before := len(*c.held)
	*c.held = append(*c.held, p...)
	if before == 0 {
		return len(p), nil
	}
	var n int
	n, c.err = c.Conn.Write(*c.held)
	*c.held = (*c.held)[:0]
	return max(n-before, 0), c.err
}

// hold makes the next write wait for the one after it, or for release. buf is the memory for both.
func (c *joiningConn) hold(buf *[]byte) { c.held = buf }

// release sends what is still held.
func (c *joiningConn) release() {
	if len(*c.held) > 0 { // never after an error
		_, c.err = c.Conn.Write(*c.held)
	}
	c.held = nil
}

// A joiningListener accepts joiningConns.
type joiningListener struct{ net.Listener }

// Accept implements net.Listener.
func (l joiningListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &joiningConn{Conn: c}, nil
}

// connKey is the key of the joiningConn in the context of its requests.
type connKey struct{}

// connContext is an http.Server's ConnContext. The writes of a TLS connection, which has several requests at a time in HTTP/2, are
// not joined. It has a share of the budgets.
func connContext(ctx context.Context, c net.Conn) context.Context {
	if joining, ok := c.(*joiningConn); ok {
		return context.WithValue(ctx, connKey{}, joining)
	}
	return context.WithValue(ctx, shareKey{}, semaphore.NewWeighted(connectionShare))
}

// A joinPool keeps the memory of answers that are joined.
type joinPool struct{ pool sync.Pool }

// get returns memory that is empty.
func (p *joinPool) get() *[]byte {
	if buf, ok := p.pool.Get().(*[]byte); ok {
		return buf
	}
	return new([]byte)
}

// put keeps memory.
func (p *joinPool) put(buf *[]byte) {
	*buf = (*buf)[:0]
	p.pool.Put(buf)
}

// write writes the body of an answer, with as few writes of the connection as possible. Those of free routes are not joined: there may
// be one for each connection that waits for its client, and each would need the memory of a copy.
func (c *call) write(body []byte) {
	if len(body) >= minJoined && len(body) <= maxJoined && !c.route.free {
		if conn, ok := c.r.Context().Value(connKey{}).(*joiningConn); ok {
			buf := c.s.joins.get()
			defer c.s.joins.put(buf)
			conn.hold(buf)
			defer conn.release()
		}
	}
	_, _ = c.w.Write(body) // an error means that the client is gone
}

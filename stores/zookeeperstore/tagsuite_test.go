package zookeeperstore

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/takertest"
	"github.com/ringuid/ringuid/internal/testkit/zookeepertest"
	"github.com/ringuid/ringuid/segment"
)

// Several processes with several goroutines take all numbers, and none twice.
func TestTagProcesses(t *testing.T) {
	testkit.Full(t, "processes take numbers of MariaDB, Redis and files in each run")
	takertest.TestProcesses(t, func() (string, segment.Creator) {
		s := zookeepertest.Start(t)
		return s.Address(), New(dial(t, s.Address()))
	}, func(address string) segment.Source { return New(dial(t, address)) })
}

// hookedConn is a connection that calls onRequest before it sends a request. If onRequest returns true, the connection is lost
// instead of the reply.
type hookedConn struct {
	net.Conn
	onRequest func(operation uint32) (loseReply bool)
	lost      atomic.Pointer[[]byte] // the ID of the request whose reply gets lost
}

// Operations of requests.
const (
	opPing  = 11
	opMulti = 14
)

// dialHooked returns a connection of hookedConns.
func dialHooked(t *testing.T, onRequest func(operation uint32) (loseReply bool), servers ...string) *zk.Conn {
	t.Helper()
	conn, _, err := zk.Connect(servers, sessionTimeout, zk.WithLogger(discard{}), zk.WithLogInfo(false),
		zk.WithDialer(func(network, address string, timeout time.Duration) (net.Conn, error) {
			c, err := net.DialTimeout(network, address, timeout)
			return &hookedConn{Conn: c, onRequest: onRequest}, err
		}))
	must(t, err)
	t.Cleanup(conn.Close)
	return conn
}

// Write writes a request: its length, its ID and its operation, each in four bytes, and the rest.
func (c *hookedConn) Write(p []byte) (int, error) {
	if len(p) >= 12 && c.onRequest(binary.BigEndian.Uint32(p[8:])) {
		id := bytes.Clone(p[4:8])
		c.lost.Store(&id)
	}
	return c.Conn.Write(p)
}

// Read reads the length of a reply, or the rest of it, which begins with the ID of the request.
func (c *hookedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if id := c.lost.Load(); id != nil && len(p) > 4 && bytes.HasPrefix(p[:n], *id) {
		c.Close()
		return 0, io.EOF
	}
	return n, err
}

// The reply to a write is lost, and not those to the reads before it.
func TestTagLostReplies(t *testing.T) {
	var lose atomic.Bool
	servers := zookeepertest.Servers(t)
	conn := dialHooked(t, func(operation uint32) bool { return operation == opMulti && lose.CompareAndSwap(true, false) }, servers...)
	path := newPath()
	takertest.LostReplies(t, func() { lose.Store(true) }, New(conn, path), New(dial(t, servers...), path))
}

package postgrestest_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"maps"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/ringuid/ringuid/internal/postgrestest"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/assigntest"
)

// slotServer is a server for the conformance tests of slot tables. Clients reach it through faultyConns.
type slotServer struct {
	server    *postgrestest.Server
	isolation string // of the sessions

	mu    sync.Mutex
	mode  connMode
	conns map[*faultyConn]bool
}

// connMode is what happens to the bytes of connections.
type connMode int

const (
	connWorks      connMode = iota
	connNoRequests          // requests get lost
	connNoReplies           // replies get lost
	connDelayed             // transactions are kept, from their first statement on
	connLateCommit          // commits are kept
)

func newSlotServer(t *testing.T, settings ...string) *slotServer {
	t.Helper()
	return &slotServer{server: postgrestest.Start(t, settings...), conns: map[*faultyConn]bool{}}
}

// open returns a pool of connections to a database.
func (s *slotServer) open(tb testing.TB, database string) *sql.DB {
	tb.Helper()
	config, err := pgx.ParseConfig(s.server.DSN("postgres", "", database))
	if err != nil {
		tb.Fatal(err)
	}
	config.DialFunc = s.dial
	if s.isolation != "" {
		config.RuntimeParams["default_transaction_isolation"] = s.isolation
	}
	db := stdlib.OpenDB(*config)
	db.SetMaxIdleConns(8)
	tb.Cleanup(func() { db.Close() })
	return db
}

func (s *slotServer) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	s.mu.Lock()
	address, mode := s.server.Address(), s.mode
	s.mu.Unlock()
	if mode == connNoRequests {
		return nil, errors.New("the network is down")
	}
	inner, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	c := &faultyConn{Conn: inner, server: s}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns[c] = true
	return c, nil
}

// during calls f while connections have a mode.
func (s *slotServer) during(mode connMode, f func()) {
	s.setMode(mode)
	defer s.setMode(connWorks)
	f()
}

func (s *slotServer) setMode(mode connMode) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mode = mode
}

func (s *slotServer) currentMode() connMode {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mode
}

// allConns returns the connections that are open.
func (s *slotServer) allConns() []*faultyConn {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.conns))
}

// keptConns returns how many connections keep requests.
func (s *slotServer) keptConns() (n int) {
	for _, c := range s.allConns() {
		c.mu.Lock()
		if len(c.kept) > 0 {
			n++
		}
		c.mu.Unlock()
	}
	return n
}

// deliver sends the requests that were kept, and waits until they have been executed.
func (s *slotServer) deliver() {
	for _, c := range s.allConns() {
		c.mu.Lock()
		if len(c.kept) > 0 {
			c.Conn.SetDeadline(time.Now().Add(2 * time.Minute))
			c.Conn.Write(c.kept)
			c.Conn.Read(make([]byte, 1024))
			c.kept = nil
			c.Conn.Close()
			s.mu.Lock()
			delete(s.conns, c)
			s.mu.Unlock()
		}
		c.mu.Unlock()
	}
}

// faultyConn is a connection whose bytes get lost or are kept. A connection that had a fault never works
// again.
type faultyConn struct {
	net.Conn
	server *slotServer

	mu   sync.Mutex
	mode connMode
	kept []byte
}

func (c *faultyConn) Write(p []byte) (int, error) {
	mode := c.server.currentMode()
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(p) == 16 && binary.BigEndian.Uint32(p[4:]) == 80877102 { // a request to cancel, which would reach a delayed commit
		c.Conn.Close()
		return len(p), nil
	}
	if mode == connLateCommit && !bytes.Contains(p, []byte("COMMIT\x00")) {
		mode = connWorks
	}
	c.mode = max(c.mode, mode)
	switch c.mode {
	case connNoRequests:
		return len(p), nil
	case connDelayed, connLateCommit:
		c.kept = append(c.kept, p...)
		return len(p), nil
	}
	return c.Conn.Write(p)
}

func (c *faultyConn) Read(p []byte) (int, error) {
	for {
		n, err := c.Conn.Read(p) // ends at the deadline that pgx sets
		c.mu.Lock()
		works := c.mode == connWorks
		c.mu.Unlock()
		if err != nil || works {
			return n, err
		}
	}
}

func (c *faultyConn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.kept) > 0 {
		return nil // closed by deliver
	}
	c.server.mu.Lock()
	delete(c.server.conns, c)
	c.server.mu.Unlock()
	return c.Conn.Close()
}

// newStore returns a client of a pool. The pool is a pair of tables in a database of its name.
func (s *slotServer) newStore(tb testing.TB, pool string, opts ...workerassign.SlotTableOption) workerassign.SlotStore {
	tb.Helper()
	admin := postgrestest.Open(tb, s.server.DSN("postgres", "", "postgres"))
	var exists bool
	if err := admin.Get(&exists, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", pool); err != nil {
		tb.Fatal(err)
	}
	if !exists {
		admin.MustExec("CREATE DATABASE " + pool)
		postgrestest.RunScript(tb, postgrestest.Open(tb, s.server.DSN("postgres", "", pool)), schemaScript(tb))
	}
	return workerassign.NewSlotTable(s.open(tb, pool), opts...)
}

// loseByPromotion loses writes by the promotion of a standby that has not received them.
func (s *slotServer) loseByPromotion(tb testing.TB, write func()) {
	primary := s.server
	standby := primary.Standby()
	standby.Disconnect()
	write()
	primary.Kill()
	standby.Promote()
	s.replaceBy(standby)
}

// replaceBy makes new connections go to another server.
func (s *slotServer) replaceBy(other *postgrestest.Server) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.server = other
}

func (s *slotServer) faults() assigntest.Faults {
	return assigntest.Faults{
		Recovery:     2 * time.Minute,
		Kill:         func(testing.TB) { s.server.Kill() },
		Start:        func(testing.TB) { s.server.Restart() },
		Pause:        func(testing.TB) { s.server.Pause() },
		Resume:       func(testing.TB) { s.server.Resume() },
		LoseWrites:   s.loseByPromotion,
		LoseRequests: func(_ testing.TB, call func()) { s.during(connNoRequests, call) },
		LoseReplies:  func(_ testing.TB, call func()) { s.during(connNoReplies, call) },
		DelayWrites: func(_ testing.TB, write func()) (deliver func()) {
			s.during(connDelayed, write)
			return s.deliver
		},
		Without: map[string]string{
			"StepClock": "the clock of a server cannot be changed without changing this machine's",
			"StopClock": "the clock of a server cannot be stopped without stopping this machine's",
		},
	}
}

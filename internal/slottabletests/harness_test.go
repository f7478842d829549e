//go:build unix

package slottabletests

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"net"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ringuid/ringuid"
	"github.com/ringuid/ringuid/internal/mariadbtest"
	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/assigntest"
)

// slotServer is a server, or a cluster of servers, for the conformance tests of slot tables. Clients reach it
// through faultyConns.
type slotServer struct {
	servers []*mariadbtest.Server // connections go to them in turn
	started time.Time             // of the server that was started last

	mu    sync.Mutex
	turn  int
	mode  connMode
	conns map[*faultyConn]bool
}

// connMode is what happens to the bytes of connections.
type connMode int

const (
	connWorks      connMode = iota
	connNoRequests          // requests get lost
	connNoReplies           // replies get lost
	connDelayed             // requests are kept
)

// open returns a pool of connections to a database.
func (s *slotServer) open(tb testing.TB, database, settings string) *sql.DB {
	tb.Helper()
	cfg, err := mysql.ParseDSN(s.servers[0].DSN("root", "", database) + settings)
	if err != nil {
		tb.Fatal(err)
	}
	cfg.Logger = &mysql.NopLogger{}
	cfg.DialFunc = s.dial
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	db := sql.OpenDB(connector)
	db.SetMaxIdleConns(8)
	tb.Cleanup(func() { db.Close() })
	return db
}

func (s *slotServer) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	s.mu.Lock()
	s.turn++
	address, mode := s.servers[s.turn%len(s.servers)].Address(), s.mode
	s.mu.Unlock()
	if mode == connNoRequests {
		return nil, errors.New("the network is down")
	}
	inner, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	c := &faultyConn{Conn: inner, server: s, closed: make(chan struct{})}
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

// currentMode returns what happens to requests that are sent now.
func (s *slotServer) currentMode() connMode {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mode
}

// deliver sends the requests that were kept, and waits until they have been executed.
func (s *slotServer) deliver() {
	s.mu.Lock()
	all := slices.Collect(maps.Keys(s.conns))
	s.mu.Unlock()
	for _, c := range all {
		c.mu.Lock()
		if len(c.kept) > 0 {
			c.Conn.SetDeadline(time.Now().Add(2 * time.Minute))
			c.Conn.Write(c.kept)
			c.Conn.Read(make([]byte, 1024))
			c.kept = nil
		}
		if c.mode == connDelayed {
			c.Conn.Close()
			s.mu.Lock()
			delete(s.conns, c)
			s.mu.Unlock()
		}
		c.mu.Unlock()
	}
}

// faultyConn is a connection whose bytes get lost or are kept.
type faultyConn struct {
	net.Conn
	server *slotServer

	mu     sync.Mutex
	mode   connMode
	kept   []byte
	once   sync.Once
	closed chan struct{}
}

func (c *faultyConn) Write(p []byte) (int, error) {
	mode := c.server.currentMode()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mode = max(c.mode, mode) // a connection that had a fault never works again
	switch c.mode {
	case connNoRequests:
		return len(p), nil
	case connDelayed:
		c.kept = append(c.kept, p...)
		return len(p), nil
	}
	return c.Conn.Write(p)
}

func (c *faultyConn) Read(p []byte) (int, error) {
	n, err := 0, error(nil)
	if c.working() {
		n, err = c.Conn.Read(p)
	}
	if !c.working() {
		<-c.closed
		return 0, net.ErrClosed
	}
	return n, err
}

func (c *faultyConn) working() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mode == connWorks
}

func (c *faultyConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	c.mu.Lock()
	delayed := c.mode == connDelayed
	c.mu.Unlock()
	if delayed {
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
	admin := mariadbtest.Open(tb, s.servers[0].DSN("root", "", ""))
	admin.MustExec("CREATE DATABASE IF NOT EXISTS `" + pool + "`")
	for _, server := range s.servers { // a node of a cluster may not have applied it yet
		testkit.Retry(tb, "the database is created", mariadbtest.Open(tb, server.DSN("root", "", pool)).Ping)
	}
	db := s.open(tb, pool, "")
	for _, statement := range mariadbtest.SplitStatements(ringuid.MySQLSchema()) {
		if _, err := db.Exec(statement); err != nil {
			tb.Fatal(err)
		}
	}
	return workerassign.NewSlotTable(db, opts...)
}

// start starts the server that was killed again. The history is a number of seconds.
func (s *slotServer) start(testing.TB) {
	time.Sleep(time.Until(s.started.Add(1100 * time.Millisecond)))
	s.started = time.Now()
	s.servers[0].Restart()
}

func signal(s *mariadbtest.Server, which syscall.Signal) func(testing.TB) {
	return func(tb testing.TB) {
		if err := syscall.Kill(s.PID(), which); err != nil {
			tb.Error(err)
		}
	}
}

// faults returns the faults of a single server.
func (s *slotServer) faults() assigntest.Faults {
	return assigntest.Faults{
		Recovery:     2 * time.Minute,
		Kill:         func(testing.TB) { s.servers[0].Kill() },
		Start:        s.start,
		Pause:        func(tb testing.TB) { signal(s.servers[0], syscall.SIGSTOP)(tb) },
		Resume:       func(tb testing.TB) { signal(s.servers[0], syscall.SIGCONT)(tb) },
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

func newSlotServer(servers ...*mariadbtest.Server) *slotServer {
	return &slotServer{servers: servers, started: time.Now(), conns: map[*faultyConn]bool{}}
}

// loseByPromotion loses writes by the promotion of a replica that has not received them.
func (s *slotServer) loseByPromotion(tb testing.TB, write func()) {
	primary := s.servers[0]
	replica := primary.Replica()
	replica.WaitApplied(primary)
	replica.Admin().MustExec("STOP SLAVE")
	write()
	primary.Kill()
	replica.Admin().MustExec("SET GLOBAL read_only = 0")
	s.replaceBy(replica)
}

// replaceBy makes new connections go to another server.
func (s *slotServer) replaceBy(other *mariadbtest.Server) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.servers = []*mariadbtest.Server{other}
}

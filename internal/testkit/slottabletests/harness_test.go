//go:build unix

package slottabletests

import (
	"context"
	"database/sql"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ringuid/ringuid"
	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/mariadbtest"
	"github.com/ringuid/ringuid/internal/testkit/testserver"
	"github.com/ringuid/ringuid/stores/sqlstore"
	"github.com/ringuid/ringuid/workerassign/assigntest"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// slotServer is a server, or a cluster of servers, for the conformance tests of slot tables. Clients reach each through a proxy.
type slotServer struct {
	servers []*mariadbtest.Server
	proxies []*testserver.Proxy // connections go to them in turn
	turn    atomic.Uint32
	started time.Time // when the server was started last
}

func newSlotServer(tb testing.TB, servers ...*mariadbtest.Server) *slotServer {
	s := &slotServer{servers: servers, started: time.Now()}
	for _, server := range servers {
		p := testserver.NewProxy(tb, server.Address())
		p.OneReply = true
		s.proxies = append(s.proxies, p)
	}
	return s
}

// open returns a pool of connections to a database.
func (s *slotServer) open(tb testing.TB, database string) *sql.DB {
	tb.Helper()
	cfg, err := mysql.ParseDSN(s.servers[0].DSN("root", "", database))
	if err != nil {
		tb.Fatal(err)
	}
	cfg.Logger = &mysql.NopLogger{}
	cfg.DialFunc = func(ctx context.Context, network, _ string) (net.Conn, error) {
		p := s.proxies[int(s.turn.Add(1))%len(s.proxies)]
		return new(net.Dialer).DialContext(ctx, network, p.Address())
	}
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	db := sql.OpenDB(connector)
	db.SetMaxIdleConns(8)
	tb.Cleanup(func() { db.Close() })
	return db
}

// newStore returns a client of a pool. The pool is a pair of tables in a database of its name.
func (s *slotServer) newStore(tb testing.TB, pool string, opts ...sqlstore.Option) recycled.Store {
	tb.Helper()
	admin := mariadbtest.Open(tb, s.servers[0].DSN("root", "", ""))
	admin.MustExec("CREATE DATABASE IF NOT EXISTS `" + pool + "`")
	for _, server := range s.servers { // a node of a cluster may not have applied it yet
		testkit.Retry(tb, "the database is created", mariadbtest.Open(tb, server.DSN("root", "", pool)).Ping)
	}
	db := s.open(tb, pool)
	for _, statement := range testserver.SplitStatements(ringuid.MySQLSchema()) {
		if _, err := db.Exec(statement); err != nil {
			tb.Fatal(err)
		}
	}
	return sqlstore.New(db, append([]sqlstore.Option{sqlstore.WithAttemptTimeout(time.Minute)}, opts...)...)
}

// start starts the server that was killed again. The history is a number of seconds.
func (s *slotServer) start(testing.TB) {
	time.Sleep(time.Until(s.started.Add(1100 * time.Millisecond)))
	s.servers[0].Restart()
	s.started = time.Now() // it has started now or earlier
}

// faults returns the faults of a single server.
func (s *slotServer) faults() assigntest.Faults {
	lose := func(lose func(*testserver.Proxy, testing.TB, func())) func(testing.TB, func()) {
		return func(tb testing.TB, call func()) {
			for _, p := range s.proxies {
				inner := call
				call = func() { lose(p, tb, inner) }
			}
			call()
		}
	}
	return assigntest.Faults{
		Kill:         func(testing.TB) { s.servers[0].Kill() },
		Start:        s.start,
		Pause:        func(testing.TB) { s.servers[0].Pause() },
		Resume:       func(testing.TB) { s.servers[0].Resume() },
		LoseRequests: lose((*testserver.Proxy).LoseRequests),
		LoseReplies:  lose((*testserver.Proxy).LoseReplies),
		DelayWrites: func(tb testing.TB, write func()) (deliver func()) {
			var delivers []func()
			for _, p := range s.proxies {
				inner := write
				write = func() { delivers = append(delivers, p.DelayRequests(tb, inner)) }
			}
			write()
			return func() {
				for _, deliver := range delivers {
					deliver()
				}
			}
		},
		StepClock: func(_ testing.TB, d time.Duration) { s.servers[0].StepClock(d) },
		StopClock: func(_ testing.TB, at time.Time) { s.servers[0].StopClock(at) },
	}
}

// loseByPromotion loses writes by the promotion of a replica that has not received them.
func (s *slotServer) loseByPromotion(tb testing.TB, write func()) {
	primary := s.servers[0]
	replica := primary.Replica()
	replica.UseClockOf(primary.Process)
	replica.WaitApplied(primary)
	replica.Admin().MustExec("STOP SLAVE")
	write()
	primary.Kill()
	replica.Admin().MustExec("SET GLOBAL read_only = 0")
	s.replaceBy(replica)
}

// replaceBy makes new connections go to another server.
func (s *slotServer) replaceBy(other *mariadbtest.Server) {
	s.servers[0] = other
	s.proxies[0].SetTarget(other.Address())
}

package postgrestest_test

import (
	"context"
	"database/sql"
	"encoding/binary"
	"net"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/ringuid/ringuid"
	"github.com/ringuid/ringuid/internal/testkit/postgrestest"
	"github.com/ringuid/ringuid/internal/testkit/testserver"
	"github.com/ringuid/ringuid/stores/sqlstore"
	"github.com/ringuid/ringuid/workerassign/assigntest"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// slotServer is a server for the conformance tests of slot tables. Clients reach it through a proxy.
type slotServer struct {
	server    *postgrestest.Server
	proxy     *testserver.Proxy
	isolation string // of the sessions
}

func newSlotServer(tb testing.TB, server *postgrestest.Server) *slotServer {
	s := &slotServer{server: server, proxy: testserver.NewProxy(tb, server.Address())}
	s.proxy.OneReply = true
	return s
}

// open returns a pool of connections to a schema of a database.
func (s *slotServer) open(tb testing.TB, database, schema string) *sql.DB {
	tb.Helper()
	config, err := pgx.ParseConfig(s.server.DSN("postgres", "", database))
	if err != nil {
		tb.Fatal(err)
	}
	config.DialFunc = func(ctx context.Context, network, _ string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, network, s.proxy.Address())
		return withoutCancel{c}, err
	}
	config.RuntimeParams["search_path"] = schema
	if s.isolation != "" {
		config.RuntimeParams["default_transaction_isolation"] = s.isolation
	}
	db := stdlib.OpenDB(*config)
	db.SetMaxIdleConns(8)
	tb.Cleanup(func() { db.Close() })
	return db
}

// withoutCancel is a connection that drops requests to cancel, which could reach what the proxy delays.
type withoutCancel struct{ net.Conn }

// Write implements net.Conn.
func (c withoutCancel) Write(p []byte) (int, error) {
	if len(p) == 16 && binary.BigEndian.Uint32(p[4:]) == 80877102 {
		c.Close()
		return len(p), nil
	}
	return c.Conn.Write(p)
}

// newStore returns a client of a pool. The pool is a pair of tables in a schema of its name: a database takes long to create.
func (s *slotServer) newStore(tb testing.TB, pool string, opts ...sqlstore.Option) recycled.Store {
	tb.Helper()
	admin := postgrestest.Open(tb, s.server.DSN("postgres", "", "postgres")+"&search_path="+pool)
	admin.MustExec("CREATE SCHEMA IF NOT EXISTS " + pool)
	testserver.RunScript(tb, admin, ringuid.PostgreSQLSchema())
	return sqlstore.New(s.open(tb, "postgres", pool), opts...)
}

// loseByPromotion loses writes by the promotion of a standby that has not received them.
func (s *slotServer) loseByPromotion(tb testing.TB, write func()) {
	primary := s.server
	standby := primary.Standby()
	standby.UseClockOf(primary.Process)
	standby.WaitReceived(primary)
	standby.Disconnect()
	write()
	primary.Kill()
	standby.Promote()
	s.replaceBy(standby)
}

// replaceBy makes new connections go to another server.
func (s *slotServer) replaceBy(other *postgrestest.Server) {
	s.server = other
	s.proxy.SetTarget(other.Address())
}

func (s *slotServer) faults() assigntest.Faults {
	return assigntest.Faults{
		Recovery:     2 * time.Minute,
		Kill:         func(testing.TB) { s.server.Kill() },
		Start:        func(testing.TB) { s.server.Restart() },
		Pause:        func(testing.TB) { s.server.Pause() },
		Resume:       func(testing.TB) { s.server.Resume() },
		LoseWrites:   s.loseByPromotion,
		LoseRequests: s.proxy.LoseRequests,
		LoseReplies:  s.proxy.LoseReplies,
		DelayWrites:  s.proxy.DelayRequests,
		StepClock:    func(_ testing.TB, d time.Duration) { s.server.StepClock(d) },
		StopClock:    func(_ testing.TB, at time.Time) { s.server.StopClock(at) },
	}
}

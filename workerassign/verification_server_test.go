package workerassign_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/ringuid/ringuid"
	"github.com/ringuid/ringuid/internal/testkit/mariadbtest"
	"github.com/ringuid/ringuid/internal/testkit/schematest"
	"github.com/ringuid/ringuid/internal/testkit/testserver"
	"github.com/ringuid/ringuid/workerassign"
)

// verification has short times, so that the tests need not wait.
var verification = workerassign.Verification{Horizon: 6 * time.Second, Fencing: 2 * time.Second, Skew: time.Second}

// verified returns the lease of a Disposable with WithVerification.
func verified(t *testing.T, db workerassign.DB) workerassign.Lease {
	t.Helper()
	l, err := workerassign.NewDisposable(db, workerassign.WithVerification(verification), discardLog(),
		workerassign.WithNode("host-1", "8080")).Assign(t.Context(), workerassign.Request{})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// verificationServer returns a server that has a table and an account with the privileges of schema.sql.
func verificationServer(t *testing.T) (s *mariadbtest.Server, admin, service *sqlx.DB) {
	t.Helper()
	s = mariadbtest.Start(t)
	database, admin := s.Database()
	testserver.RunScript(t, admin, ringuid.MySQLSchema())
	dsn := createService(t, s, admin, database)
	user := "service_" + database[len(database)-6:]
	admin.MustExec(schematest.MySQL().Section(t, "VERIFIED WORKER IDS", "'service'", "'"+user+"'", "ids.", database+".").Next("GRANT SELECT (ID, PORT)"))
	return s, admin, mariadbtest.Open(t, dsn)
}

// R3, R6: a lease begins at the insert plus F + H + m, and each look grants up to the server's clock plus H. The row has
// a token after its port.
func TestR6VerifiedLease(t *testing.T) {
	_, admin, service := verificationServer(t)
	before := time.Now()
	l := verified(t, service)
	after := time.Now()
	ahead := verification.Horizon + verification.Fencing + verification.Skew
	if begin := l.NotBefore(); begin.Before(before.Add(ahead-time.Millisecond)) || begin.After(after.Add(ahead+time.Millisecond)) {
		t.Errorf("the lease begins at %v, want %v after %v", begin, ahead, before)
	}
	var port string
	if err := admin.Get(&port, "SELECT PORT FROM WORKER_NODE WHERE ID = ?", l.WorkerID()); err != nil || len(port) != len("8080#")+26 || !strings.HasPrefix(port, "8080#") {
		t.Errorf("the port is %q, %v", port, err)
	}
	for range 3 {
		before := time.Now()
		granted, err := l.Reserve(t.Context(), before.Add(time.Hour))
		if after := time.Now(); err != nil || granted.Until.Before(before.Add(verification.Horizon-time.Millisecond)) || granted.Until.After(after.Add(verification.Horizon)) {
			t.Errorf("granted %v, %v at %v; want the server's clock and %v", granted.Until, err, before, verification.Horizon)
		}
		// What was granted is granted again without a look.
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if again, err := l.Reserve(ctx, granted.Until); err != nil || !again.Until.Equal(granted.Until) {
			t.Errorf("Reserve() of what was granted = %v, %v", again.Until, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
	if err := l.Release(t.Context(), time.Time{}); err != nil {
		t.Error(err)
	}
	if granted, err := l.Reserve(t.Context(), time.Now().Add(time.Hour)); !errors.Is(err, workerassign.ErrReleased) {
		t.Errorf("Reserve() after Release() = %v, %v", granted.Until, err)
	}
}

// Invariant 1, after a failover that lost rows: the key is assigned again. The lease before it is lost at its next look,
// whether another has the key or not, and its last grant ends before the next lease begins.
func TestInvariant1VerifiedLeaseLost(t *testing.T) {
	_, admin, service := verificationServer(t)
	for _, assignedAgain := range []bool{true, false} {
		l := verified(t, service)
		granted, err := l.Reserve(t.Context(), time.Now().Add(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		admin.MustExec("DELETE FROM WORKER_NODE WHERE ID = ?", l.WorkerID())
		admin.MustExec(fmt.Sprintf("ALTER TABLE WORKER_NODE AUTO_INCREMENT = %d", l.WorkerID()))
		if assignedAgain {
			next := verified(t, service)
			if next.WorkerID() != l.WorkerID() || !next.NotBefore().After(granted.Until) {
				t.Errorf("worker ID %d is granted up to %v, and worker ID %d begins at %v", l.WorkerID(), granted.Until, next.WorkerID(), next.NotBefore())
			}
			if _, err := next.Reserve(t.Context(), time.Now().Add(time.Hour)); err != nil {
				t.Error(err)
			}
		}
		for range 2 {
			if until, err := l.Reserve(t.Context(), time.Now().Add(time.Hour)); !errors.Is(err, workerassign.ErrLeaseLost) {
				t.Errorf("Reserve() of a lost row = %v, %v; want ErrLeaseLost", until.Until, err)
			}
		}
	}
}

// A server that is read-only, because it was fenced, grants nothing. Neither does one that is down. The lease is not lost.
func TestVerifiedLeaseOnFencedServer(t *testing.T) {
	_, admin, service := verificationServer(t)
	l := verified(t, service)
	admin.MustExec("SET GLOBAL read_only = 1")
	if granted, err := l.Reserve(t.Context(), time.Now().Add(time.Hour)); err == nil || errors.Is(err, workerassign.ErrLeaseLost) || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("Reserve() on a read-only server = %v, %v", granted.Until, err)
	}
	admin.MustExec("SET GLOBAL read_only = 0")
	if _, err := l.Reserve(t.Context(), time.Now().Add(time.Hour)); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if granted, err := l.Reserve(ctx, time.Now().Add(time.Hour)); !errors.Is(err, context.Canceled) {
		t.Errorf("Reserve() with a context that has ended = %v, %v", granted.Until, err)
	}
	if _, err := l.Reserve(t.Context(), time.Now().Add(time.Hour)); err != nil {
		t.Error(err)
	}
	if open := service.Stats().InUse; open != 0 {
		t.Errorf("%d connections are in use", open)
	}
}

// Without the privilege SELECT, Assign fails at once and says what to grant. The insert is rolled back.
func TestVerificationPrivilege(t *testing.T) {
	s := mariadbtest.Start(t)
	database, admin := s.Database()
	testserver.RunScript(t, admin, ringuid.MySQLSchema())
	service := mariadbtest.Open(t, createService(t, s, admin, database))
	l, err := workerassign.NewDisposable(service, workerassign.WithVerification(verification), discardLog()).Assign(t.Context(), workerassign.Request{})
	if l != nil || !errors.Is(err, workerassign.ErrPermanent) || !strings.Contains(err.Error(), "SELECT on the columns ID and PORT") {
		t.Errorf("Assign() = %v, %v; want what to grant", l, err)
	}
	var rows int
	if err := admin.Get(&rows, "SELECT COUNT(*) FROM WORKER_NODE"); err != nil || rows != 0 {
		t.Errorf("%d rows remain, %v", rows, err)
	}
}

package workerassign_test

import (
	"context"
	"errors"
	"net"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringuid/ringuid"
	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/mariadbtest"
	"github.com/ringuid/ringuid/internal/testkit/testserver"
	"github.com/ringuid/ringuid/workerassign"
)

// The server is killed while worker IDs are being assigned, and restarted, several times. Each Assign
// succeeds, or returns a RetryError when its context ends. No worker ID is 0, and none is assigned
// twice.
func TestServerKilledDuringAssignment(t *testing.T) {
	s := mariadbtest.Start(t)
	database, db := s.Database()
	testserver.RunScript(t, db, ringuid.MySQLSchema())
	a := workerassign.NewDisposable(mariadbtest.Open(t, s.DSN("root", "", database)), workerassign.WithBackoff(10*time.Millisecond, 200*time.Millisecond),
		workerassign.WithServerName(s.Address()), discardLog())
	var (
		mu       sync.Mutex
		seen     = map[int64]bool{}
		gaveUp   atomic.Int64
		all      sync.WaitGroup
		stop     = make(chan struct{})
		restarts = 5
	)
	for n := range 8 {
		all.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				timeout := 10 * time.Minute
				if n < 2 {
					timeout = 50 * time.Millisecond // shorter than an outage
				}
				ctx, cancel := context.WithTimeout(context.Background(), timeout)
				l, err := a.Assign(ctx, workerassign.Request{})
				cancel()
				if err != nil {
					if !errors.Is(err, workerassign.ErrGaveUp) || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "inserting a row into WORKER_NODE at 127.0.0.1:") || n >= 2 {
						t.Errorf("Assign() = %v", err)
					}
					gaveUp.Add(1)
					continue
				}
				mu.Lock()
				if id := l.WorkerID(); id < 1 || seen[id] {
					t.Errorf("worker ID %d was assigned twice, or is invalid", id)
				}
				seen[l.WorkerID()] = true
				mu.Unlock()
			}
		})
	}
	assigned := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(seen)
	}
	for range restarts {
		before := assigned()
		testkit.Eventually(t, "50 more worker IDs", func() bool { return assigned() >= before+50 })
		s.Kill()
		failed := gaveUp.Load()
		testkit.Eventually(t, "an Assign with a short timeout that fails", func() bool { return gaveUp.Load() > failed })
		s.Restart()
	}
	close(stop)
	all.Wait()
	var count int
	if err := mariadbtest.Open(t, s.DSN("root", "", database)).Get(&count, "SELECT COUNT(*) FROM WORKER_NODE"); err != nil || count < len(seen) {
		t.Errorf("%d rows, %v, for %d worker IDs", count, err, len(seen))
	}
	t.Logf("%d worker IDs, %d rows, %d failed Assigns, %d restarts", len(seen), count, gaveUp.Load(), restarts)
}

// assignInVain calls Assign, which must give up when its context ends, after two attempts or more. It returns the error.
func assignInVain(t *testing.T, db workerassign.DB) error {
	t.Helper()
	for timeout := time.Second; ; timeout *= 2 { // on a busy machine two attempts take longer
		begin := time.Now()
		ctx, cancel := context.WithTimeout(context.Background(), timeout)
		l, err := workerassign.NewDisposable(db, discardLog()).Assign(ctx, workerassign.Request{})
		took := time.Since(begin)
		cancel()
		var e *workerassign.RetryError
		if l != nil || !errors.As(err, &e) || !errors.Is(err, workerassign.ErrGaveUp) || !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("Assign() = %v, %v; want a RetryError", l, err)
		}
		if took < timeout*9/10 || took > timeout+time.Minute {
			t.Errorf("Assign took %v, want %v", took, timeout)
		}
		if e.Attempts >= 2 {
			return err
		}
		if timeout > time.Minute {
			t.Fatalf("%d attempts: %v; want two at least", e.Attempts, err)
		}
	}
}

// assignAfterFailure calls Assign, calls repair when an attempt has failed, and returns the error of Assign.
func assignAfterFailure(t *testing.T, db workerassign.DB, repair func()) error {
	t.Helper()
	var log testkit.Buffer
	a := workerassign.NewDisposable(db, logTo(&log))
	got, ctx := make(chan error, 1), testkit.Patient(t)
	go func() {
		_, err := a.Assign(ctx, workerassign.Request{})
		got <- err
	}()
	testkit.Eventually(t, "an attempt that fails", func() bool { return strings.Contains(log.String(), "trying again") })
	repair()
	return <-got
}

// If the server is down when a service starts, Assign tries again until the server runs or the context
// ends. Then the error says what was attempted.
func TestServerDownAtStart(t *testing.T) {
	s := mariadbtest.Start(t)
	database, db := s.Database()
	testserver.RunScript(t, db, ringuid.MySQLSchema())
	pool := mariadbtest.Open(t, s.DSN("root", "", database))
	s.Stop()
	if err := assignInVain(t, pool); !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("Assign() = %v; want the error of the connection", err)
	}
	if err := assignAfterFailure(t, pool, s.Restart); err != nil {
		t.Errorf("Assign() while the server starts = %v, want success", err)
	}
}

// If a server is read-only, as during a failover, Assign tries again until it is writable.
func TestReadOnlyServerBecomesWritable(t *testing.T) {
	s := mariadbtest.Start(t)
	database, db := s.Database()
	testserver.RunScript(t, db, ringuid.MySQLSchema())
	dsn := createService(t, s, db, database)
	for _, parameter := range []string{"", "?rejectReadOnly=true"} {
		db.MustExec("SET GLOBAL read_only = ON")
		if err := assignInVain(t, mariadbtest.Open(t, dsn+parameter)); !strings.Contains(err.Error(), "read-only") {
			t.Errorf("with %q Assign() = %v; want that the server is read-only", parameter, err)
		}
		err := assignAfterFailure(t, mariadbtest.Open(t, dsn+parameter), func() { db.MustExec("SET GLOBAL read_only = OFF") })
		if err != nil {
			t.Errorf("with %q Assign() = %v after the server became writable", parameter, err)
		}
	}
}

// A server, for example a paused one, accepts connections and does not answer.
func TestSilentServer(t *testing.T) {
	testkit.Slow(t, "it waits for a timeout")
	listener, err := net.Listen("tcp", "127.0.0.1:0") // the operating system accepts the connections
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	// An attempt logs after a second that it waits. A machine that stands still beyond the end of the attempt logs nothing.
	log := ""
	for range 8 {
		log = assignInSilence(t, listener.Addr().String(), 1500*time.Millisecond)
		if strings.Contains(log, `"waiting for"="a connection"`) && strings.Contains(log, listener.Addr().String()) {
			return
		}
	}
	t.Errorf("the log is %q; want what the attempt waits for", log)
}

// assignInSilence checks the error of Assign, with a timeout of less than one attempt has, on a server that does not answer. It returns
// the log.
func assignInSilence(t *testing.T, address string, timeout time.Duration) string {
	t.Helper()
	var log testkit.Buffer
	a := workerassign.NewDisposable(mariadbtest.Open(t, "root@tcp("+address+")/ids"),
		workerassign.WithTimeout(timeout), workerassign.WithServerName(address), logTo(&log))
	begin := time.Now()
	l, err := a.Assign(context.Background(), workerassign.Request{})
	took := time.Since(begin)
	if l != nil || !errors.Is(err, workerassign.ErrGaveUp) || !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("Assign() = %v, %v", l, err)
	}
	want := regexp.MustCompile("WORKER_NODE at " + regexp.QuoteMeta(address) + `: 1 attempt in (\S+): context deadline exceeded; ` +
		`the last attempt: no answer within (\S+) while waiting for a connection; check host and port in the DSN`)
	match := want.FindStringSubmatch(err.Error())
	if match == nil {
		t.Fatalf("the error is %v, want %v", err, want)
	}
	// On a busy machine the times are less than the timeout, which begins before them, or more.
	elapsed, err1 := time.ParseDuration(match[1])
	within, err2 := time.ParseDuration(match[2])
	if err1 != nil || err2 != nil || took < timeout || elapsed > took+time.Millisecond || within > elapsed+time.Millisecond {
		t.Errorf("the error is %v, after %v", err, took)
	}
	if n := strings.Count(err.Error(), "context deadline exceeded"); n != 1 {
		t.Errorf("the error says %d times that the deadline was exceeded, want 1: %v", n, err)
	}
	return log.String()
}

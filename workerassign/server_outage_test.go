package workerassign_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/mariadbtest"
	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/workerassign"
)

// The server is killed while worker IDs are being assigned, and restarted, several times. Each Assign
// succeeds, or returns a RetryError when its context ends. No worker ID is 0, and none is assigned
// twice.
func TestServerKilledDuringAssignment(t *testing.T) {
	s := mariadbtest.Start(t)
	database, db := s.Database()
	mariadbtest.RunScript(t, db, schemaScript(t))
	a := workerassign.NewDisposable(mariadbtest.Open(t, s.DSN("root", "", database)), workerassign.WithBackoff(10*time.Millisecond, 200*time.Millisecond), discardLog())
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
				timeout := 30 * time.Second
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
		for deadline := time.Now().Add(20 * time.Second); assigned() < before+50; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("fewer than 50 worker IDs were assigned in 20 s")
			}
		}
		s.Kill()
		time.Sleep(100 * time.Millisecond) // longer than the short timeout
		s.Restart()
	}
	close(stop)
	all.Wait()
	if gaveUp.Load() == 0 {
		t.Error("no Assign with a short timeout failed while the server was down")
	}
	var count int
	if err := mariadbtest.Open(t, s.DSN("root", "", database)).Get(&count, "SELECT COUNT(*) FROM WORKER_NODE"); err != nil || count < len(seen) {
		t.Errorf("%d rows, %v, for %d worker IDs", count, err, len(seen))
	}
	t.Logf("%d worker IDs, %d rows, %d failed Assigns, %d restarts", len(seen), count, gaveUp.Load(), restarts)
}

// If the server is down when a service starts, Assign tries again until the server runs or the context
// ends. Then the error says what was attempted.
func TestServerDownAtStart(t *testing.T) {
	s := mariadbtest.Start(t)
	database, db := s.Database()
	mariadbtest.RunScript(t, db, schemaScript(t))
	a := workerassign.NewDisposable(mariadbtest.Open(t, s.DSN("root", "", database)), discardLog())
	s.Stop()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	begin := time.Now()
	l, err := a.Assign(ctx, workerassign.Request{})
	var e *workerassign.RetryError
	if l != nil || !errors.As(err, &e) || e.Attempts < 2 || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("Assign() = %v, %v; want a RetryError with at least two attempts", l, err)
	}
	if took := time.Since(begin); took < 900*time.Millisecond || took > 10*time.Second {
		t.Errorf("Assign took %v, want 1 s", took)
	}
	got := make(chan error)
	go func() {
		_, err := a.Assign(context.Background(), workerassign.Request{})
		got <- err
	}()
	time.Sleep(300 * time.Millisecond)
	s.Restart()
	if err := <-got; err != nil {
		t.Errorf("Assign() while the server starts = %v, want success", err)
	}
}

// If a server is read-only, as during a failover, Assign tries again until it is writable.
func TestReadOnlyServerBecomesWritable(t *testing.T) {
	s := mariadbtest.Start(t)
	database, db := s.Database()
	mariadbtest.RunScript(t, db, schemaScript(t))
	dsn := createService(t, s, db, database)
	db.MustExec("SET GLOBAL read_only = ON")
	for _, parameter := range []string{"", "?rejectReadOnly=true"} {
		ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
		defer cancel()
		l, err := workerassign.NewDisposable(mariadbtest.Open(t, dsn+parameter), discardLog()).Assign(ctx, workerassign.Request{})
		if l != nil || !errors.Is(err, workerassign.ErrGaveUp) || !strings.Contains(err.Error(), "read-only") {
			t.Errorf("with %q Assign() = %v, %v; want ErrGaveUp and that the server is read-only", parameter, l, err)
		}
		got := make(chan error)
		go func() {
			_, err := workerassign.NewDisposable(mariadbtest.Open(t, dsn+parameter), discardLog()).Assign(context.Background(), workerassign.Request{})
			got <- err
		}()
		time.Sleep(300 * time.Millisecond)
		db.MustExec("SET GLOBAL read_only = OFF")
		if err := <-got; err != nil {
			t.Errorf("with %q Assign() = %v after the server became writable", parameter, err)
		}
		db.MustExec("SET GLOBAL read_only = ON")
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
	var log syncBuffer
	a := workerassign.NewDisposable(mariadbtest.Open(t, "root@tcp("+listener.Addr().String()+")/ids"),
		workerassign.WithTimeout(1500*time.Millisecond), workerassign.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
	l, err := a.Assign(context.Background(), workerassign.Request{})
	if l != nil || !errors.Is(err, workerassign.ErrGaveUp) || !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("Assign() = %v, %v", l, err)
	}
	// On a busy machine the times are a little less than the timeout, which begins before them.
	want := regexp.MustCompile("WORKER_NODE at " + regexp.QuoteMeta(listener.Addr().String()) + `: 1 attempt in 1\.\d+s: context deadline exceeded; ` +
		`the last attempt: no answer within 1\.\d+s while waiting for a connection; check host and port in the DSN`)
	if !want.MatchString(err.Error()) {
		t.Errorf("the error is %v, want %v", err, want)
	}
	if n := strings.Count(err.Error(), "context deadline exceeded"); n != 1 {
		t.Errorf("the error says %d times that the deadline was exceeded, want 1: %v", n, err)
	}
	if want := `"waiting for"="a connection"`; !strings.Contains(log.String(), want) || !strings.Contains(log.String(), listener.Addr().String()) {
		t.Errorf("the log is %q, want %q", log.String(), want)
	}
}

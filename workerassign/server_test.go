package workerassign_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/ringuid/ringuid/internal/mariadbtest"
	"github.com/ringuid/ringuid/workerassign"
)

// original is what the original's script makes, but for its first statement, which drops
// the table.
const originalScript = `CREATE TABLE WORKER_NODE (
ID BIGINT NOT NULL AUTO_INCREMENT COMMENT 'auto increment id',
HOST_NAME VARCHAR(64) NOT NULL COMMENT 'host name',
PORT VARCHAR(64) NOT NULL COMMENT 'port',
TYPE INT NOT NULL COMMENT 'node type: ACTUAL or CONTAINER',
LAUNCH_DATE DATE NOT NULL COMMENT 'launch date',
MODIFIED TIMESTAMP NOT NULL COMMENT 'modified time',
CREATED TIMESTAMP NOT NULL COMMENT 'created time',
PRIMARY KEY(ID)
) ENGINE = INNODB;
`

// schema returns schema.sql.
func schemaScript(tb testing.TB) string {
	tb.Helper()
	text, err := os.ReadFile("../schema.sql")
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}

// service makes an account with the privileges that schema.sql advises, no more, and returns
// its DSN.
func createService(t *testing.T, s *mariadbtest.Server, db *sqlx.DB, database string) string {
	t.Helper()
	user := "service_" + database[len(database)-6:]
	statements := newSection(t, "PRIVILEGES", "<password>", "secret", "'service'", "'"+user+"'", "ids.", database+".")
	db.MustExec(statements.next("CREATE USER"))
	db.MustExec(statements.next("GRANT INSERT ("))
	statements.left = nil // how another account loses a privilege
	return s.DSN(user, "secret", database)
}

// row is a row of the table; its times are the server's text.
type tableRow struct {
	ID       int64  `db:"ID"`
	Host     string `db:"HOST_NAME"`
	Port     string `db:"PORT"`
	Type     int    `db:"TYPE"`
	Launched bool   `db:"LAUNCHED"`
	Modified bool   `db:"IS_MODIFIED"`
	Created  bool   `db:"IS_CREATED"`
}

const selectRows = `SELECT ID, HOST_NAME, PORT, TYPE, LAUNCH_DATE BETWEEN CURRENT_DATE - INTERVAL 1 DAY AND CURRENT_DATE AS LAUNCHED,
	MODIFIED BETWEEN NOW() - INTERVAL 5 MINUTE AND NOW() AS IS_MODIFIED,
	CREATED BETWEEN NOW() - INTERVAL 5 MINUTE AND NOW() AS IS_CREATED FROM WORKER_NODE ORDER BY ID`

// 64 processes that start at once get 64 distinct worker IDs, with an account that may do no
// more than INSERT, and each inserts one row whose columns are right; on our
// table, and on the original's.
func TestInvariant1Processes(t *testing.T) {
	if dsn := os.Getenv("RINGUID_TEST_PROCESS"); dsn != "" {
		assignInProcess(t, dsn)
		return
	}
	const processes = 64
	s := mariadbtest.Start(t)
	for name, script := range map[string]string{"schema.sql": schemaScript(t), "the original's table": originalScript} {
		t.Run(name, func(t *testing.T) {
			database, db := s.Database()
			mariadbtest.RunScript(t, db, script)
			dsn := createService(t, s, db, database)
			begin := strconv.FormatInt(time.Now().Add(3*time.Second).UnixMilli(), 10)
			ids := make([]int64, processes)
			var all sync.WaitGroup
			for n := range processes {
				all.Go(func() {
					cmd := exec.Command(os.Args[0], "-test.run=^TestInvariant1Processes$", "-test.count=1")
					cmd.Env = append(os.Environ(), "RINGUID_TEST_PROCESS="+dsn, "RINGUID_TEST_BEGIN="+begin, "RINGUID_TEST_NUMBER="+strconv.Itoa(n))
					var log strings.Builder // on a busy machine the wait for the server is logged
					cmd.Stderr = &log
					out, err := cmd.Output()
					if err != nil {
						t.Errorf("process %d: %v\n%s%s", n, err, out, log.String())
						return
					}
					if _, err := fmt.Sscanf(string(out), "worker ID %d\n", &ids[n]); err != nil {
						t.Errorf("process %d: %v\n%s", n, err, out)
					}
				})
			}
			all.Wait()
			var got []tableRow
			if err := db.Select(&got, selectRows); err != nil {
				t.Fatal(err)
			}
			if len(got) != processes {
				t.Errorf("%d rows, want %d", len(got), processes)
			}
			byID := map[int64]tableRow{}
			for _, r := range got {
				byID[r.ID] = r
			}
			for n, id := range ids {
				want := tableRow{ID: id, Host: fmt.Sprintf("host-%d", n), Port: fmt.Sprintf("port-%d", n), Type: 1 + n%3, Launched: true, Modified: true, Created: true}
				if id < 1 || byID[id] != want {
					t.Errorf("process %d has worker ID %d, whose row is %+v, want %+v", n, id, byID[id], want)
				}
				delete(byID, id) // so that an ID that came twice is found
			}
		})
	}
}

// oneProcess is one of them.
func assignInProcess(t *testing.T, dsn string) {
	n, err := strconv.Atoi(os.Getenv("RINGUID_TEST_NUMBER"))
	if err != nil {
		t.Fatal(err)
	}
	begin, err := strconv.ParseInt(os.Getenv("RINGUID_TEST_BEGIN"), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Until(time.UnixMilli(begin)))
	a := workerassign.NewDisposable(mariadbtest.Open(t, dsn), workerassign.WithNode(workerassign.Node{
		HostName: fmt.Sprintf("host-%d", n), Port: fmt.Sprintf("port-%d", n), Type: workerassign.NodeType(1 + n%3)}))
	l, err := a.Assign(context.Background(), workerassign.Request{})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("worker ID %d\n", l.WorkerID())
}

// The server is killed while worker IDs are being assigned, and started again, over and
// over. Each Assign succeeds, or says what it tried when its context ended; no worker ID is
// 0, and none comes twice.
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
				patience := 30 * time.Second
				if n < 2 {
					patience = 50 * time.Millisecond // these give up
				}
				ctx, cancel := context.WithTimeout(context.Background(), patience)
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
					t.Errorf("worker ID %d was assigned twice, or is none", id)
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
				t.Fatal("no worker IDs are assigned")
			}
		}
		s.Kill()
		time.Sleep(100 * time.Millisecond) // some give up meanwhile
		s.Restart()
	}
	close(stop)
	all.Wait()
	if gaveUp.Load() == 0 {
		t.Error("nobody gave up while the server was down")
	}
	var count int
	if err := mariadbtest.Open(t, s.DSN("root", "", database)).Get(&count, "SELECT COUNT(*) FROM WORKER_NODE"); err != nil || count < len(seen) {
		t.Errorf("%d rows, %v, for %d worker IDs", count, err, len(seen))
	}
	t.Logf("%d worker IDs, %d rows, %d gave up, %d restarts", len(seen), count, gaveUp.Load(), restarts)
}

// A server that is down at the start: tried again until the context ends, then an error that
// says what was tried; or until the server is there.
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
		t.Errorf("Assign() = %v, %v; want what was tried", l, err)
	}
	if took := time.Since(begin); took < 900*time.Millisecond || took > 10*time.Second {
		t.Errorf("it took %v, want a second", took)
	}
	got := make(chan error)
	go func() {
		_, err := a.Assign(context.Background(), workerassign.Request{})
		got <- err
	}()
	time.Sleep(300 * time.Millisecond)
	s.Restart()
	if err := <-got; err != nil {
		t.Errorf("Assign() while the server starts = %v", err)
	}
}

// What does not pass fails at once, and says what to do.
func TestPermanentFaultsOfAServer(t *testing.T) {
	s := mariadbtest.Start(t)
	database, db := s.Database()
	mariadbtest.RunScript(t, db, schemaScript(t))
	db.MustExec("CREATE TABLE no_key (ID BIGINT NOT NULL DEFAULT 5, HOST_NAME VARCHAR(64), PORT VARCHAR(64), TYPE INT, LAUNCH_DATE DATE, MODIFIED TIMESTAMP NULL, CREATED TIMESTAMP NULL)")
	db.MustExec("CREATE TABLE no_column (ID BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, HOST_NAME VARCHAR(64))")
	db.MustExec("CREATE TABLE used_up (ID TINYINT NOT NULL AUTO_INCREMENT PRIMARY KEY, HOST_NAME VARCHAR(64), PORT VARCHAR(64), TYPE INT, LAUNCH_DATE DATE, MODIFIED TIMESTAMP NULL, CREATED TIMESTAMP NULL)")
	db.MustExec("INSERT INTO used_up (ID) VALUES (127)")
	db.MustExec("CREATE USER nobody@'%' IDENTIFIED BY 'secret'")
	db.MustExec("GRANT SELECT ON " + database + ".WORKER_NODE TO nobody@'%'")
	for _, tt := range []struct {
		name, dsn, table string
		want             error
		text             string
	}{
		{"no table", s.DSN("root", "", database), "none", workerassign.ErrPermanent, "apply schema.sql"},
		{"no database", s.DSN("root", "", "nowhere"), "WORKER_NODE", workerassign.ErrPermanent, "name an existing one in the DSN"},
		{"a mistyped database", s.DSN("nobody", "secret", database+"x"), "WORKER_NODE", workerassign.ErrPermanent, "check the database's name in the DSN"},
		{"no privilege", s.DSN("nobody", "secret", database), "WORKER_NODE", workerassign.ErrPermanent, "grant it INSERT on the table"},
		{"a wrong password", s.DSN("nobody", "wrong", database), "WORKER_NODE", workerassign.ErrPermanent, "check user, password and host"},
		{"an unknown account", s.DSN("unknown", "", database), "WORKER_NODE", workerassign.ErrPermanent, "check user, password and host"},
		{"no column", s.DSN("root", "", database), "no_column", workerassign.ErrPermanent, "compare its columns with schema.sql"},
		{"D14 no key", s.DSN("root", "", database), "no_key", workerassign.ErrNoKey, "must be BIGINT AUTO_INCREMENT"},
		{"keys used up", s.DSN("root", "", database), "used_up", workerassign.ErrPermanent, "AUTO_INCREMENT is exhausted"},
		{"no TLS", s.DSN("root", "", database) + "?tls=true", "WORKER_NODE", workerassign.ErrPermanent, "check tls in the DSN"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			begin := time.Now()
			l, err := workerassign.NewDisposable(mariadbtest.Open(t, tt.dsn), workerassign.WithTable(tt.table), discardLog()).Assign(context.Background(), workerassign.Request{})
			if l != nil || !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.text) || !strings.Contains(err.Error(), "table "+tt.table+" at "+s.Address()) {
				t.Errorf("Assign() = %v, %v; want %v with %q", l, err, tt.want, tt.text)
			}
			if took := time.Since(begin); took > 5*time.Second {
				t.Errorf("it took %v, want it at once", took)
			}
		})
	}
	t.Run("no such host", func(t *testing.T) {
		begin := time.Now()
		l, err := workerassign.NewDisposable(mariadbtest.Open(t, "root@tcp(nosuchhost.invalid:3306)/ids"), discardLog()).Assign(context.Background(), workerassign.Request{})
		if l != nil || err == nil || !strings.Contains(err.Error(), "WORKER_NODE at nosuchhost.invalid:3306") {
			t.Errorf("Assign() = %v, %v; want the host", l, err)
		}
		var name *net.DNSError
		if errors.As(err, &name) && !name.IsNotFound {
			t.Skipf("this machine's name server cannot say that a name does not exist: %v", name)
		}
		if took := time.Since(begin); !errors.Is(err, workerassign.ErrPermanent) || took > 15*time.Second {
			t.Errorf("Assign() = %v after %v; want it after a few tries", err, took)
		}
	})
}

// quiet keeps what a test provokes out of its output.
func discardLog() workerassign.Option { return workerassign.WithLogger(slog.New(slog.DiscardHandler)) }

// A server that is read-only is waited for, as during a failover.
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
			t.Errorf("with %q Assign() = %v, %v", parameter, l, err)
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

// A server that accepts connections and is silent, as one that is paused.
func TestSilentServer(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") // the system accepts for it
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
	for _, want := range []string{"WORKER_NODE at " + listener.Addr().String() + ": tried once in 1.5", ": context deadline exceeded; the last try: no answer within 1.5",
		"while waiting for a connection; check host and port in the DSN"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want %q", err, want)
		}
	}
	if n := strings.Count(err.Error(), "context deadline exceeded"); n != 1 {
		t.Errorf("the error says %d times that the deadline is exceeded: %v", n, err)
	}
	if want := `"waiting for"="a connection"`; !strings.Contains(log.String(), want) || !strings.Contains(log.String(), listener.Addr().String()) {
		t.Errorf("the log is %q, want %q", log.String(), want)
	}
}

// lockedBuffer is a bytes.Buffer for a logger.
type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// A server that may forget what it granted is warned of, by an account that may do no more
// than insert; and once.
func TestDurabilityOfAServer(t *testing.T) {
	s := mariadbtest.Start(t, "--innodb-flush-log-at-trx-commit=0", "--log-bin", "--sync-binlog=0")
	database, db := s.Database()
	mariadbtest.RunScript(t, db, schemaScript(t))
	var log syncBuffer
	a := workerassign.NewDisposable(mariadbtest.Open(t, createService(t, s, db, database)), workerassign.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
	for range 3 {
		if _, err := a.Assign(context.Background(), workerassign.Request{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"setting=innodb_flush_log_at_trx_commit value=0", "setting=sync_binlog value=0"} {
		if n := strings.Count(log.String(), want); n != 1 {
			t.Errorf("%q is logged %d times: %s", want, n, log.String())
		}
	}
	db.MustExec("SET GLOBAL innodb_flush_log_at_trx_commit = 1, sync_binlog = 1")
	log = syncBuffer{}
	b := workerassign.NewDisposable(db, workerassign.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
	if _, err := b.Assign(context.Background(), workerassign.Request{}); err != nil || log.String() != "" {
		t.Errorf("on a durable server %v, and the log is %q", err, log.String())
	}
}

// A row that somebody locks, a connection that somebody kills: tried again.
func TestTransientFaultsOfAServer(t *testing.T) {
	s := mariadbtest.Start(t, "--lock-wait-timeout=1", "--innodb-lock-wait-timeout=1")
	database, db := s.Database()
	mariadbtest.RunScript(t, db, schemaScript(t))
	ctx := context.Background()

	conn, err := db.Connx(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, "LOCK TABLES WORKER_NODE READ"); err != nil {
		t.Fatal(err)
	}
	got := make(chan error)
	go func() {
		_, err := workerassign.NewDisposable(db, discardLog()).Assign(ctx, workerassign.Request{})
		got <- err
	}()
	time.Sleep(1500 * time.Millisecond) // the first try has failed by now
	if _, err := conn.ExecContext(ctx, "UNLOCK TABLES"); err != nil {
		t.Fatal(err)
	}
	if err := <-got; err != nil {
		t.Errorf("Assign() = %v after the lock went", err)
	}

	pooled := mariadbtest.Open(t, s.DSN("root", "", database))
	pooled.SetMaxOpenConns(1)
	a := workerassign.NewDisposable(pooled)
	for range 5 {
		var id int64
		if err := pooled.Get(&id, "SELECT CONNECTION_ID()"); err != nil {
			t.Fatal(err)
		}
		db.MustExec(fmt.Sprintf("KILL %d", id))
		if _, err := a.Assign(ctx, workerassign.Request{}); err != nil {
			t.Errorf("Assign() on a killed connection = %v", err)
		}
	}
}

// Every setting of the driver, and of the session, that may matter.
func TestDriverSettings(t *testing.T) {
	db, dsn := mariadbtest.Connect(t)
	mariadbtest.RunScript(t, db, schemaScript(t))
	dsn, _, _ = strings.Cut(dsn, "?") // its settings fall away
	last := int64(0)
	for _, settings := range []string{
		"", "parseTime=true", "parseTime=false", "parseTime=true&loc=" + url.QueryEscape("Asia/Shanghai"), "loc=Local&parseTime=true",
		"time_zone=" + url.QueryEscape("'-11:00'"), "interpolateParams=true", "interpolateParams=true&parseTime=true&loc=Local",
		"clientFoundRows=true", "multiStatements=true", "collation=utf8mb4_bin", "charset=latin1", "columnsWithAlias=true",
		"sql_mode=" + url.QueryEscape("'ANSI_QUOTES,PIPES_AS_CONCAT'"), "sql_mode=" + url.QueryEscape("'NO_AUTO_VALUE_ON_ZERO'"),
		"sql_mode=" + url.QueryEscape("'STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE'"), "sql_mode=''", "autocommit=1", "compress=true",
		"timeout=5s&readTimeout=5s&writeTimeout=5s", "checkConnLiveness=false", "rejectReadOnly=true",
	} {
		full := dsn
		if settings != "" {
			full += "?" + settings
		}
		l, err := workerassign.NewDisposable(mariadbtest.Open(t, full)).Assign(context.Background(), workerassign.Request{})
		if err != nil || l.WorkerID() <= last {
			t.Errorf("with %q Assign() = %v, %v after %d", settings, l, err, last)
			continue
		}
		last = l.WorkerID()
	}
	var got []tableRow
	if err := db.Select(&got, selectRows); err != nil {
		t.Fatal(err)
	}
	for _, r := range got {
		if !r.Created || !r.Modified || r.Host == "" || r.Port == "" || r.Type < 1 || r.Type > 2 {
			t.Errorf("a row is %+v", r)
		}
	}
}

// Keys that are handed out in steps.
func TestAutoIncrementIncrement(t *testing.T) {
	s := mariadbtest.Start(t, "--auto-increment-increment=3", "--auto-increment-offset=2")
	_, db := s.Database()
	mariadbtest.RunScript(t, db, schemaScript(t))
	a := workerassign.NewDisposable(db)
	for _, want := range []int64{2, 5, 8} {
		if l, err := a.Assign(context.Background(), workerassign.Request{}); err != nil || l.WorkerID() != want {
			t.Errorf("Assign() = %v, %v; want %d", l, err, want)
		}
	}
}

// Values longer than their columns keep their distinguishing end, and non-ASCII ones count
// in characters, on a strict server.
func TestLongValues(t *testing.T) {
	db, _ := mariadbtest.Connect(t)
	mariadbtest.RunScript(t, db, schemaScript(t))
	node := workerassign.Node{HostName: strings.Repeat("höst", 40) + "-7", Port: strings.Repeat("9", 100) + "1", Type: workerassign.Fake}
	if _, err := workerassign.NewDisposable(db, workerassign.WithNode(node)).Assign(context.Background(), workerassign.Request{}); err != nil {
		t.Fatal(err)
	}
	var got []tableRow
	if err := db.Select(&got, selectRows); err != nil || len(got) != 1 {
		t.Fatal(got, err)
	}
	if want := "st" + strings.Repeat("höst", 15) + "-7"; got[0].Host != want || !strings.HasSuffix(got[0].Port, "91") || len(got[0].Port) != 64 {
		t.Errorf("the row is %+v, want host %q", got[0], want)
	}
}

// D12: the original's script drops the table, so that a second run hands out worker IDs that
// are in use. Ours may run again and again: rows and counter stay; in every strict mode,
// with either kind of TIMESTAMP defaults.
func TestD12SchemaMayRunAgain(t *testing.T) {
	for _, flags := range [][]string{
		nil,
		{"--explicit-defaults-for-timestamp=OFF"},
		{"--explicit-defaults-for-timestamp=ON", "--sql-mode=STRICT_ALL_TABLES,STRICT_TRANS_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION,ONLY_FULL_GROUP_BY"},
		{"--explicit-defaults-for-timestamp=OFF", "--sql-mode=TRADITIONAL"},
		{"--lower-case-table-names=1", "--sql-mode=ANSI"},
	} {
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
			s := mariadbtest.Start(t, flags...)
			_, db := s.Database()
			script := schemaScript(t)
			a := workerassign.NewDisposable(db)
			for run := range int64(3) {
				mariadbtest.RunScript(t, db, script)
				if l, err := a.Assign(context.Background(), workerassign.Request{}); err != nil || l.WorkerID() != run+1 {
					t.Fatalf("after run %d Assign() = %v, %v; want %d", run+1, l, err, run+1)
				}
			}
			// What the comments advise runs in each mode; what comes of it, other tests check.
			db.MustExec(newSection(t, "HOW MANY ARE LEFT").next("SELECT used"))
			deletion := newSection(t, "WHEN ROWS MAY BE DELETED")
			db.MustExec(deletion.next("SET SESSION TRANSACTION ISOLATION LEVEL"))
			db.MustExec(deletion.next("DELETE FROM WORKER_NODE"))
			db.MustExec("DELETE FROM WORKER_NODE") // what they advise against: here the counter survives
			s.Kill()
			s.Restart()
			if l, err := a.Assign(context.Background(), workerassign.Request{}); err != nil || l.WorkerID() != 4 {
				t.Errorf("after a crash Assign() = %v, %v; want 4", l, err)
			}
		})
	}
	for _, statement := range mariadbtest.SplitStatements(schemaScript(t)) {
		if !strings.HasPrefix(statement, "CREATE TABLE IF NOT EXISTS WORKER_NODE (") {
			t.Errorf("schema.sql has a statement that is not the one: %s", statement)
		}
	}
}

// A limit that others use up for a while: of prepared statements (1461), and of connections (1040).
func TestLimitsOfAServer(t *testing.T) {
	s := mariadbtest.Start(t, "--max-prepared-stmt-count=1", "--max-connections=10")
	database, db := s.Database()
	mariadbtest.RunScript(t, db, schemaScript(t))
	assign := func(what string, free func()) {
		t.Helper()
		time.AfterFunc(500*time.Millisecond, free)
		begin := time.Now()
		_, err := workerassign.NewDisposable(mariadbtest.Open(t, s.DSN("root", "", database)), discardLog()).Assign(context.Background(), workerassign.Request{})
		if took := time.Since(begin); err != nil || took < 400*time.Millisecond {
			t.Errorf("with no %s left for a while Assign() = %v after %v", what, err, took)
		}
	}
	statement, err := db.Prepare("SELECT 1")
	if err != nil {
		t.Fatal(err)
	}
	assign("prepared statement", func() { statement.Close() })

	others := mariadbtest.Open(t, s.DSN("root", "", database))
	var conns []*sql.Conn
	for {
		conn, err := others.Conn(context.Background())
		if err != nil {
			break // there are no more
		}
		conns = append(conns, conn)
	}
	assign("connection", func() {
		for _, conn := range conns {
			conn.Close()
		}
		others.Close()
	})
}

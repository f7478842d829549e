// Package mariadbtest gives a test a MariaDB server of its own: in a temporary directory, on a
// free port of the loopback interface, gone with the test. Replica adds an asynchronous
// replica, StartGalera starts a cluster, and StartMySQL56 is the same as Start for Oracle's
// MySQL 5.6.
package mariadbtest

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jmoiron/sqlx"

	"github.com/ringuid/ringuid/internal/testreq"
)

// DSNEnv names a server that Connect uses instead of starting one.
const DSNEnv = "RINGUID_TEST_DSN"

// startTimeout is how long a server may take until it answers.
const startTimeout = 60 * time.Second

// Server is a MariaDB server, or MySQL's. Its methods are for one goroutine at a time.
type Server struct {
	tb         testing.TB
	kind       serverKind
	directory  string
	port       int
	account    []string // the flag that names the account to run as, where one must
	flags      []string
	extraFlags []string      // further flags of the process that runs now: see RestartWith
	exited     chan struct{} // closed when the process that runs now is gone
	cmd        *exec.Cmd
}

// kind is what differs between MariaDB and MySQL.
type serverKind struct {
	program string              // the path of the server
	flags   []string            // what it requires, before all other flags
	env     []string            // what its environment requires
	install func(*Server) error // makes the system tables, in the directory data
}

// Start starts a server that ends with the test, with flags behind its own. Where there is
// no server to start, or tests are to be short, the test is skipped, unless all have to run:
// see package testreq.
func Start(tb testing.TB, flags ...string) *Server {
	tb.Helper()
	testreq.Slow(tb, "it starts a server")
	for _, name := range []string{"mariadbd", "mariadb-install-db"} {
		if _, err := findProgram(name); err != nil {
			testreq.Missing(tb, name, " was not found: install MariaDB's server (Debian's package mariadb-server), or run make test, which does")
		}
	}
	program, err := findProgram("mariadbd")
	if err != nil {
		tb.Fatal(err)
	}
	return start(tb, serverKind{program: program, install: installMariaDB}, flags)
}

// start starts a server of a kind that ends with the test.
func start(tb testing.TB, k serverKind, flags []string) *Server {
	tb.Helper()
	// Not in the test's own directory, whose name can be longer than a socket's may be.
	directory, err := os.MkdirTemp("", "ringuid-db")
	if err != nil {
		tb.Fatal(err)
	}
	s := &Server{tb: tb, kind: k, directory: directory, account: rootUserFlag(), flags: flags}
	tb.Cleanup(func() {
		s.Stop()
		if tb.Failed() {
			tb.Logf("the server's log ends with:\n%s", s.Log())
		}
		os.RemoveAll(directory)
	})
	if err := k.install(s); err != nil {
		tb.Fatal(err)
	}
	var failure error
	for range 5 { // somebody else may take the port before the server has it
		var err error
		if s.port, err = freePort(); err != nil {
			tb.Fatal(err)
		}
		if failure = s.start(); failure == nil {
			return s
		}
	}
	tb.Fatalf("the server does not start: %v\n%s", failure, s.Log())
	return nil
}

// installMariaDB makes the server's system tables. The program that does so starts a server,
// which was seen to crash in making a temporary table; so there is another try.
func installMariaDB(s *Server) error {
	program, err := findProgram("mariadb-install-db")
	if err != nil {
		return err
	}
	var out []byte
	for range 3 {
		os.RemoveAll(s.path("data"))
		cmd := exec.Command(program, append([]string{"--no-defaults", "--datadir=" + s.path("data"),
			"--auth-root-authentication-method=normal", "--skip-test-db"}, rootUserFlag()...)...)
		cmd.Env = s.environ()
		if out, err = cmd.CombinedOutput(); err == nil {
			return nil
		}
	}
	return fmt.Errorf("mariadb-install-db: %w\n%s", err, out)
}

// environ is the environment of the server's processes: their temporary files lie in the
// server's own directory.
func (s *Server) environ() []string {
	tmp := s.path("tmp")
	if err := os.MkdirAll(tmp, 0o700); err != nil {
		s.tb.Fatal(err)
	}
	return append(append(os.Environ(), "TMPDIR="+tmp), s.kind.env...)
}

// find finds a program, also where the paths of users who are not root do not lead.
func findProgram(name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	for _, directory := range []string{"/usr/sbin", "/usr/local/sbin", "/usr/local/bin"} {
		if path, err := exec.LookPath(filepath.Join(directory, name)); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s: %w", name, exec.ErrNotFound)
}

// asRoot is the flag without which MariaDB does not run as root.
func rootUserFlag() []string {
	if os.Geteuid() == 0 {
		return []string{"--user=root"}
	}
	return nil
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// file names a file in the server's directory.
func (s *Server) path(name string) string { return filepath.Join(s.directory, name) }

// start starts the process and waits until the server answers.
func (s *Server) start() error {
	args := append([]string{"--no-defaults"}, s.account...)
	args = append(args, s.kind.flags...)
	args = append(args,
		"--datadir="+s.path("data"), "--socket="+s.path("sock"), "--pid-file="+s.path("pid"), "--log-error="+s.path("log.err"),
		"--bind-address=127.0.0.1", "--port="+strconv.Itoa(s.port), "--skip-name-resolve",
		"--innodb-buffer-pool-size=16M", "--innodb-log-file-size=8M", "--performance-schema=OFF", "--max-connections=300")
	args = append(args, s.flags...)
	s.cmd = exec.Command(s.kind.program, append(args, s.extraFlags...)...)
	s.cmd.Env = s.environ()
	s.exited = make(chan struct{})
	if err := startProcess(s.cmd, s.exited); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	for {
		select {
		case <-s.exited:
			return errors.New("the process ended")
		case <-ctx.Done():
			s.Kill()
			return fmt.Errorf("no answer after %v", startTimeout)
		case <-time.After(20 * time.Millisecond):
		}
		if s.ping(ctx) {
			return nil
		}
	}
}

// ping tells whether the server answers; and it is this one, not another on its port.
func (s *Server) ping(ctx context.Context) bool {
	db, err := open(s.DSN("root", "", ""))
	if err != nil {
		return false
	}
	defer db.Close()
	var directory string
	return db.GetContext(ctx, &directory, "SELECT @@datadir") == nil && strings.HasPrefix(directory, s.directory)
}

// DSN returns the data source name of go-sql-driver/mysql for an account and a database.
func (s *Server) DSN(user, password, database string) string {
	cfg := mysql.NewConfig()
	cfg.User, cfg.Passwd, cfg.DBName = user, password, database
	cfg.Net, cfg.Addr = "tcp", s.Address()
	return cfg.FormatDSN()
}

// Address returns host and port of the server.
func (s *Server) Address() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

// PID returns the number of the server's process.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// Directory returns the directory that all of the server's files are in.
func (s *Server) Directory() string { return s.directory }

// Kill ends the server by SIGKILL, as a crash does.
func (s *Server) Kill() {
	s.cmd.Process.Kill()
	<-s.exited
}

// Stop ends the server in order, or if that takes long, by Kill.
func (s *Server) Stop() {
	if s.cmd == nil || s.cmd.Process == nil {
		return
	}
	terminate(s.cmd.Process)
	select {
	case <-s.exited:
	case <-time.After(20 * time.Second):
		s.Kill()
	}
}

// Restart starts the server again after Kill or Stop, with the same data, on the same port.
func (s *Server) Restart() {
	s.tb.Helper()
	s.RestartWith()
}

// RestartWith is Restart with further flags, which the next Restart drops. Another process
// may have the port for a while, as the near end of a connection, so it tries for some
// seconds.
func (s *Server) RestartWith(flags ...string) {
	s.tb.Helper()
	s.extraFlags = flags
	for deadline := time.Now().Add(startTimeout); ; time.Sleep(200 * time.Millisecond) {
		err := s.start()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			s.tb.Fatalf("the server does not start again: %v\n%s", err, s.Log())
		}
	}
}

// Log returns the end of the server's log.
func (s *Server) Log() string {
	text, err := os.ReadFile(s.path("log.err")) // MySQL adds .err to other names
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-4_000):])
}

// Open opens a data source name, until the end of the test.
func Open(tb testing.TB, dsn string) *sqlx.DB {
	tb.Helper()
	db, err := open(dsn)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { db.Close() })
	return db
}

// open opens a data source name without the driver's log lines, which servers that are
// killed cause many of.
func open(dsn string) (*sqlx.DB, error) {
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil {
		return nil, err
	}
	cfg.Logger = &mysql.NopLogger{}
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, err
	}
	return sqlx.NewDb(sql.OpenDB(connector), "mysql"), nil
}

// Database makes a database of a name of its own, and returns its name and a connection to
// it as root.
func (s *Server) Database() (string, *sqlx.DB) {
	s.tb.Helper()
	name := "ringuid_" + strings.ToLower(rand.Text()[:8])
	Open(s.tb, s.DSN("root", "", "")).MustExec("CREATE DATABASE " + name)
	return name, Open(s.tb, s.DSN("root", "", name))
}

// Connect returns a connection to a new database that is gone after the test, and the data
// source name of it: on the server that DSNEnv names, if it is set, else on one of its own.
func Connect(tb testing.TB) (*sqlx.DB, string) {
	tb.Helper()
	dsn := os.Getenv(DSNEnv)
	if dsn == "" {
		s := Start(tb)
		name, db := s.Database()
		return db, s.DSN("root", "", name)
	}
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil {
		tb.Fatalf("%s: %v", DSNEnv, err)
	}
	cfg.DBName = ""
	admin := Open(tb, cfg.FormatDSN())
	cfg.DBName = "ringuid_" + strings.ToLower(rand.Text()[:8])
	admin.MustExec("CREATE DATABASE " + cfg.DBName)
	tb.Cleanup(func() { admin.MustExec("DROP DATABASE " + cfg.DBName) })
	return Open(tb, cfg.FormatDSN()), cfg.FormatDSN()
}

// Script runs the statements of a script, which are separated by semicolons at the ends of
// lines, as a client does.
func RunScript(tb testing.TB, db *sqlx.DB, script string) {
	tb.Helper()
	for _, statement := range SplitStatements(script) {
		if _, err := db.Exec(statement); err != nil {
			tb.Fatalf("%v\nin: %s", err, statement)
		}
	}
}

// Statements cuts a script into its statements: comments of whole lines fall away.
func SplitStatements(script string) []string {
	var text strings.Builder
	for line := range strings.Lines(script) {
		if !strings.HasPrefix(strings.TrimSpace(line), "--") {
			text.WriteString(line)
		}
	}
	var statements []string
	for part := range strings.SplitSeq(text.String(), ";\n") {
		if part = strings.TrimSpace(part); part != "" {
			statements = append(statements, part)
		}
	}
	return statements
}

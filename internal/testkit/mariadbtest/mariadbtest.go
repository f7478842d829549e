// Package mariadbtest starts private MariaDB servers for tests. A server has a temporary directory and a
// free port on the loopback interface, and is ended and removed at the end of the test. Replica adds
// an asynchronous replica. StartGalera starts a cluster. StartMySQL56 is like Start, for Oracle's MySQL
// 5.6.
package mariadbtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/ringuid/ringuid/internal/testkit/testserver"
)

// DSNEnv is the name of an environment variable with the data source name of a server. If it is set,
// Connect uses that server instead of starting one.
const DSNEnv = "RINGUID_TEST_DSN"

// Server is a MariaDB or MySQL server. Its methods must not be called concurrently.
type Server struct {
	*testserver.Process
	tb    testing.TB
	kind  serverKind
	user  []string // the flag with the account, if the server runs as root
	flags []string
}

// serverKind is what differs between MariaDB and MySQL.
type serverKind struct {
	program string              // the path of the server program
	flags   []string            // required flags, which come before all other flags
	env     []string            // required environment variables
	install func(*Server) error // creates the system tables in the directory data
}

// mariaDB returns the kind MariaDB. If the server is not installed, it skips the test or fails it, see package testkit.
func mariaDB(tb testing.TB) serverKind {
	tb.Helper()
	testserver.Require(tb, "MariaDB's server (Debian's package mariadb-server)", "mariadbd", "mariadb-install-db")
	program, err := testserver.FindProgram("mariadbd")
	if err != nil {
		tb.Fatal(err)
	}
	return serverKind{program: program, install: func(s *Server) error { return s.Install("mariadb", s.installMariaDB) }}
}

// Start starts a server, which is ended at the end of the test. The flags are appended to the
// package's flags. If the server is not installed, or if -short is set, the test is skipped, unless all
// tests must run, see package testkit.
func Start(tb testing.TB, flags ...string) *Server {
	tb.Helper()
	return start(tb, mariaDB(tb), flags)
}

// start starts a server of the given kind, which is ended at the end of the test.
func start(tb testing.TB, k serverKind, flags []string) *Server {
	tb.Helper()
	s := &Server{tb: tb, kind: k, flags: flags}
	if os.Geteuid() == 0 {
		s.user = []string{"--user=root"} // MariaDB requires it
	}
	// MariaDB maps a log that is in /dev/shm to memory, and so would lose nothing when it is killed.
	s.Process = testserver.New(tb, testserver.Kind{Command: s.command, Ping: s.ping, Ports: 1, Terminate: syscall.SIGTERM, OnDisk: true})
	if err := k.install(s); err != nil {
		tb.Fatal(err)
	}
	s.StartNew()
	return s
}

// installMariaDB creates a data directory by MariaDB's program for that. It makes up to three attempts, because the
// program starts a server, which occasionally crashed while creating a temporary table.
func (s *Server) installMariaDB(data string) (err error) {
	for range 3 {
		os.RemoveAll(data)
		if err = s.Run("mariadb-install-db", append([]string{"--no-defaults", "--datadir=" + data,
			"--auth-root-authentication-method=normal", "--skip-test-db", logFileSize}, s.user...)...); err == nil {
			return nil
		}
	}
	return err
}

// logFileSize is a flag of MariaDB. Its default is 96 MB, which each new server would write.
const logFileSize = "--innodb-log-file-size=8M"

// command returns the server's program with its arguments. It reads and writes by plain system calls, through the page cache. With direct
// and asynchronous I/O and a mapped log, it happened twice that a server (10.11.19) which was killed crashed at each start.
func (s *Server) command() *exec.Cmd {
	args := slices.Concat([]string{"--no-defaults"}, s.user, s.kind.flags)
	args = append(args, "--datadir="+s.Path("data"), "--socket="+s.Path("sock"), "--pid-file="+s.Path("pid"),
		"--bind-address=127.0.0.1", "--port="+strconv.Itoa(s.Port(0)), "--skip-name-resolve",
		"--innodb-buffer-pool-size=16M", "--innodb-use-native-aio=0", "--loose-innodb-flush-method=fsync",
		"--loose-innodb-log-file-buffering=1", "--loose-innodb-log-file-mmap=0", logFileSize, "--performance-schema=OFF", "--max-connections=300")
	cmd := exec.Command(s.kind.program, append(args, s.flags...)...)
	cmd.Env = s.kind.env
	return cmd
}

// ping returns nil if this server answers, and not another one on its port.
func (s *Server) ping(ctx context.Context) error {
	db, err := open(s.DSN("root", "", ""))
	if err != nil {
		return err
	}
	defer db.Close()
	var directory string
	if err = db.GetContext(ctx, &directory, "SELECT @@datadir"); err == nil && !strings.HasPrefix(directory, s.Directory()) {
		err = fmt.Errorf("another server, in %s, has the port", directory)
	}
	return err
}

// DSN returns the data source name of go-sql-driver/mysql for an account and a database.
func (s *Server) DSN(user, password, database string) string {
	cfg := mysql.NewConfig()
	cfg.User, cfg.Passwd, cfg.DBName = user, password, database
	cfg.Net, cfg.Addr = "tcp", s.Address()
	return cfg.FormatDSN()
}

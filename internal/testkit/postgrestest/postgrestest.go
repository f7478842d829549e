// Package postgrestest starts private PostgreSQL servers for tests. A server has a temporary directory and
// a free port on the loopback interface, and is stopped and removed at the end of the test. Standby adds a
// standby by streaming replication, which can be promoted.
//
// PostgreSQL refuses to run as root. If the tests run as root, the servers run as the user postgres, which
// Debian's package creates, or as nobody.
//
// The package is a separate module, because its tests use drivers that the library itself must not depend
// on: they test workerassign.Disposable and sqlstore.New on PostgreSQL.
package postgrestest

import (
	"context"
	"fmt"
	"net/url"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/ringuid/ringuid/internal/testkit/testserver"
)

// DSNEnv is the name of an environment variable with the data source name of a server, as a URL. If it is
// set, Connect uses that server instead of starting one.
const DSNEnv = "RINGUID_POSTGRES_DSN"

// Server is a PostgreSQL server. Its methods must not be called concurrently.
type Server struct {
	*testserver.Process
	tb       testing.TB
	settings []string // name=value
	standbys int      // how many standbys were added
}

// Start starts a server, which is stopped at the end of the test. The settings have the form name=value and
// are appended to the package's settings. If PostgreSQL is not installed, or if -short is set, the test is
// skipped, unless all tests must run, see package testkit.
func Start(tb testing.TB, settings ...string) *Server {
	tb.Helper()
	s := newServer(tb, settings)
	if err := s.Install("postgres", func(data string) error {
		return s.Run("initdb", "--pgdata="+data, "--username=postgres", "--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C")
	}); err != nil {
		tb.Fatal(err)
	}
	s.StartNew()
	return s
}

// newServer returns a server without data. It is stopped and removed at the end of the test.
func newServer(tb testing.TB, settings []string) *Server {
	tb.Helper()
	testserver.Require(tb, "PostgreSQL's server (Debian's package postgresql)", "postgres", "initdb", "pg_basebackup")
	s := &Server{tb: tb, settings: settings}
	s.Process = testserver.New(tb, testserver.Kind{
		Command: s.command,
		Ping:    s.ping,
		Ports:   1,
		// The signal ends all sessions. A server that is killed leaves shared memory behind.
		Terminate: syscall.SIGINT, StopAtEnd: true,
		Accounts: []string{"postgres", "nobody"},
	})
	return s
}

// command returns the server's program with its arguments.
func (s *Server) command() *exec.Cmd {
	program, err := testserver.FindProgram("postgres")
	if err != nil {
		s.tb.Fatal(err)
	}
	return exec.Command(program, append([]string{"-D", s.Path("data"), "-p", strconv.Itoa(s.Port(0))},
		flags(append([]string{"listen_addresses=127.0.0.1", "unix_socket_directories=", "shared_buffers=16MB",
			"max_connections=300", "max_wal_senders=10", "dynamic_shared_memory_type=mmap", "logging_collector=off", "log_line_prefix=%m [%p] "}, s.settings...))...)...)
}

// flags returns the flags for settings.
func flags(settings []string) (args []string) {
	for _, setting := range settings {
		args = append(args, "-c", setting)
	}
	return args
}

// RestartWith is Restart with further settings, which apply until the next Restart.
func (s *Server) RestartWith(settings ...string) {
	s.tb.Helper()
	s.Process.RestartWith(flags(settings)...)
}

// ping returns nil if this server answers, and not another one on its port.
func (s *Server) ping(ctx context.Context) error {
	db, err := open(s.DSN("postgres", "", "postgres"))
	if err != nil {
		return err
	}
	defer db.Close()
	var directory string
	if err = db.GetContext(ctx, &directory, "SHOW data_directory"); err == nil && !strings.HasPrefix(directory, s.Directory()) {
		err = fmt.Errorf("another server, in %s, has the port", directory)
	}
	return err
}

// DSN returns the data source name for an account and a database, as a URL.
func (s *Server) DSN(user, password, database string) string {
	account := url.User(user)
	if password != "" {
		account = url.UserPassword(user, password)
	}
	u := url.URL{Scheme: "postgres", User: account, Host: s.Address(), Path: "/" + database, RawQuery: "sslmode=disable&connect_timeout=60"}
	return u.String()
}

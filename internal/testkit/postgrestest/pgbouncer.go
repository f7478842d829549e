package postgrestest

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/ringuid/ringuid/internal/testkit/testserver"
)

// PgBouncer is a connection pooler in front of a server.
type PgBouncer struct {
	*testserver.Process
	server *Server
	mode   string
}

// StartPgBouncer starts a PgBouncer that connects to a server, with a value of pool_mode: session, transaction or statement. In the
// modes transaction and statement all clients share one connection to each database, so that each transaction, or each statement,
// may follow one of another client. If PgBouncer is not installed, or if -short is set, the test is skipped as by Start.
func (s *Server) StartPgBouncer(tb testing.TB, mode string) *PgBouncer {
	tb.Helper()
	testserver.Require(tb, "PgBouncer (Debian's package pgbouncer)", "pgbouncer")
	b := &PgBouncer{server: s, mode: mode}
	b.Process = testserver.New(tb, testserver.Kind{
		Command:   func() *exec.Cmd { return b.command(tb) },
		Ping:      b.ping,
		Ports:     1,
		Terminate: syscall.SIGTERM,
		Accounts:  []string{"postgres", "nobody"},
	})
	b.StartNew()
	return b
}

// command returns the program with its configuration.
func (b *PgBouncer) command(tb testing.TB) *exec.Cmd {
	program, err := testserver.FindProgram("pgbouncer")
	if err != nil {
		tb.Fatal(err)
	}
	connections := 1
	if b.mode == "session" { // each client has one for as long as it is connected
		connections = 60
	}
	config, users := b.Path("pgbouncer.ini"), b.Path("users.txt")
	for path, text := range map[string]string{
		config: fmt.Sprintf(`[databases]
* = host=127.0.0.1 port=%d
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = trust
auth_file = %s
pool_mode = %s
default_pool_size = %d
ignore_startup_parameters = extra_float_digits
`, b.server.Port(0), b.Port(0), users, b.mode, connections),
		users: `"postgres" ""`,
	} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			tb.Fatal(err)
		}
	}
	return exec.Command(program, config)
}

// ping returns nil if this PgBouncer leads to its server.
func (b *PgBouncer) ping(ctx context.Context) error {
	db, err := open(b.DSN("postgres", "default_query_exec_mode=simple_protocol"))
	if err != nil {
		return err
	}
	defer db.Close()
	var directory string
	if err = db.GetContext(ctx, &directory, "SHOW data_directory"); err == nil && !strings.HasPrefix(directory, b.server.Directory()) {
		err = fmt.Errorf("another server, in %s, has the port", directory)
	}
	return err
}

// DSN returns the data source name of a database behind the PgBouncer, as a URL with parameters of the driver.
func (b *PgBouncer) DSN(database, parameters string) string {
	u := url.URL{Scheme: "postgres", User: url.User("postgres"), Host: b.Address(), Path: "/" + database, RawQuery: "sslmode=disable&connect_timeout=60&" + parameters}
	return u.String()
}

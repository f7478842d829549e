package mariadbtest

import (
	"errors"
	"slices"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/jmoiron/sqlx"

	"github.com/ringuid/ringuid/internal/testkit"
)

// A StartFunc starts a server, like Start.
type StartFunc func(testing.TB, ...string) *Server

// OnEach runs a test on MariaDB and, in full size, on MySQL 5.6, each in strict mode.
func OnEach(t *testing.T, test func(t *testing.T, start StartFunc)) {
	const strict = "--sql-mode=STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION,ONLY_FULL_GROUP_BY"
	for _, server := range []struct {
		name  string
		start StartFunc
	}{{"MariaDB", Start}, {"MySQL 5.6", StartMySQL56}} {
		t.Run(server.name, func(t *testing.T) {
			if server.name != "MariaDB" {
				testkit.Full(t, "it repeats the test on MariaDB")
			}
			test(t, func(tb testing.TB, flags ...string) *Server {
				tb.Helper()
				return server.start(tb, append([]string{strict}, flags...)...)
			})
		})
	}
}

// CreateIDs creates the database ids, which the comments of schema.sql use, without a table. It
// returns a connection to it as root. The character set is the default of a server without a
// configuration.
func CreateIDs(tb testing.TB, s *Server) *sqlx.DB {
	tb.Helper()
	s.Admin().MustExec("CREATE DATABASE ids DEFAULT CHARACTER SET latin1")
	return Open(tb, s.DSN("root", "", "ids"))
}

// WantErrorNumber checks that err is an error of the server with one of the numbers.
func WantErrorNumber(t testing.TB, err error, what string, numbers ...uint16) {
	t.Helper()
	var server *mysql.MySQLError
	if !errors.As(err, &server) || !slices.Contains(numbers, server.Number) {
		t.Errorf("%s: %v, want one of the errors %d", what, err, numbers)
	}
}

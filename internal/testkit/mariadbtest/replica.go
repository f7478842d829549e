package mariadbtest

import (
	"database/sql"
	"errors"
	"fmt"
	"strconv"

	"github.com/jmoiron/sqlx"

	"github.com/ringuid/ringuid/internal/testkit"
)

// PrimaryFlags returns the flags of a server that has replicas.
func PrimaryFlags() []string {
	return []string{"--server-id=1", "--log-bin=binlog", "--binlog-format=ROW", "--relay-log=relay"}
}

// Replica starts a server of the same kind as s that replicates all databases of s asynchronously. It is
// read-only, also after a restart. The primary s must run with PrimaryFlags, and must never have deleted
// a binary log. The replica has the flags of s, with another server ID, followed by the given flags.
func (s *Server) Replica(flags ...string) *Server {
	s.tb.Helper()
	r := start(s.tb, s.kind, append(append(append([]string(nil), s.flags...), "--server-id=2", "--read-only"), flags...))
	admin := r.Admin()
	// Without a position, the replica begins with the primary's first binary log.
	admin.MustExec("CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT=" + strconv.Itoa(s.Port(0)) +
		", MASTER_USER='root', MASTER_PASSWORD='', MASTER_CONNECT_RETRY=1")
	admin.MustExec("START SLAVE")
	r.WaitApplied(s)
	return r
}

// Admin returns a connection as root without a default database. It is closed at the end of the test.
func (s *Server) Admin() *sqlx.DB {
	s.tb.Helper()
	return Open(s.tb, s.DSN("root", "", ""))
}

// WaitApplied waits until the replica s has applied everything that is in the primary's binary log at
// the time of the call.
func (s *Server) WaitApplied(primary *Server) {
	s.tb.Helper()
	file, position := primary.binlogPosition()
	var events sql.NullInt64
	err := s.Admin().Get(&events, "SELECT MASTER_POS_WAIT(?, ?, 300)", file, position)
	if err != nil || events.Int64 < 0 || !events.Valid { // -1 is a timeout, NULL means that replication does not run
		s.tb.Fatalf("the replica did not apply the rows up to %s %d: %v, %v; its status is %v", file, position, events, err, s.ReplicaStatus())
	}
}

// WaitReceived waits until the replica s has received everything that is in the primary's binary log at
// the time of the call, whether it has applied it or not.
func (s *Server) WaitReceived(primary *Server) {
	s.tb.Helper()
	file, position := primary.binlogPosition()
	want := fmt.Sprint(file, " ", position)
	testkit.Retry(s.tb, "the replica receives all rows", func() error {
		if status := s.ReplicaStatus(); status["Master_Log_File"]+" "+status["Read_Master_Log_Pos"] != want {
			return fmt.Errorf("its status is %v; it must receive the rows up to %s", status, want)
		}
		return nil
	})
}

// binlogPosition returns the position of the end of the server's binary log.
func (s *Server) binlogPosition() (file string, position int64) {
	s.tb.Helper()
	status := s.QueryRow("SHOW MASTER STATUS")
	position, err := strconv.ParseInt(status["Position"], 10, 64)
	if err != nil {
		s.tb.Fatal(err)
	}
	return status["File"], position
}

// ReplicaStatus returns the columns of SHOW SLAVE STATUS. The map is empty if the server is not a
// replica.
func (s *Server) ReplicaStatus() map[string]string {
	s.tb.Helper()
	return s.QueryRow("SHOW SLAVE STATUS")
}

// QueryRow runs a query as root and returns the columns of the first row as text. The map is empty if
// there is no row.
func (s *Server) QueryRow(query string) map[string]string {
	s.tb.Helper()
	columns, row := map[string]any{}, map[string]string{}
	if err := s.Admin().QueryRowx(query).MapScan(columns); err != nil && !errors.Is(err, sql.ErrNoRows) {
		s.tb.Fatalf("%v\nin: %s", err, query)
	}
	for name, value := range columns {
		if b, ok := value.([]byte); ok {
			value = string(b)
		}
		row[name] = fmt.Sprint(value)
	}
	return row
}

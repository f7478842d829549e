package postgrestest

import (
	"fmt"

	"github.com/ringuid/ringuid/internal/testkit"
)

// Standby starts a server that replicates s by streaming replication: asynchronously, unless the setting
// synchronous_standby_names of s contains its name. The names are standby1, standby2, and so on. The primary
// keeps what a standby has not received. The standby has the settings of s, followed by the given ones.
func (s *Server) Standby(settings ...string) *Server {
	s.tb.Helper()
	s.standbys++
	name := fmt.Sprintf("standby%d", s.standbys)
	r := newServer(s.tb, append(append([]string(nil), s.settings...), settings...))
	source := fmt.Sprintf("host=127.0.0.1 port=%d user=postgres dbname=postgres application_name=%s sslmode=disable", s.Port(0), name)
	if err := r.Run("pg_basebackup", "--dbname="+source, "--pgdata="+r.Path("data"), "--write-recovery-conf", "--create-slot", "--slot="+name,
		"--wal-method=stream", "--checkpoint=fast", "--no-sync"); err != nil {
		s.tb.Fatal(err)
	}
	r.StartNew()
	r.WaitReceived(s)
	return r
}

// WaitReceived waits until the standby s has received and applied everything that the primary has written
// at the time of the call.
func (s *Server) WaitReceived(primary *Server) {
	s.tb.Helper()
	var position string
	if err := primary.Admin().Get(&position, "SELECT pg_current_wal_flush_lsn()::text"); err != nil {
		s.tb.Fatal(err)
	}
	admin := s.Admin()
	testkit.Retry(s.tb, "the standby applies everything", func() error {
		var applied bool
		err := admin.Get(&applied, "SELECT coalesce(pg_last_wal_replay_lsn() >= $1::pg_lsn, false)", position)
		if err == nil && !applied {
			err = fmt.Errorf("it has not applied everything up to %s", position)
		}
		return err
	})
}

// Disconnect makes the standby s stop receiving, as if the network was interrupted.
func (s *Server) Disconnect() {
	s.tb.Helper()
	admin := s.Admin()
	admin.MustExec("ALTER SYSTEM SET primary_conninfo = ''")
	admin.MustExec("SELECT pg_reload_conf()")
	testkit.Eventually(s.tb, "the standby stops receiving", func() bool {
		var receivers int
		err := admin.Get(&receivers, "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'walreceiver'")
		return err == nil && receivers == 0
	})
}

// Promote makes the standby s a primary, and waits until it accepts writes.
func (s *Server) Promote() {
	s.tb.Helper()
	var promoted bool
	if err := s.Admin().Get(&promoted, "SELECT pg_promote(true, 300)"); err != nil || !promoted {
		s.tb.Fatalf("the standby is not promoted: %v, %v", promoted, err)
	}
}

package postgrestest_test

import (
	"testing"

	"github.com/ringuid/ringuid/internal/testkit/fleettest"
	"github.com/ringuid/ringuid/internal/testkit/postgrestest"
	"github.com/ringuid/ringuid/internal/testkit/testserver"
	"github.com/ringuid/ringuid/stores/sqlstore"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// What slot tables cost: see the parts. Each pool is a database.
func TestMeasure(t *testing.T) {
	fleettest.NeedsMeasure(t)
	s := postgrestest.Start(t, "shared_buffers=128MB")
	var version string
	if err := s.Admin().Get(&version, "SELECT split_part(current_setting('server_version'), ' ', 1)"); err != nil {
		t.Fatal(err)
	}
	created := map[string]bool{}
	target := fleettest.Target{
		Name: "PostgreSQL " + version,
		Open: func(pool string) recycled.Store {
			if !created[pool] {
				s.Admin().MustExec("CREATE DATABASE " + pool)
				testserver.RunScript(t, postgrestest.Open(t, s.DSN("postgres", "", pool)), schemaScript(t))
				created[pool] = true
			}
			db := postgrestest.Open(t, s.DSN("postgres", "", pool)+"&default_query_exec_mode=exec")
			db.SetMaxOpenConns(8)
			db.SetMaxIdleConns(8)
			return sqlstore.New(db)
		},
	}
	fleettest.Measure(t, target, fleettest.Assigns, fleettest.Starts)
}

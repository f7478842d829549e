//go:build unix

package slottabletests

import (
	"strings"
	"sync"
	"testing"

	"github.com/ringuid/ringuid"
	"github.com/ringuid/ringuid/internal/testkit/fleettest"
	"github.com/ringuid/ringuid/internal/testkit/mariadbtest"
	"github.com/ringuid/ringuid/internal/testkit/testserver"
	"github.com/ringuid/ringuid/stores/sqlstore"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// measuredFlags give a server the memory that it has by default.
var measuredFlags = []string{"--innodb-buffer-pool-size=128M", "--innodb-log-file-size=96M"}

// target returns servers as a store to measure. Each pool is a database.
func target(t *testing.T, kind string, servers ...*mariadbtest.Server) fleettest.Target {
	t.Helper()
	admins := make([]func(query string) (name string, n int64), len(servers))
	for i, s := range servers {
		db := s.Admin()
		admins[i] = func(query string) (name string, n int64) {
			if err := db.QueryRow(query).Scan(&name, &n); err != nil {
				t.Error(err)
			}
			return name, n
		}
	}
	var version string
	if err := servers[0].Admin().Get(&version, "SELECT VERSION()"); err != nil {
		t.Fatal(err)
	}
	version, _, _ = strings.Cut(version, "-")
	var mu sync.Mutex
	created, turn := map[string]bool{}, 0
	return fleettest.Target{
		Name: kind + " " + version,
		Open: func(pool string) recycled.Store {
			mu.Lock()
			defer mu.Unlock()
			server := servers[turn%len(servers)]
			turn++
			if !created[pool] {
				servers[0].Admin().MustExec("CREATE DATABASE " + pool)
				testserver.RunScript(t, mariadbtest.Open(t, servers[0].DSN("root", "", pool)), ringuid.MySQLSchema())
				created[pool] = true
			}
			db := mariadbtest.Open(t, server.DSN("root", "", pool))
			db.SetMaxOpenConns(8)
			db.SetMaxIdleConns(8)
			return sqlstore.New(db)
		},
		Statements: func() (sum int64) {
			for _, status := range admins {
				_, n := status("SHOW GLOBAL STATUS LIKE 'Questions'")
				sum += n
			}
			return sum
		},
		Statement: "statements",
		Load:      2_000_000,
	}
}

// What slot tables cost, and two million UIDs per second: see the parts.
func TestMeasureMariaDB(t *testing.T) {
	fleettest.NeedsMeasure(t)
	s := mariadbtest.Start(t, measuredFlags...)
	fleettest.Measure(t, target(t, "MariaDB", s), fleettest.Assigns, fleettest.Starts, fleettest.Upkeep, fleettest.Sustained)
}

// The clients use the three nodes in turn.
func TestMeasureGalera(t *testing.T) {
	fleettest.NeedsMeasure(t)
	c := mariadbtest.StartGalera(t, 3, append(measuredFlags, "--wsrep-sync-wait=15")...)
	fleettest.Measure(t, target(t, "Galera, 3 nodes,", c.Node(0), c.Node(1), c.Node(2)), fleettest.Assigns)
}

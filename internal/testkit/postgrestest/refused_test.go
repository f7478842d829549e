package postgrestest_test

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ringuid/ringuid/internal/testkit/postgrestest"
	"github.com/ringuid/ringuid/internal/testkit/schematest"
	"github.com/ringuid/ringuid/stores/sqlstore"
	"github.com/ringuid/ringuid/workerassign"
)

// WithVerification is refused on PostgreSQL before a row is inserted, and the error says what to use instead.
func TestVerificationIsRefused(t *testing.T) {
	t.Parallel()
	s := postgrestest.Start(t)
	db := idsDatabase(t, s)
	for _, driverName := range []string{"pgx", "postgres"} {
		pool, err := sql.Open(driverName, s.DSN("postgres", "", "ids"))
		if err != nil {
			t.Fatal(err)
		}
		defer pool.Close()
		_, err = assign(t, pool, workerassign.WithVerification(workerassign.Verification{}))
		if !errors.Is(err, workerassign.ErrOption) || !errors.Is(err, workerassign.ErrPermanent) ||
			!strings.Contains(err.Error(), "WithVerification does not support PostgreSQL; use recycled worker IDs (recycled.New with sqlstore.New) instead") {
			t.Errorf("%s: Assign() = %v", driverName, err)
		}
	}
	var rows int
	if err := db.Get(&rows, "SELECT count(*) FROM worker_node"); err != nil || rows != 0 {
		t.Errorf("%d rows were inserted, %v", rows, err)
	}
}

var sqlBlock = regexp.MustCompile("(?ms)^```sql\n(.*?);\n^```$")

// The statements of schema.postgres.sql repair a pool from which somebody deleted a slot, or the pool's row. That of doc/fleet.md
// changes its settings.
func TestRepairOfSlots(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "doc", "fleet.md"))
	if err != nil {
		t.Fatal(err)
	}
	settings := sqlBlock.FindStringSubmatch(string(page))
	if settings == nil {
		t.Fatal("doc/fleet.md has no block of SQL, which changes the settings of a pool")
	}
	db := idsDatabase(t, postgrestest.Start(t))
	schematest.TestRepair(t, db, sqlstore.New(db), newSection(t, "A SLOT OR THE POOL IS MISSING"), settings[1])
}

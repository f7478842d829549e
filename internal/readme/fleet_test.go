package readme

import (
	"regexp"
	"strings"
	"testing"

	"github.com/ringuid/ringuid/internal/testkit/mariadbtest"
	"github.com/ringuid/ringuid/internal/testkit/schematest"
	"github.com/ringuid/ringuid/internal/testkit/testserver"
	"github.com/ringuid/ringuid/stores/sqlstore"
)

var sqlBlock = regexp.MustCompile("(?ms)^```sql\n(.*?);\n^```$")

// The statements of schema.sql repair a pool from which somebody deleted a slot, or the pool's row. That of doc/fleet.md changes
// its settings; internal/testkit/postgrestest runs it on PostgreSQL.
func TestRepairOfSlots(t *testing.T) {
	blocks := sqlBlock.FindAllStringSubmatch(read(t, "doc/fleet.md"), -1)
	if len(blocks) != 1 || !strings.Contains(blocks[0][1], "horizon_ms = 80000") {
		t.Fatalf("doc/fleet.md has the blocks %q of SQL, want one, which changes the settings of a pool", blocks)
	}
	db, _ := mariadbtest.Connect(t)
	testserver.RunScript(t, db, read(t, "schema.sql"))
	schematest.TestRepair(t, db, sqlstore.New(db), schematest.MySQL().Section(t, "A SLOT OR THE POOL IS MISSING"), blocks[0][1])
}

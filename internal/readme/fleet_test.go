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

// The statements of doc/fleet.md repair a pool from which somebody deleted a slot, or the pool's row.
func TestRepairOfSlots(t *testing.T) {
	var blocks []string
	for _, m := range sqlBlock.FindAllStringSubmatch(read(t, "doc/fleet.md"), -1) {
		if !strings.Contains(m[1], "extract(epoch") { // for PostgreSQL only: internal/testkit/postgrestest
			blocks = append(blocks, m[1])
		}
	}
	if len(blocks) != 4 || !strings.Contains(blocks[0], "horizon_ms = 45000") {
		t.Fatalf("doc/fleet.md has the blocks %q of SQL, want 4", blocks)
	}
	settings, count, blocks := blocks[0], blocks[1], blocks[2:]
	db, _ := mariadbtest.Connect(t)
	testserver.RunScript(t, db, read(t, "schema.sql"))
	schematest.TestRepair(t, db, sqlstore.New(db), blocks[0], blocks[1], settings, func() {
		db.MustExec("UPDATE WORKER_SLOT SET free_at_ms = free_at_ms + 3600000 WHERE token IS NOT NULL") // nobody extends the leases
		var slots, free, notFree int
		if err := db.QueryRow(count).Scan(&slots, &free, &notFree); err != nil || slots < 3 || notFree != 3 || free != slots-3 {
			t.Errorf("with 3 leases the query counts %d slots, %d free, %d not free; %v", slots, free, notFree, err)
		}
	})
}

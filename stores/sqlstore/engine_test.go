package sqlstore_test

import (
	"testing"

	"github.com/ringuid/ringuid"
	"github.com/ringuid/ringuid/internal/testkit/mariadbtest"
	"github.com/ringuid/ringuid/internal/testkit/testserver"
	"github.com/ringuid/ringuid/stores/sqlstore"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// R2: a table whose storage engine has no transactions, or is not replicated by Galera, is refused.
func TestR2StorageEngine(t *testing.T) {
	s := mariadbtest.Start(t)
	for _, table := range []string{"WORKER_POOL", "WORKER_SLOT"} {
		for _, engine := range []string{"MyISAM", "Aria", "InnoDB"} {
			name, db := s.Database()
			testserver.RunScript(t, db, ringuid.MySQLSchema())
			db.MustExec("ALTER TABLE " + table + " ENGINE = " + engine)
			for _, store := range []recycled.Store{
				sqlstore.New(db),
				sqlstore.New(mariadbtest.Open(t, s.DSN("root", "", "mysql")), sqlstore.WithPoolTables(name+".WORKER_POOL", name+".WORKER_SLOT")),
			} {
				_, err := store.Read(t.Context(), recycled.Query{})
				if engine == "InnoDB" {
					if err != nil {
						t.Errorf("%s: %v", engine, err)
					}
					continue
				}
				wantPermanent(t, err, table+"` is "+engine+"; must be InnoDB")
			}
		}
	}
}

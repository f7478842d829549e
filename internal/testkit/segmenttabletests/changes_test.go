//go:build unix

package segmenttabletests

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/mariadbtest"
	"github.com/ringuid/ringuid/internal/testkit/takertest"
	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/stores/sqlstore"
)

// auditTrigger makes the server's reply to an UPDATE of the table have no insert ID, so that a Table compares counters.
const (
	auditTable   = "CREATE TABLE audit (id BIGINT AUTO_INCREMENT PRIMARY KEY, n BIGINT)"
	auditTrigger = "CREATE TRIGGER audits AFTER UPDATE ON leaf_alloc FOR EACH ROW INSERT INTO audit (n) VALUES (LAST_INSERT_ID(77))"
)

func createAudit(db *sqlx.DB) {
	db.MustExec(auditTable)
	db.MustExec(auditTrigger)
}

// renewedTable is a Table that is replaced after 50 Takes, as by a process that has just started.
type renewedTable struct {
	db    *sqlx.DB
	takes int
	table *sqlstore.Store
}

func (r *renewedTable) Take(ctx context.Context, request segment.Request) (segment.Range, error) {
	if r.takes%50 == 0 {
		r.table = sqlstore.New(r.db, sqlstore.WithAttemptTimeout(2*time.Second))
	}
	r.takes++
	return r.table.Take(ctx, request)
}

func (r *renewedTable) String() string { return "a table" }

// An operator changes the table in all ways while processes take ranges. Takes fail meanwhile, and no number is handed out twice.
func TestTableChangedWhileRunning(t *testing.T) {
	onEachServer(t, func(t *testing.T, start startFunc) {
		s := start(t)
		name, db := database(t, s)
		insertTag(db, tag, 1, 10)
		db.MustExec("CREATE USER 'u'@'%' IDENTIFIED BY 'p'")
		grant := "(biz_tag, max_id, step), UPDATE (max_id) ON " + name + ".leaf_alloc "
		db.MustExec("GRANT SELECT " + grant + "TO 'u'@'%'")
		k := takertest.New(t)
		for n := range testkit.Size(3, 6) {
			db := mariadbtest.Open(t, s.DSN("u", "p", name))
			k.Run(&renewedTable{db: db}, n > 0, 2*time.Second)
		}
		db.SetMaxOpenConns(1)
		db.MustExec(auditTable)
		k.Disturb(map[string][]string{
			"a new privilege":    {"REVOKE SELECT " + grant + "FROM 'u'@'%'", "GRANT SELECT " + grant + "TO 'u'@'%'"},
			"another name":       {"RENAME TABLE leaf_alloc TO away", "RENAME TABLE away TO leaf_alloc"},
			"another engine":     {"ALTER TABLE leaf_alloc ENGINE = MyISAM", "ALTER TABLE leaf_alloc ENGINE = InnoDB"},
			"a column":           {"ALTER TABLE leaf_alloc ADD COLUMN more INT, MODIFY step INT NOT NULL", "ALTER TABLE leaf_alloc DROP COLUMN more, MODIFY step BIGINT NOT NULL"},
			"UNSIGNED":           {"ALTER TABLE leaf_alloc MODIFY max_id BIGINT UNSIGNED NOT NULL", "ALTER TABLE leaf_alloc MODIFY max_id BIGINT NOT NULL DEFAULT 1"},
			"NULL":               {"ALTER TABLE leaf_alloc MODIFY max_id BIGINT NULL", "ALTER TABLE leaf_alloc MODIFY max_id BIGINT NOT NULL DEFAULT 1"},
			"a text":             {"ALTER TABLE leaf_alloc MODIFY max_id VARCHAR(40) NOT NULL", "ALTER TABLE leaf_alloc MODIFY max_id BIGINT NOT NULL DEFAULT 1"},
			"a fraction":         {"ALTER TABLE leaf_alloc MODIFY max_id DOUBLE NOT NULL", "ALTER TABLE leaf_alloc MODIFY max_id BIGINT NOT NULL DEFAULT 1"},
			"no key":             {"ALTER TABLE leaf_alloc DROP PRIMARY KEY", "ALTER TABLE leaf_alloc ADD PRIMARY KEY (biz_tag)"},
			"steps":              {"UPDATE leaf_alloc SET step = 0", "UPDATE leaf_alloc SET step = 25", "UPDATE leaf_alloc SET step = -1", "UPDATE leaf_alloc SET step = 10"},
			"another tag":        {"UPDATE leaf_alloc SET biz_tag = 'x'", "UPDATE leaf_alloc SET biz_tag = 'Orders'", "UPDATE leaf_alloc SET biz_tag = 'orders'"},
			"a raised counter":   {"UPDATE leaf_alloc SET max_id = max_id + 1000"},
			"read-only":          {"SET GLOBAL read_only = 1", "SET GLOBAL read_only = 0"},
			"a trigger":          {auditTrigger, "DROP TRIGGER audits"},
			"a trigger's change": {"CREATE TRIGGER half BEFORE UPDATE ON leaf_alloc FOR EACH ROW SET NEW.max_id = NEW.max_id - 1", "DROP TRIGGER half"},
			"a trigger's step":   {"CREATE TRIGGER grow BEFORE UPDATE ON leaf_alloc FOR EACH ROW SET NEW.step = 11", "DROP TRIGGER grow", "UPDATE leaf_alloc SET step = 10"},
			"a trigger's error":  {"CREATE TRIGGER fails BEFORE UPDATE ON leaf_alloc FOR EACH ROW SIGNAL SQLSTATE '45000'", "DROP TRIGGER fails"},
			"locks":              {"LOCK TABLES leaf_alloc READ", "UNLOCK TABLES", "FLUSH TABLES WITH READ LOCK", "UNLOCK TABLES"},
		}, func(statement string) error {
			_, err := db.Exec(statement)
			return err
		})
		k.Check()
	})
}

// A counter that is set back while processes run, also to NULL, negative and 0, is refused by all who remember, whatever statements a Table
// has, and not changed.
func TestTableSetBackComparing(t *testing.T) {
	onEachServer(t, func(t *testing.T, start startFunc) {
		s := start(t)
		name, db := database(t, s)
		db.MustExec("ALTER TABLE leaf_alloc MODIFY max_id BIGINT NULL")
		createAudit(db)
		insertTag(db, tag, 1, 10)
		db.MustExec("CREATE USER 'u'@'%' IDENTIFIED BY 'p'")
		db.MustExec("GRANT SELECT (biz_tag, max_id, step), UPDATE (max_id) ON " + name + ".leaf_alloc TO 'u'@'%'")
		source := sqlstore.New(mariadbtest.Open(t, s.DSN("u", "p", name)))
		mustTake(t, source, segment.Request{Tag: tag}, rangeOf(1, 10, 10))
		mustTake(t, source, segment.Request{Tag: tag, Size: 3}, rangeOf(11, 3, 10))
		for _, value := range []any{5, 0, -1, nil} {
			db.MustExec("UPDATE leaf_alloc SET max_id = ?", value)
			for _, size := range []int64{0, 3} {
				if got, err := source.Take(t.Context(), segment.Request{Tag: tag, Size: size, AtLeast: 14}); !errors.Is(err, segment.ErrSetBack) && !errors.Is(err, segment.ErrSource) {
					t.Errorf("max_id %v: Take() = %+v, %v", value, got, err)
				}
			}
			if text := content(db); value == 5 && !strings.HasPrefix(text, "orders 5 ") {
				t.Errorf("the row was changed: %s", text)
			}
		}
	})
}

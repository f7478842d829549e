package orm

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	entsql "entgo.io/ent/dialect/sql"
	"github.com/jmoiron/sqlx"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/mysqldialect"
	"gorm.io/driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/ringuid/ringuid/examples/orm/bunorders"
	"github.com/ringuid/ringuid/examples/orm/entorders"
	"github.com/ringuid/ringuid/examples/orm/entorders/ent"
	"github.com/ringuid/ringuid/examples/orm/gormorders"
	"github.com/ringuid/ringuid/examples/orm/orders"
	"github.com/ringuid/ringuid/examples/orm/sqlxorders"
	"github.com/ringuid/ringuid/internal/testkit/mariadbtest"
	"github.com/ringuid/ringuid/internal/testkit/testserver"
	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign"
)

// row is an order of any of the examples.
type row struct {
	id     uid.ID
	parent *uid.ID
	item   string
	detail orders.Detail
	model  any // the order of the example, for its JSON
}

// store is one of the examples.
type store struct {
	insert   func(ctx context.Context, rows ...*row) error
	get      func(ctx context.Context, id uid.ID) (*row, error)
	parts    func(ctx context.Context, parent *uid.ID) ([]*row, error)
	notFound func(error) bool
}

// adapt returns a store for an example whose orders are of type New when they are inserted, and of type Old when they are read.
func adapt[New, Old any](insert func(context.Context, ...*New) error, get func(context.Context, uid.ID) (*Old, error),
	parts func(context.Context, *uid.ID) ([]*Old, error), notFound func(error) bool, toNew func(*row) *New, id func(*New) uid.ID, toRow func(*Old) *row) store {
	return store{
		insert: func(ctx context.Context, rows ...*row) error {
			list := make([]*New, len(rows))
			for i, r := range rows {
				list[i] = toNew(r)
			}
			err := insert(ctx, list...)
			for i, r := range rows {
				r.id = id(list[i])
			}
			return err
		},
		get: func(ctx context.Context, id uid.ID) (*row, error) {
			o, err := get(ctx, id)
			if err != nil {
				return nil, err
			}
			return toRow(o), nil
		},
		parts: func(ctx context.Context, parent *uid.ID) ([]*row, error) {
			list, err := parts(ctx, parent)
			rows := make([]*row, len(list))
			for i, o := range list {
				rows[i] = toRow(o)
			}
			return rows, err
		},
		notFound: notFound,
	}
}

func noRows(err error) bool { return errors.Is(err, sql.ErrNoRows) }

// stores returns all examples on one database, by name.
func stores(t *testing.T, db *sqlx.DB, ids uid.Generator) map[string]store {
	t.Helper()
	x := sqlxorders.New(db, ids)
	g, err := gormorders.New(openGORM(t, db), ids)
	if err != nil {
		t.Fatal(err)
	}
	b := bunorders.New(bun.NewDB(db.DB, mysqldialect.New()), ids)
	e := entorders.New(openEnt(db), ids)
	return map[string]store{
		"sqlx": adapt(x.Insert, x.Get, x.Parts, noRows,
			func(r *row) *sqlxorders.Order {
				return &sqlxorders.Order{ID: r.id, ParentID: r.parent, Item: r.item, Detail: sqlxorders.Detail(r.detail)}
			},
			func(o *sqlxorders.Order) uid.ID { return o.ID },
			func(o *sqlxorders.Order) *row {
				return &row{o.ID, o.ParentID, o.Item, orders.Detail(o.Detail), o}
			}),
		"gorm": adapt(g.Insert, g.Get, g.Parts, func(err error) bool { return errors.Is(err, gorm.ErrRecordNotFound) },
			func(r *row) *gormorders.Order {
				return &gormorders.Order{ID: r.id, ParentID: r.parent, Item: r.item, Detail: r.detail}
			},
			func(o *gormorders.Order) uid.ID { return o.ID },
			func(o *gormorders.Order) *row { return &row{o.ID, o.ParentID, o.Item, o.Detail, o} }),
		"bun": adapt(b.Insert, b.Get, b.Parts, noRows,
			func(r *row) *bunorders.Order {
				return &bunorders.Order{ID: r.id, ParentID: r.parent, Item: r.item, Detail: r.detail}
			},
			func(o *bunorders.Order) uid.ID { return o.ID },
			func(o *bunorders.Order) *row { return &row{o.ID, o.ParentID, o.Item, o.Detail, o} }),
		"ent": adapt(e.Insert, e.Get, e.Parts, ent.IsNotFound,
			func(r *row) *entorders.Order {
				return &entorders.Order{ID: r.id, ParentID: r.parent, Item: r.item, Detail: r.detail}
			},
			func(o *entorders.Order) uid.ID { return o.ID },
			func(o *ent.Order) *row { return &row{o.ID, o.ParentID, o.Item, o.Detail, o} }),
	}
}

func openGORM(t *testing.T, db *sqlx.DB) *gorm.DB {
	t.Helper()
	g, err := gorm.Open(mysql.New(mysql.Config{Conn: db.DB}), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func openEnt(db *sqlx.DB) *ent.Client {
	return ent.NewClient(ent.Driver(entsql.OpenDB("mysql", db.DB)))
}

// newGenerator returns a generator of UIDs beyond 2^53.
func newGenerator(t *testing.T) *uid.Cached {
	t.Helper()
	g, err := uid.NewCached(t.Context(), workerassign.NewFile(filepath.Join(t.TempDir(), "worker")), uid.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	return g
}

// createTable creates the table.
func createTable(t *testing.T, db *sqlx.DB) {
	t.Helper()
	script, err := os.ReadFile("schema.sql")
	if err != nil {
		t.Fatal(err)
	}
	testserver.RunScript(t, db, string(script))
}

// The examples store and read UIDs as keys, as foreign keys, and in JSON, on a real server. One server is for all tests.
func TestExamples(t *testing.T) {
	db, _ := mariadbtest.Connect(t)
	createTable(t, db)
	ids := newGenerator(t)
	for name, s := range stores(t, db, ids) {
		t.Run(name, func(t *testing.T) {
			for name, test := range map[string]func(*testing.T, *sqlx.DB, store, uid.Generator){
				"keys": testKeys, "null": testNull, "JSON": testJSON, "JSON column": testJSONColumn,
			} {
				t.Run(name, func(t *testing.T) {
					db.MustExec("DELETE FROM orders WHERE parent_id IS NOT NULL")
					db.MustExec("DELETE FROM orders")
					test(t, db, s, ids)
				})
			}
		})
	}
	t.Run("without keys", func(t *testing.T) { testWithoutKeys(t, db) })
	t.Run("gorm/associations", func(t *testing.T) { testAssociations(t, db, ids) })
	t.Run("gorm/migration", func(t *testing.T) { testGORMMigration(t, db) })
	t.Run("ent/migration", func(t *testing.T) { testEntMigration(t, db) })
	t.Run("closed", func(t *testing.T) { testClosed(t, db) })
}

// beyondFloat is the greatest number that a float64 holds together with both of its neighbors.
const beyondFloat = 1 << 53

// New rows get different keys, which are read again exactly. A key that was set is kept.
func testKeys(t *testing.T, db *sqlx.DB, s store, ids uid.Generator) {
	ctx := t.Context()
	rows := make([]*row, 101)
	for i := range rows {
		rows[i] = &row{item: fmt.Sprint("item ", i)}
	}
	own, err := ids.Next()
	if err != nil {
		t.Fatal(err)
	}
	rows[50].id = own
	if err := s.insert(ctx, rows[:1]...); err != nil {
		t.Fatal(err)
	}
	if err := s.insert(ctx, rows[1:]...); err != nil {
		t.Fatal(err)
	}
	if rows[50].id != own {
		t.Errorf("the key that was set is %d, and was %d", rows[50].id, own)
	}
	seen := map[uid.ID]bool{}
	for _, r := range rows {
		if r.id <= beyondFloat || seen[r.id] {
			t.Errorf("the key %d is not beyond 2^53, or not new", r.id)
		}
		seen[r.id] = true
		if got, err := s.get(ctx, r.id); err != nil || got.id != r.id || got.item != r.item {
			t.Errorf("the row with the key %d is %+v, %v; want %q", r.id, got, err, r.item)
		}
	}
	var inTable []uid.ID
	if err := db.Select(&inTable, "SELECT id FROM orders"); err != nil || len(inTable) != len(rows) {
		t.Errorf("%d rows, %v; want %d", len(inTable), err, len(rows))
	}
	for _, id := range inTable {
		if !seen[id] {
			t.Errorf("there is a row with the key %d", id)
		}
	}
	if _, err := s.get(ctx, own+1_000_000); !s.notFound(err) {
		t.Errorf("for a key that does not exist, the error is %v", err)
	}
	if err := s.insert(ctx, &row{id: own}); err == nil {
		t.Error("a key was inserted twice")
	}
}

// A foreign key is an ID or NULL, and refers to a row that exists.
func testNull(t *testing.T, db *sqlx.DB, s store, ids uid.Generator) {
	ctx := t.Context()
	parent := &row{item: "parent"}
	if err := s.insert(ctx, parent); err != nil {
		t.Fatal(err)
	}
	parts := []*row{{item: "a", parent: &parent.id}, {item: "b", parent: &parent.id}}
	if err := s.insert(ctx, parts...); err != nil {
		t.Fatal(err)
	}
	var null, equal int
	err := errors.Join(db.Get(&null, "SELECT COUNT(*) FROM orders WHERE parent_id IS NULL"),
		db.Get(&equal, "SELECT COUNT(*) FROM orders WHERE parent_id = ?", parent.id))
	if err != nil || null != 1 || equal != 2 {
		t.Errorf("the parent is NULL in %d rows, and %d in %d rows, %v; want 1 and 2", null, parent.id, equal, err)
	}
	if got, err := s.get(ctx, parent.id); err != nil || got.parent != nil {
		t.Errorf("the parent of the parent is %+v, %v; want nil", got, err)
	}
	for i, want := range map[*uid.ID][]*row{nil: {parent}, &parent.id: parts, &parts[0].id: nil} {
		got, err := s.parts(ctx, i)
		if err != nil || len(got) != len(want) {
			t.Errorf("%d orders are a part of %v, %v; want %d", len(got), i, err, len(want))
			continue
		}
		for n := range want {
			if got[n].id != want[n].id || (got[n].parent == nil) != (i == nil) || i != nil && *got[n].parent != *i {
				t.Errorf("part %d of %v is %+v, want %+v", n, i, got[n], want[n])
			}
		}
	}
	missing := parent.id + 1_000_000
	if err := s.insert(ctx, &row{item: "c", parent: &missing}); err == nil {
		t.Error("a parent that does not exist was accepted")
	}
}

// In JSON a key is a string, and one that is NULL is null or left out. What was written is read again exactly.
func testJSON(t *testing.T, db *sqlx.DB, s store, ids uid.Generator) {
	ctx := t.Context()
	parent := &row{item: "parent"}
	if err := s.insert(ctx, parent); err != nil {
		t.Fatal(err)
	}
	part := &row{item: "part", parent: &parent.id}
	if err := s.insert(ctx, part); err != nil {
		t.Fatal(err)
	}
	for _, want := range []*row{parent, part} {
		got, err := s.get(ctx, want.id)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(got.model)
		if err != nil {
			t.Fatal(err)
		}
		var plain map[string]any
		if err := json.Unmarshal(text, &plain); err != nil || plain["id"] != want.id.String() {
			t.Errorf("%s: the id is %v, want the text %d; %v", text, plain["id"], want.id, err)
		}
		if want.parent == nil && plain["parent_id"] != nil || want.parent != nil && plain["parent_id"] != want.parent.String() {
			t.Errorf("%s: the parent is %v, want %v", text, plain["parent_id"], want.parent)
		}
		// A program that writes numbers is understood, too.
		for _, text := range []string{string(text), fmt.Sprintf(`{"id":%d,"parent_id":%s}`, want.id, number(want.parent))} {
			var again struct {
				ID       uid.ID  `json:"id"`
				ParentID *uid.ID `json:"parent_id"`
			}
			if err := json.Unmarshal([]byte(text), &again); err != nil || again.ID != want.id || (again.ParentID == nil) != (want.parent == nil) ||
				want.parent != nil && *again.ParentID != *want.parent {
				t.Errorf("%s is read as %+v, %v", text, again, err)
			}
		}
	}
}

// number returns an ID as a JSON number, or null.
func number(id *uid.ID) string {
	if id == nil {
		return "null"
	}
	return fmt.Sprintf("%d", *id)
}

// In a JSON column an ID is a string or a number. Both are exact, in the program and in the database.
func testJSONColumn(t *testing.T, db *sqlx.DB, s store, ids uid.Generator) {
	ctx := t.Context()
	invoice, err := ids.Next()
	if err != nil {
		t.Fatal(err)
	}
	invoice |= 1 // so that a float64 does not hold it
	r := &row{item: "a", detail: orders.Detail{Invoice: invoice, Parcel: int64(invoice) + 2}}
	if err := s.insert(ctx, r); err != nil {
		t.Fatal(err)
	}
	var stored string
	if err := db.Get(&stored, "SELECT detail FROM orders WHERE id = ?", r.id); err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf(`{"invoice":"%d","parcel":%d}`, invoice, int64(invoice)+2); stored != want {
		t.Errorf("the column has %s, want %s", stored, want)
	}
	var inSQL struct{ Invoice, Parcel uid.ID }
	err = db.Get(&inSQL, "SELECT CAST(JSON_VALUE(detail, '$.invoice') AS SIGNED) AS invoice, CAST(JSON_VALUE(detail, '$.parcel') AS SIGNED) AS parcel FROM orders")
	if err != nil || inSQL.Invoice != invoice || inSQL.Parcel != invoice+2 {
		t.Errorf("in SQL they are %+v, %v; want %d and %d", inSQL, err, invoice, invoice+2)
	}
	for _, change := range []string{"", "UPDATE orders SET detail = JSON_OBJECT('invoice', ?, 'parcel', ?)"} { // numbers, from the database
		if change != "" {
			db.MustExec(change, invoice, invoice+2)
		}
		if got, err := s.get(ctx, r.id); err != nil || got.detail != r.detail {
			t.Errorf("after %q the detail is %+v, %v; want %+v", change, got, err, r.detail)
		}
	}
}

// GORM creates orders with their parts in one call, and each row gets a key.
func testAssociations(t *testing.T, db *sqlx.DB, ids uid.Generator) {
	g := openGORM(t, db)
	s, err := gormorders.New(g, ids)
	if err != nil {
		t.Fatal(err)
	}
	o := &gormorders.Order{Item: "whole", Parts: []*gormorders.Order{{Item: "a"}, {Item: "b"}}}
	if err := s.Insert(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	got, err := s.Get(t.Context(), o.ID)
	if err != nil || len(got.Parts) != 2 || got.Parts[0].ID == got.Parts[1].ID || *got.Parts[0].ParentID != o.ID || got.Parts[0].ID <= beyondFloat {
		t.Errorf("the order is %+v, %v; want two parts", got, err)
	}
	// Without a key, the server refuses the row.
	if err := g.Model(&gormorders.Order{}).Create(map[string]any{"item": "x", "detail": "{}"}).Error; err == nil {
		t.Error("a row without a key was inserted from a map")
	}
	if err := g.Model(&gormorders.Order{}).Create([]map[string]any{{"item": "x", "detail": "{}"}}).Error; err == nil {
		t.Error("a row without a key was inserted from a list of maps")
	}
}

// Where nothing sets the keys, the table refuses the rows: of 0 from GORM and bun, and without a key from ent.
func testWithoutKeys(t *testing.T, db *sqlx.DB) {
	_, bunErr := bun.NewDB(db.DB, mysqldialect.New()).NewInsert().Model(&bunorders.Order{Item: "x"}).Exec(t.Context())
	for text, err := range map[string]error{
		"`orders_id` failed":   openGORM(t, db).Create(&gormorders.Order{Item: "x"}).Error,
		"orders_id":            bunErr,
		"'id' doesn't have a ": openEnt(db).Order.Create().SetItem("x").SetDetail(orders.Detail{}).Exec(t.Context()),
	} {
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("the error is %v, want one with %s", err, text)
		}
	}
}

// The migrations of GORM and ent create keys of 64 bits that the server does not generate.
func testGORMMigration(t *testing.T, db *sqlx.DB) {
	db.MustExec("DROP TABLE orders")
	if err := openGORM(t, db).AutoMigrate(&gormorders.Order{}); err != nil {
		t.Fatal(err)
	}
	checkColumns(t, db)
}

func testEntMigration(t *testing.T, db *sqlx.DB) {
	db.MustExec("DROP TABLE orders")
	if err := openEnt(db).Schema.Create(t.Context()); err != nil {
		t.Fatal(err)
	}
	checkColumns(t, db)
}

// checkColumns checks the key and the foreign key of the table.
func checkColumns(t *testing.T, db *sqlx.DB) {
	t.Helper()
	var columns []struct {
		Name     string `db:"COLUMN_NAME"`
		Type     string `db:"DATA_TYPE"`
		Nullable string `db:"IS_NULLABLE"`
		Extra    string `db:"EXTRA"`
	}
	err := db.Select(&columns, `SELECT COLUMN_NAME, DATA_TYPE, IS_NULLABLE, EXTRA FROM information_schema.COLUMNS
		WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'orders' AND COLUMN_NAME IN ('id', 'parent_id') ORDER BY COLUMN_NAME`)
	if err != nil || len(columns) != 2 {
		t.Fatalf("the columns are %+v, %v", columns, err)
	}
	for i, nullable := range []string{"NO", "YES"} {
		if c := columns[i]; c.Type != "bigint" || c.Nullable != nullable || c.Extra != "" {
			t.Errorf("the column %+v must be a bigint without AUTO_INCREMENT; nullable: %s", c, nullable)
		}
	}
}

// Without UIDs nothing is inserted, and the error says why.
func testClosed(t *testing.T, db *sqlx.DB) {
	db.MustExec("DROP TABLE orders")
	createTable(t, db)
	ids := newGenerator(t)
	all := stores(t, db, ids)
	ids.Close()
	for name, s := range all {
		if err := s.insert(t.Context(), &row{item: "x"}); !errors.Is(err, uid.ErrClosed) {
			t.Errorf("%s: with a generator that is closed, the error is %v", name, err)
		}
	}
	var n int
	if err := db.Get(&n, "SELECT COUNT(*) FROM orders"); err != nil || n != 0 {
		t.Errorf("%d rows, %v; want none", n, err)
	}
}

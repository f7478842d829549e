// Package bunorders stores orders with bun.
package bunorders

import (
	"context"

	"github.com/uptrace/bun"

	"github.com/ringuid/ringuid/examples/orm/orders"
	"github.com/ringuid/ringuid/uid"
)

// Order is a row.
type Order struct {
	bun.BaseModel `bun:"table:orders"`

	ID       uid.ID        `bun:"id,pk" json:"id"`
	ParentID *uid.ID       `bun:"parent_id" json:"parent_id"` // nil is NULL, and null in JSON
	Item     string        `bun:"item" json:"item"`
	Detail   orders.Detail `bun:"detail,type:json" json:"detail"`
}

// Store stores orders. It is safe for concurrent use.
type Store struct {
	db  *bun.DB
	ids uid.Generator
}

// New returns a Store that takes the keys of orders from ids.
func New(db *bun.DB, ids uid.Generator) *Store { return &Store{db, ids} }

// Insert inserts orders, and sets the ID of those that have none. A hook of a model (bun.BeforeAppendModelHook) would do
// the same, but has no place for a generator other than a global variable.
func (s *Store) Insert(ctx context.Context, list ...*Order) error {
	for _, o := range list {
		if o.ID.IsZero() {
			var err error
			if o.ID, err = s.ids.NextContext(ctx); err != nil {
				return err
			}
		}
	}
	_, err := s.db.NewInsert().Model(&list).Exec(ctx)
	return err
}

// Get returns an order, or sql.ErrNoRows.
func (s *Store) Get(ctx context.Context, id uid.ID) (*Order, error) {
	o := new(Order)
	return o, s.db.NewSelect().Model(o).Where("id = ?", id).Scan(ctx)
}

// Parts returns the orders that are a part of another one, in the order of their keys; with nil those that are not.
func (s *Store) Parts(ctx context.Context, parent *uid.ID) (list []*Order, err error) {
	err = s.db.NewSelect().Model(&list).Where("parent_id <=> ?", parent).Order("id").Scan(ctx)
	return list, err
}

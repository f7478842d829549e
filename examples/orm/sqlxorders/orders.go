// Package sqlxorders stores orders with sqlx.
package sqlxorders

import (
	"context"

	"github.com/jmoiron/sqlx"

	"github.com/ringuid/ringuid/uid"
)

// Order is a row.
type Order struct {
	ID       uid.ID  `db:"id" json:"id"`
	ParentID *uid.ID `db:"parent_id" json:"parent_id"` // nil is NULL, and null in JSON
	Item     string  `db:"item" json:"item"`
	Detail   Detail  `db:"detail" json:"detail"`
}

// Store stores orders. It is safe for concurrent use.
type Store struct {
	db  *sqlx.DB
	ids uid.Generator
}

// New returns a Store that takes the keys of orders from ids.
func New(db *sqlx.DB, ids uid.Generator) *Store { return &Store{db, ids} }

// Insert inserts orders, and sets the ID of those that have none.
func (s *Store) Insert(ctx context.Context, list ...*Order) error {
	for _, o := range list {
		if o.ID.IsZero() {
			var err error
			if o.ID, err = s.ids.NextContext(ctx); err != nil {
				return err
			}
		}
	}
	_, err := s.db.NamedExecContext(ctx, "INSERT INTO orders (id, parent_id, item, detail) VALUES (:id, :parent_id, :item, :detail)", list)
	return err
}

// Get returns an order, or sql.ErrNoRows.
func (s *Store) Get(ctx context.Context, id uid.ID) (*Order, error) {
	o := new(Order)
	return o, s.db.GetContext(ctx, o, "SELECT id, parent_id, item, detail FROM orders WHERE id = ?", id)
}

// Parts returns the orders that are a part of another one, in the order of their keys; with nil those that are not.
func (s *Store) Parts(ctx context.Context, parent *uid.ID) (list []*Order, err error) {
	err = s.db.SelectContext(ctx, &list, "SELECT id, parent_id, item, detail FROM orders WHERE parent_id <=> ? ORDER BY id", parent)
	return list, err
}

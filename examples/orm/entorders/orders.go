// Package entorders stores orders with ent. SetKeys is a hook that sets the primary keys of new rows; the mixin
// schema.UID declares them.
package entorders

import (
	"context"

	entgo "entgo.io/ent"

	"github.com/ringuid/ringuid/examples/orm/entorders/ent"
	"github.com/ringuid/ringuid/examples/orm/entorders/ent/order"
	"github.com/ringuid/ringuid/examples/orm/orders"
	"github.com/ringuid/ringuid/uid"
)

// SetKeys returns a hook that sets the key of new rows, if it is a uid.ID and was not set:
//
//	client.Use(entorders.SetKeys(g))
func SetKeys(ids uid.Generator) entgo.Hook {
	return func(next entgo.Mutator) entgo.Mutator {
		return entgo.MutateFunc(func(ctx context.Context, m entgo.Mutation) (entgo.Value, error) {
			row, ok := m.(interface {
				ID() (id uid.ID, exists bool)
				SetID(id uid.ID)
			})
			if ok && m.Op().Is(entgo.OpCreate) {
				if _, exists := row.ID(); !exists {
					id, err := ids.NextContext(ctx)
					if err != nil {
						return nil, err
					}
					row.SetID(id)
				}
			}
			return next.Mutate(ctx, m)
		})
	}
}

// Order is a new row.
type Order struct {
	ID       uid.ID // 0: SetKeys sets it
	ParentID *uid.ID
	Item     string
	Detail   orders.Detail
}

// Store stores orders. It is safe for concurrent use.
type Store struct{ client *ent.Client }

// New returns a Store that takes the keys of orders from ids.
func New(client *ent.Client, ids uid.Generator) *Store {
	client.Use(SetKeys(ids))
	return &Store{client}
}

// Insert inserts orders, and sets the ID of those that have none.
func (s *Store) Insert(ctx context.Context, list ...*Order) error {
	builders := make([]*ent.OrderCreate, len(list))
	for i, o := range list {
		builders[i] = s.client.Order.Create().SetItem(o.Item).SetDetail(o.Detail).SetNillableParentID(o.ParentID)
		if !o.ID.IsZero() {
			builders[i].SetID(o.ID)
		}
	}
	rows, err := s.client.Order.CreateBulk(builders...).Save(ctx)
	if err != nil {
		return err
	}
	for i, row := range rows {
		list[i].ID = row.ID
	}
	return nil
}

// Get returns an order, or an error for which ent.IsNotFound is true.
func (s *Store) Get(ctx context.Context, id uid.ID) (*ent.Order, error) {
	return s.client.Order.Get(ctx, id)
}

// Parts returns the orders that are a part of another one, in the order of their keys; with nil those that are not.
func (s *Store) Parts(ctx context.Context, parent *uid.ID) ([]*ent.Order, error) {
	where := order.ParentIDIsNil()
	if parent != nil {
		where = order.ParentID(*parent)
	}
	return s.client.Order.Query().Where(where).Order(order.ByID()).All(ctx)
}

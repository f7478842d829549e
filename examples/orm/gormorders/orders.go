package gormorders

import (
	"context"

	"gorm.io/gorm"

	"github.com/ringuid/ringuid/examples/orm/orders"
	"github.com/ringuid/ringuid/uid"
)

// Order is a row. Without autoIncrement:false, GORM takes the key for one that the database generates.
type Order struct {
	ID       uid.ID        `gorm:"primaryKey;autoIncrement:false" json:"id"`
	ParentID *uid.ID       `json:"parent_id"` // nil is NULL, and null in JSON
	Parts    []*Order      `gorm:"foreignKey:ParentID" json:"-"`
	Item     string        `json:"item"`
	Detail   orders.Detail `gorm:"serializer:json" json:"detail"`
}

// Store stores orders. It is safe for concurrent use.
type Store struct{ db *gorm.DB }

// New returns a Store that takes the keys of orders from ids.
func New(db *gorm.DB, ids uid.Generator) (*Store, error) { return &Store{db}, db.Use(Plugin{ids}) }

// Insert inserts orders and their parts, and sets the ID of those that have none.
func (s *Store) Insert(ctx context.Context, list ...*Order) error {
	return s.db.WithContext(ctx).Create(list).Error
}

// Get returns an order with its parts, or gorm.ErrRecordNotFound.
func (s *Store) Get(ctx context.Context, id uid.ID) (*Order, error) {
	o := new(Order)
	return o, s.db.WithContext(ctx).Preload("Parts").First(o, id).Error
}

// Parts returns the orders that are a part of another one, in the order of their keys; with nil those that are not.
func (s *Store) Parts(ctx context.Context, parent *uid.ID) (list []*Order, err error) {
	err = s.db.WithContext(ctx).Where("parent_id <=> ?", parent).Order("id").Find(&list).Error
	return list, err
}

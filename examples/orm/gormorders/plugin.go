// Package gormorders stores orders with GORM. Its Plugin sets the primary keys of new rows.
package gormorders

import (
	"context"
	"fmt"
	"reflect"

	"gorm.io/gorm"

	"github.com/ringuid/ringuid/uid"
)

// Plugin sets the primary key of new rows, and of rows that are created together with them, if it is a uid.ID and 0. It is for
// models that are structs. A row that is created from a map must have its key.
//
//	err := db.Use(gormorders.Plugin{IDs: g})
type Plugin struct{ IDs uid.Generator }

// Name implements gorm.Plugin.
func (Plugin) Name() string { return "ringuid" }

// Initialize implements gorm.Plugin.
func (p Plugin) Initialize(db *gorm.DB) error {
	return db.Callback().Create().Before("gorm:before_create").Register("ringuid:set_primary_keys", p.setKeys)
}

// setKeys sets the keys of the rows that a statement creates.
func (p Plugin) setKeys(db *gorm.DB) {
	if db.Error != nil || db.Statement.Schema == nil {
		return
	}
	key := db.Statement.Schema.PrioritizedPrimaryField
	if key == nil || key.FieldType != reflect.TypeFor[uid.ID]() {
		return
	}
	set := func(row reflect.Value) error {
		row = reflect.Indirect(row)
		if _, isZero := key.ValueOf(db.Statement.Context, row); !isZero {
			return nil
		}
		id, err := p.next(db.Statement.Context)
		if err != nil {
			return err
		}
		return key.Set(db.Statement.Context, row, id)
	}
	switch rows := db.Statement.ReflectValue; rows.Kind() {
	case reflect.Struct:
		db.AddError(set(rows))
	case reflect.Slice, reflect.Array:
		for i := range rows.Len() {
			if reflect.Indirect(rows.Index(i)).Kind() != reflect.Struct {
				return // maps
			}
			if db.AddError(set(rows.Index(i))) != nil {
				return
			}
		}
	}
}

func (p Plugin) next(ctx context.Context) (uid.ID, error) {
	if p.IDs == nil {
		return 0, fmt.Errorf("gormorders: Plugin.IDs is nil; must be a generator")
	}
	return p.IDs.NextContext(ctx)
}

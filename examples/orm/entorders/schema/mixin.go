// Package schema has the schema of the example of ent. The package entorders/ent is generated from it.
package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/mixin"

	"github.com/ringuid/ringuid/uid"
)

// UID is a mixin for entities whose key is a uid.ID, which the database does not generate. The hook
// entorders.SetKeys sets it.
type UID struct{ mixin.Schema }

// Fields implements ent.Mixin.
func (UID) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("id").GoType(uid.ID(0)).Positive().Immutable().Annotations(entsql.Annotation{Incremental: new(bool)}),
	}
}

package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"

	"github.com/ringuid/ringuid/examples/orm/orders"
	"github.com/ringuid/ringuid/uid"
)

// Order is the schema of a row.
type Order struct{ ent.Schema }

// Mixin implements ent.Interface.
func (Order) Mixin() []ent.Mixin { return []ent.Mixin{UID{}} }

// Fields implements ent.Interface.
func (Order) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("parent_id").GoType(uid.ID(0)).Optional().Nillable(), // nil is NULL
		field.String("item"),
		field.JSON("detail", orders.Detail{}),
	}
}

// Edges implements ent.Interface.
func (Order) Edges() []ent.Edge {
	return []ent.Edge{edge.To("parts", Order.Type).From("parent").Unique().Field("parent_id")}
}

// Annotations implements ent.Interface.
func (Order) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Annotation{Table: "orders"}}
}

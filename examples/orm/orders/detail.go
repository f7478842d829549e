// Package orders has what the examples share: the content of a JSON column.
package orders

import "github.com/ringuid/ringuid/uid"

// Detail is the content of the column detail.
type Detail struct {
	// Invoice is a string in JSON, so that programs in JavaScript, which round numbers beyond 2^53, read it too. An ID
	// also reads a JSON number.
	Invoice uid.ID `json:"invoice"`

	// Parcel is a number in JSON, for readers that expect that. An int64 holds any ID.
	Parcel int64 `json:"parcel"`
}

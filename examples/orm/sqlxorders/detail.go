package sqlxorders

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"

	"github.com/ringuid/ringuid/examples/orm/orders"
)

// Detail is a JSON column. Package database/sql does not encode JSON, so it has the methods for that.
type Detail orders.Detail

// Value implements driver.Valuer.
func (d Detail) Value() (driver.Value, error) {
	text, err := json.Marshal(d)
	return string(text), err
}

// Scan implements sql.Scanner.
func (d *Detail) Scan(src any) error {
	switch text := src.(type) {
	case []byte:
		return json.Unmarshal(text, d)
	case string:
		return json.Unmarshal([]byte(text), d)
	}
	return fmt.Errorf("sqlxorders: the column detail is a %T; must be JSON", src)
}

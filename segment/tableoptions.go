package segment

import (
	"fmt"
	"time"

	"github.com/ringuid/ringuid/internal/sqlattempt"
)

// DefaultTable is the name of the table of Leaf.
const DefaultTable = "leaf_alloc"

// DefaultAttemptTimeout bounds one attempt of a method of Table, see WithAttemptTimeout.
const DefaultAttemptTimeout = 10 * time.Second

// A TableOption configures a Table. If its value is invalid, the methods of the Table return an error that wraps
// ErrOption.
type TableOption interface{ applyTable(*tableConfig) }

type tableOption func(*tableConfig)

func (o tableOption) applyTable(c *tableConfig) { o(c) }

type tableConfig struct {
	table          string
	server         string // of WithServerName
	attemptTimeout time.Duration
	err            error // the error of the first invalid option
}

func (c *tableConfig) setError(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf("%w: "+format, append([]any{ErrOption}, args...)...)
	}
}

// WithTable sets the name of the table: "table" or "database.table", on PostgreSQL "table" or "schema.table". The
// default is DefaultTable. The name is quoted, so every name that the server accepts is allowed, except names that
// contain a dot.
func WithTable(name string) TableOption {
	return tableOption(func(c *tableConfig) {
		if _, err := sqlattempt.QuoteMySQL(name); err != nil {
			c.setError("%v", err)
			return
		}
		c.table = name
	})
}

// WithServerName sets what errors, log records and metrics call the server, for example "db:3306", the address in the DSN.
// It must not contain a password. Many errors of drivers do not say which server they are about. The stripes of a Group
// are told apart by their index; the name says which server that is.
func WithServerName(name string) TableOption {
	return tableOption(func(c *tableConfig) { c.server = name })
}

// WithAttemptTimeout sets after what time an attempt fails that the server has not answered. It must be more than 0.
// The default is DefaultAttemptTimeout. If the connections of a pool are lost, a method makes several attempts.
func WithAttemptTimeout(d time.Duration) TableOption {
	return tableOption(func(c *tableConfig) {
		if d <= 0 {
			c.setError("the timeout of an attempt is %v; must be more than 0", d)
			return
		}
		c.attemptTimeout = d
	})
}

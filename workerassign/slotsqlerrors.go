package workerassign

import (
	"fmt"
	"time"

	"github.com/ringuid/ringuid/internal/sqlstore"
)

// Error implements error.
func (f *slotFailure) Error() string { return f.err.Error() }

// Unwrap returns the error of the driver.
func (f *slotFailure) Unwrap() error { return f.err }

// permanentSlotFailure returns an error that another try would not fix.
func permanentSlotFailure(err error, advice string) error {
	return &slotFailure{failure: failure{err: err, action: sqlstore.Stop, advice: advice}}
}

// slotTimeoutError reports that a call ended before the server answered. It does not wrap the error of the
// call's context, because the caller does not know that context.
type slotTimeoutError struct {
	elapsed time.Duration
	err     error // the error of the driver
}

// Error implements error.
func (e *slotTimeoutError) Error() string {
	return fmt.Sprintf("no answer within %v (%v)", e.elapsed.Round(time.Millisecond), e.err)
}

// slotAdvice returns the advice for slot tables, where it differs from the one for Disposable's table.
func slotAdvice(advice string) string {
	switch advice {
	case adviceTable:
		return "a table does not exist: apply schema.sql, or set the tables' names by WithSlotTables"
	case adviceGrant:
		return "the account lacks a privilege: grant it those in schema.sql under PRIVILEGES ON SLOTS"
	case adviceAccess:
		return "the account may not use this database: check the database's name in the DSN, or grant the account the privileges in schema.sql"
	case adviceColumns, adviceKey:
		return "a table has the wrong columns: compare its columns with schema.sql"
	case adviceTablePostgres, adviceSchemaPostgres:
		return "a table does not exist: apply schema.postgres.sql in the database of the DSN, set the tables' names by WithSlotTables, or check search_path"
	case adviceGrantPostgres:
		return "the account lacks a privilege: grant it those in schema.postgres.sql under PRIVILEGES ON SLOTS"
	case adviceColumnsPostgres, adviceKeyPostgres:
		return "a table has the wrong columns: compare its columns with schema.postgres.sql"
	}
	return advice
}

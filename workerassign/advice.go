package workerassign

import "github.com/ringuid/ringuid/internal/sqlstore"

// The advice in errors and log records that depends on the table of Disposable: what to do, or what to check if the
// error persists.
const (
	adviceUnknown       = "trying again would not help: correct the cause and start again"
	adviceTable         = "the table does not exist: apply schema.sql, or set the table's name by WithTable"
	adviceAccess        = "the account may not use this database: check the database's name in the DSN, or grant the account INSERT on the table"
	adviceGrant         = "the account lacks a privilege: grant it INSERT on the table"
	adviceColumns       = "the table has the wrong columns: compare its columns with schema.sql"
	adviceKey           = "if this persists, the key's AUTO_INCREMENT is exhausted or wrong: see HOW MANY ARE LEFT in schema.sql, and never lower it"
	adviceClosed        = "the pool was closed: close it only after the generators that use it"
	adviceTablePostgres = "the table does not exist: apply schema.postgres.sql in the database of the DSN, " +
		"set the table's name by WithTable, or check search_path"
	adviceSchemaPostgres  = "the schema does not exist: apply schema.postgres.sql, or set the table's name by WithTable"
	adviceGrantPostgres   = "the account lacks a privilege: grant it INSERT on the table and SELECT on its column id, as schema.postgres.sql describes"
	adviceColumnsPostgres = "the table has the wrong columns: compare its columns with schema.postgres.sql"
	adviceKeyPostgres     = "if this persists, the column's sequence is exhausted or was set back: see AFTER A FAILOVER OR A RESTORED BACKUP " +
		"and HOW MANY ARE LEFT in schema.postgres.sql"
	adviceEncodingPostgres = "the database's encoding lacks a character of the host name: use a database with the encoding UTF8, or WithNode"
)

// insertAdvice returns the advice for the table of Disposable. See also slotAdvice.
func insertAdvice() sqlstore.Advice {
	return sqlstore.Advice{
		Unknown:          adviceUnknown,
		Table:            adviceTable,
		Access:           adviceAccess,
		Grant:            adviceGrant,
		Columns:          adviceColumns,
		Key:              adviceKey,
		Closed:           adviceClosed,
		TablePostgres:    adviceTablePostgres,
		SchemaPostgres:   adviceSchemaPostgres,
		GrantPostgres:    adviceGrantPostgres,
		ColumnsPostgres:  adviceColumnsPostgres,
		KeyPostgres:      adviceKeyPostgres,
		EncodingPostgres: adviceEncodingPostgres,
	}
}

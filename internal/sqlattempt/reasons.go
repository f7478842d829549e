package sqlattempt

import "strings"

// A Reason is why a call of a database has failed. Its text is the advice in errors and log records: what to do, or what to check if
// the error persists. Some texts are for the table of worker IDs: see Advice.
type Reason string

const (
	ReasonUnknown         Reason = "correct the cause: a running program then continues by itself; start one again that failed to start"
	ReasonDatabase        Reason = "the database does not exist: name an existing one in the DSN"
	ReasonAccount         Reason = "the server refused the account: check user, password and host in the DSN"
	ReasonAccountPostgres Reason = "the server refused the account: check user, password and database in the DSN, and the " +
		"server's pg_hba.conf"
	ReasonHost     Reason = "the server does not accept this host: check the account's host part, or unblock the host"
	ReasonReadOnly Reason = "the server is read-only: if this persists, point the DSN at the primary (with " +
		"rejectReadOnly=true in the DSN, go-sql-driver/mysql closes connections to read-only servers, for all statements)"
	ReasonReadOnlyPostgres Reason = "the server is a standby or read-only: if this persists, point the DSN at the primary " +
		"(list all servers as hosts in the DSN, with target_session_attrs=read-write)"
	ReasonGalera   Reason = "the node is not part of its Galera cluster: check the cluster, or point the DSN at another node"
	ReasonBusy     Reason = "if this persists, check the load and the limits of the server"
	ReasonDown     Reason = "the server is shutting down or not ready: if this persists, check that it runs"
	ReasonConflict Reason = "the statement conflicts with other statements: if this persists, check what locks the table"
	ReasonLost     Reason = "the connection was lost: if this persists, check the server's log, proxies and timeouts"
	ReasonDropped  Reason = "the driver closed the connection: the server closed it, or the server is read-only and the DSN " +
		"has rejectReadOnly=true, or a connection pooler is in statement mode (pool_mode of PgBouncer), which must be " +
		"transaction or session"
	ReasonTiDB     Reason = "if this persists, check the state of TiDB, PD and TiKV, or of the servers behind ProxySQL"
	ReasonNoAnswer Reason = "check host and port in the DSN, that no firewall drops the packets, and that the server is not " +
		"overloaded or paused"
	ReasonLocked Reason = "check what locks the table (SHOW FULL PROCESSLIST), and that the server, the network and proxies " +
		"are not overloaded or paused"
	ReasonLockedPostgres Reason = "check what locks the table (pg_stat_activity and pg_locks), whether the commit waits for " +
		"a synchronous standby (pg_stat_replication), and that the server, the network and proxies are not overloaded or paused"
	ReasonPool             Reason = "all connections of the pool are in use: close them sooner, or raise the limit of SetMaxOpenConns"
	ReasonRefused          Reason = "check host and port in the DSN, and that the server runs and listens there"
	ReasonHostName         Reason = "the host name does not exist: check the host in the DSN, and the name server"
	ReasonNetwork          Reason = "check the host in the DSN, the name server and the network"
	ReasonTLS              Reason = "the TLS settings do not match the server's: check tls in the DSN and the certificates"
	ReasonTLSPostgres      Reason = "the TLS settings do not match the server's: check sslmode in the DSN and the certificates"
	ReasonAuth             Reason = "the server requires an authentication method that the DSN does not allow"
	ReasonSystem           Reason = "the operating system does not let this process reach the server"
	ReasonPreparedPostgres Reason = "a connection pooler has mixed up prepared statements: with pgx, add " +
		"default_query_exec_mode=exec to the DSN"
	ReasonPoolModePostgres Reason = "the connection pooler is in statement mode (pool_mode of PgBouncer), which has no " +
		"transactions: set it to transaction or session"
	ReasonDiskPostgres    Reason = "the server has a problem with its disk: if this persists, see the server's log"
	ReasonClosed          Reason = "the pool was closed: close it only after the generators and sequences that use it"
	ReasonOpenTransaction Reason = "commit or roll back whatever begins a transaction, also with db.Exec(\"BEGIN\")"

	// These are different for other tables: see Advice.
	ReasonTable         Reason = "the table does not exist: apply schema.sql, unless the table was lost (see doc/runbook.md, A backup was restored), or set the table's name by WithTable"
	ReasonTablePostgres Reason = "the table does not exist: apply schema.postgres.sql in the database of the DSN, unless the table was lost (see doc/runbook.md, A backup was restored), set the " +
		"table's name by WithTable, or check search_path"
	ReasonSchemaPostgres Reason = "the schema does not exist: apply schema.postgres.sql, unless the table was lost (see doc/runbook.md, A backup was restored), or set the table's name by WithTable"
	ReasonAccess         Reason = "the account may not use this database: check the database's name in the DSN, or grant the account " +
		"INSERT on the table"
	ReasonGrant         Reason = "the account lacks a privilege: grant it INSERT on the table"
	ReasonGrantPostgres Reason = "the account lacks a privilege: grant it INSERT on the table and SELECT on its column id, " +
		"as schema.postgres.sql describes"
	ReasonColumns         Reason = "the table has the wrong columns: compare its columns with schema.sql"
	ReasonColumnsPostgres Reason = "the table has the wrong columns: compare its columns with schema.postgres.sql"
	ReasonKey             Reason = "if this persists, the key's AUTO_INCREMENT is exhausted or wrong: see HOW MANY ARE LEFT in " +
		"schema.sql, and never lower it"
	ReasonKeyPostgres Reason = "if this persists, the column's sequence is exhausted or was set back: see AFTER A FAILOVER " +
		"OR A RESTORED BACKUP and HOW MANY ARE LEFT in schema.postgres.sql"
	ReasonEncodingPostgres Reason = "the database's encoding lacks a character of the host name: use a database with the " +
		"encoding UTF8, or WithNode"

	// Of Disposable only.
	ReasonNoKeys            Reason = "use a driver that returns generated keys, such as go-sql-driver/mysql"
	ReasonKeyColumn         Reason = "the column ID must be BIGINT AUTO_INCREMENT, as in schema.sql"
	ReasonKeyColumnPostgres Reason = "the column id must be BIGINT GENERATED ALWAYS AS IDENTITY, as in schema.postgres.sql"
	ReasonTooLow            Reason = "the table's counter went back, for example after a failover that lost rows or after restoring a " +
		"backup: raise it above all assigned worker IDs, as described in schema.sql under AFTER A FAILOVER OR A RESTORED BACKUP"
	ReasonTooLowPostgres Reason = "the table's counter went back, for example after a failover that lost rows or after " +
		"restoring a backup: raise it above all assigned worker IDs, as described in schema.postgres.sql under AFTER A " +
		"FAILOVER OR A RESTORED BACKUP"
	ReasonVerificationPostgres Reason = "use recycled worker IDs (recycled.New with sqlstore.New) instead"
	ReasonLook                 Reason = "grant the account SELECT on the columns ID and PORT, as described in schema.sql under VERIFIED " +
		"WORKER IDS"

	// Of slot tables only.
	ReasonTableNames Reason = "set the tables' names by WithPoolTables"
	ReasonSettings   Reason = "correct that on the server, as schema.sql describes"
	ReasonHistory    Reason = "change the settings as described in schema.sql or schema.postgres.sql under DURABILITY, or do " +
		"not use WithHistory"
)

// A Use is what a package uses a database for.
type Use int

const (
	Inserts Use = iota // workerassign.Disposable
	Slots              // the pool of a sqlstore.Store
	Tags               // its tags
)

// Advice returns what to do about a reason, or what to check if the error persists.
func (r Reason) Advice(u Use) string {
	if text, ok := adviceOf(u)[r]; ok {
		return text
	}
	if u == Tags {
		return strings.Replace(string(r), "WithTable", "WithTagTable", 1)
	}
	return string(r)
}

// adviceOf returns the advice of a use where it differs from the text of the reason.
func adviceOf(u Use) map[Reason]string {
	switch u {
	case Slots:
		return map[Reason]string{
			ReasonTable: "a table does not exist: apply schema.sql, unless the table was lost (see doc/runbook.md, A backup was restored), or set the tables' names by WithPoolTables",
			ReasonTablePostgres: "a table does not exist: apply schema.postgres.sql in the database of the DSN, unless the table was lost (see doc/runbook.md, A backup was restored), set the tables' " +
				"names by WithPoolTables, or check search_path",
			ReasonSchemaPostgres: "the schema does not exist: apply schema.postgres.sql, unless the table was lost (see doc/runbook.md, A backup was restored), or set the tables' names by WithPoolTables",
			ReasonAccess: "the account may not use this database: check the database's name in the DSN, or grant the account the " +
				"privileges in schema.sql under PRIVILEGES ON SLOTS",
			ReasonGrant:            "the account lacks a privilege: grant it those in schema.sql under PRIVILEGES ON SLOTS",
			ReasonGrantPostgres:    "the account lacks a privilege: grant it those in schema.postgres.sql under PRIVILEGES ON SLOTS",
			ReasonColumns:          "a table has the wrong columns: compare its columns with schema.sql",
			ReasonColumnsPostgres:  "a table has the wrong columns: compare its columns with schema.postgres.sql",
			ReasonKey:              "a table has the wrong columns: compare its columns with schema.sql",
			ReasonKeyPostgres:      "a table has the wrong columns: compare its columns with schema.postgres.sql",
			ReasonEncodingPostgres: "the database's encoding lacks a character of a name: use a database with the encoding UTF8",
		}
	case Tags:
		return map[Reason]string{
			ReasonAccess: "the account may not use this database: check the database's name in the DSN, or grant the account the " +
				"privileges in schema.sql under PRIVILEGES ON TAGS",
			ReasonGrant:         "the account lacks a privilege: grant it those in schema.sql under PRIVILEGES ON TAGS",
			ReasonGrantPostgres: "the account lacks a privilege: grant it those in schema.postgres.sql under PRIVILEGES ON TAGS",
			ReasonKey:           "the table has the wrong columns, max_id must be BIGINT: compare its columns with schema.sql",
			ReasonKeyPostgres:   "the table has the wrong columns, max_id must be BIGINT: compare its columns with schema.postgres.sql",
			ReasonEncodingPostgres: "the database's encoding lacks a character of the tag or its description: use a database with " +
				"the encoding UTF8, or another name",
		}
	}
	return nil
}

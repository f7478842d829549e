package sqlstore

// The advice in errors and log records: what to do, or what to check if the error persists.
const (
	AdviceDatabase = "the database does not exist: name an existing one in the DSN"
	AdviceAccount  = "the server refused the account: check user, password and host in the DSN"
	AdviceHost     = "the server does not accept this host: check the account's host part, or unblock the host"
	AdviceReadOnly = "the server is read-only: if this persists, point the DSN at the primary (with rejectReadOnly=true in the DSN, " +
		"go-sql-driver/mysql closes connections to read-only servers, for all statements)"
	AdviceGalera   = "the node is not part of its Galera cluster: check the cluster, or point the DSN at another node"
	AdviceBusy     = "if this persists, check the load and the limits of the server"
	AdviceDown     = "the server is shutting down or not ready: if this persists, check that it runs"
	AdviceConflict = "the statement conflicts with other statements: if this persists, check what locks the table"
	AdviceLost     = "the connection was lost: if this persists, check the server's log, proxies and timeouts"
	AdviceDropped  = "the driver closed the connection: the server closed it, or the server is read-only and the DSN has rejectReadOnly=true, " +
		"or a connection pooler is in statement mode (pool_mode of PgBouncer), which must be transaction or session"
	AdviceTiDB             = "if this persists, check the state of TiDB, PD and TiKV"
	AdviceNoAnswer         = "check host and port in the DSN, that no firewall drops the packets, and that the server is not overloaded or paused"
	AdviceLocked           = "check what locks the table (SHOW FULL PROCESSLIST), and that the server, the network and proxies are not overloaded or paused"
	AdvicePool             = "all connections of the pool are in use: close them sooner, or raise the limit of SetMaxOpenConns"
	AdviceRefused          = "check host and port in the DSN, and that the server runs and listens there"
	AdviceHostName         = "the host name does not exist: check the host in the DSN, and the name server"
	AdviceNetwork          = "check the host in the DSN, the name server and the network"
	AdviceTLS              = "the TLS settings do not match the server's: check tls in the DSN and the certificates"
	AdviceAuth             = "the server requires an authentication method that the DSN does not allow"
	AdviceSystem           = "the operating system does not let this process reach the server"
	AdviceAccountPostgres  = "the server refused the account: check user, password and database in the DSN, and the server's pg_hba.conf"
	AdviceReadOnlyPostgres = "the server is a standby or read-only: if this persists, point the DSN at the primary " +
		"(list all servers as hosts in the DSN, with target_session_attrs=read-write)"
	AdviceLockedPostgres = "check what locks the table (pg_stat_activity and pg_locks), whether the commit waits for a synchronous standby " +
		"(pg_stat_replication), and that the server, the network and proxies are not overloaded or paused"
	AdvicePreparedPostgres = "a connection pooler has mixed up prepared statements: with pgx, add default_query_exec_mode=exec to the DSN"
	AdvicePoolModePostgres = "the connection pooler is in statement mode (pool_mode of PgBouncer), which has no transactions: set it to transaction or session"
	AdviceTLSPostgres      = "the TLS settings do not match the server's: check sslmode in the DSN and the certificates"
	AdviceDiskPostgres     = "the server has a problem with its disk: if this persists, see the server's log"
)

// Advice is the advice that depends on which tables and privileges a package uses.
type Advice struct {
	Unknown          string // an error that is not known
	Table            string // a table does not exist
	Access           string // the account may not use the database
	Grant            string // a privilege is missing
	Columns          string // a table has the wrong columns
	Key              string // a key exists already, or a number is out of range
	Closed           string // the pool was closed
	TablePostgres    string
	SchemaPostgres   string // the schema does not exist
	GrantPostgres    string
	ColumnsPostgres  string
	KeyPostgres      string
	EncodingPostgres string // the database's encoding lacks a character
}

-- This script creates the tables that assign worker IDs to UID generators, and the table of segments.
-- WORKER_NODE is for disposable worker IDs. Services that use ringuid and services that use Baidu's
-- UidGenerator can share it. WORKER_POOL and WORKER_SLOT are for worker IDs that are used again, and
-- leaf_alloc is for numbers without a time. They are described further down. A service that uses only one of
-- these kinds requires only its tables.
--
-- You can run the script repeatedly. It creates the tables that do not exist. It does not change or
-- drop anything. Run it in the database that the DSN of the services names. In this file that
-- database is ids:
--
--       $ mysql ids < schema.sql
--
-- The statements in these comments are for database administrators. Run the statements of a section
-- in the given order. Replace the text in <angle brackets>, and the names ids and 'service'@'%'.
--
-- SERVERS
--   MySQL 5.6, 5.7 and 8, and MariaDB 10.4 and later: the script works without changes, also in
--   strict mode.
--   TiDB: the script works without changes. On TiDB 6.4 and later, the comment in its last line sets
--   AUTO_ID_CACHE=1. Other servers ignore that comment. Without AUTO_ID_CACHE=1, each TiDB server
--   reserves 30,000 keys at once, and loses the unused ones when it restarts.
--   Do not change the column ID to AUTO_RANDOM or to a UUID. Worker IDs must be small numbers.
--   The character set of the table is utf8mb4. A table that was created by Baidu's script, or by an
--   earlier version of this script, has the character set of its database. If that is latin1,
--   inserts always fail for hosts whose name contains characters that latin1 does not have, such as
--   主机-1. The following statements convert the table. Inserts are blocked while they run. The first
--   statement is required for tables of Baidu's script, where the default of CREATED is zero:
--
--       SET SESSION sql_mode = '';
--       ALTER TABLE WORKER_NODE CONVERT TO CHARACTER SET utf8mb4;
--
-- DURABILITY
--   A service uses its worker ID as soon as the server has acknowledged the insert. If the server
--   loses an acknowledged insert, it assigns the same ID a second time, and all UIDs with that worker
--   ID can exist twice. Services log a warning if they detect settings with which this can happen.
--   The following two settings must be 1. Set them here and in the server's configuration file:
--
--       SELECT @@GLOBAL.innodb_flush_log_at_trx_commit, @@GLOBAL.sync_binlog;
--       SET GLOBAL innodb_flush_log_at_trx_commit = 1;
--       SET GLOBAL sync_binlog = 1;
--
--   * With innodb_flush_log_at_trx_commit = 2, no insert is lost if the server process is killed, but
--     inserts can be lost if the machine fails (power failure, kernel crash). With 0, inserts can be
--     lost in both cases.
--   * sync_binlog matters if the server writes a binary log, for replicas or backups. After a failure
--     of the machine, the server rolls back transactions that are not in the binary log. The default
--     is 0 in MariaDB, and in MySQL before 5.7.7.
--   * The disk must not lose data that was flushed to it.
--   * When a primary fails, an asynchronous replica lacks the last inserts. If a replica is to replace
--     the primary in that case, use semi-synchronous replication. Set its timeout so high that it
--     never falls back to asynchronous replication. Promote the replica that has received the most.
--     The status must be ON:
--
--       SHOW GLOBAL STATUS LIKE 'Rpl_semi_sync_%_status';
--
--     Without semi-synchronous replication, follow the section AFTER A FAILOVER below in each
--     failover.
--
-- PRIVILEGES
--   A service inserts one row when it starts, and one row each time it changes its worker ID under
--   sustained load. It does not read, create, change or delete anything. It must not choose an ID,
--   because a single row with the greatest possible ID would use up all worker IDs. So a service may
--   set all columns except ID. Create the table before you grant the privilege. (TiDB before 8.5.6
--   has no column privileges. On these versions, grant INSERT on the table.)
--
--       CREATE USER 'service'@'%' IDENTIFIED BY '<password>';
--       GRANT INSERT (HOST_NAME, PORT, TYPE, LAUNCH_DATE, MODIFIED, CREATED)
--          ON ids.WORKER_NODE TO 'service'@'%';
--
--   If an account has the privilege INSERT on the whole table, run these two statements, in this
--   order, to restrict it:
--
--       REVOKE INSERT ON ids.WORKER_NODE FROM 'service'@'%';
--       GRANT INSERT (HOST_NAME, PORT, TYPE, LAUNCH_DATE, MODIFIED, CREATED)
--          ON ids.WORKER_NODE TO 'service'@'%';
--
-- VERIFIED WORKER IDS
--   Services that use workerassign.WithVerification look for their row now and then. If the row is gone,
--   because the server lost it in a failover, the service takes another worker ID. The column PORT then
--   ends with a # and a random text, by which a service recognizes its row. Their account requires one more
--   privilege:
--
--       GRANT SELECT (ID, PORT) ON ids.WORKER_NODE TO 'service'@'%';
--
--   All services that use the table must use the option, with the same values. Then the section AFTER A
--   FAILOVER OR A RESTORED BACKUP is not required for a failover. The old primary must be fenced within the
--   time Verification.Fencing. Do not delete the rows of services that are running.
--
-- WHAT A ROW MEANS
--   A row stands for one start of a generator, or for one change of its worker ID under sustained
--   load. The ID of the row is the worker ID in all UIDs that the generator generates with it. The
--   row is the only record of which generator a UID came from. No program reads the other columns,
--   except for PORT (see VERIFIED WORKER IDS).
--
-- WHEN ROWS MAY BE DELETED
--   If an ID is assigned a second time, UIDs are generated that exist already. The server does not
--   assign an ID again as long as the table's counter never goes back. Therefore:
--   * You may delete old rows at any time, if nobody needs them as a record, and no running service that uses
--     workerassign.WithVerification has their IDs. Delete them in batches:
--     repeat the second statement until it deletes no more rows. A single DELETE of a million rows
--     delays replicas. At the default isolation level, REPEATABLE READ, a DELETE blocks all inserts
--     while it runs:
--
--       SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;
--       DELETE FROM WORKER_NODE
--        WHERE CREATED < NOW() - INTERVAL 1 YEAR
--          AND ID < (SELECT ID FROM (SELECT MAX(ID) AS ID FROM WORKER_NODE) AS newest)
--        ORDER BY ID LIMIT 10000;
--
--     If binlog_format is STATEMENT (the default of MySQL before 5.7.7), the server refuses the
--     DELETE with error 1665. On such a server, omit the first statement and delete 1000 rows per
--     batch.
--   * Never delete the row with the greatest ID. MySQL before 8.0 and MariaDB before 10.2.4 keep the
--     counter only in memory. When they restart, they set it to the greatest existing ID.
--   * Never TRUNCATE the table, never drop and create it, and never lower its AUTO_INCREMENT. Each of
--     these sets the counter back.
--   * Each table has its own counter. Generators that share a layout and an epoch must use the same
--     table. If they use workerassign.Prefix, each prefix may have its own table.
--
-- AFTER A FAILOVER OR A RESTORED BACKUP
--   A replica that was promoted without the primary's last rows assigns the IDs of these rows a
--   second time. So does a server that was restored from a backup. Raise its counter above every ID
--   that may have been assigned, before the server accepts its first write. Running services insert
--   rows too, when they change their worker ID. So until step 5 the server must be read-only, or
--   nobody else must be able to connect to it. If a tool makes replicas writable automatically, it
--   must run steps 1 to 4 first, or you must use semi-synchronous replication. On Galera, follow
--   steps 3 to 5 when the section GALERA CLUSTERS says so.
--   Steps 3 and 4 are the protection: nothing else knows all IDs that were assigned. With
--   workerassign.WithMinWorkerID(n), a start fails if its ID is below n, and a running service tries again.
--   Each insert increments the counter, so from n on, IDs are accepted. So n must be greater than all IDs
--   that were assigned.
--   Services with workerassign.WithVerification notice that their row is gone (VERIFIED WORKER IDS), and
--   recycled worker IDs notice a failover themselves (SLOTS AFTER A FAILOVER OR A RESTART).
--   If both servers show the same MAX(ID) in step 3, after steps 1 and 2, skip step 4.
--
--   1. Fence the old primary. If it is started again, it assigns IDs too, and the new primary does not
--      know them. Put read_only = 1 into its configuration file, and prevent services from connecting
--      to it. It may become a replica only after it was initialized with a new copy of the new
--      primary. If it still runs:
--
--       SET GLOBAL read_only = 1;
--
--   2. Make sure that the replica is read-only, also in its configuration file. Then let it apply
--      everything that it has received. If the old primary still runs, first wait until
--      Read_Master_Log_Pos no longer increases. Repeat the third statement until Exec_Master_Log_Pos
--      equals Read_Master_Log_Pos and Relay_Master_Log_File equals Master_Log_File (on MySQL 8, the
--      names contain Source instead of Master). Only then run the last two statements, which discard
--      the relay log. Until then, do not restart the server and do not stop its SQL thread: MariaDB
--      with GTIDs, the default since 10.10, discards the relay log when replication starts after both
--      threads were stopped. MySQL before 8.0.22 and MariaDB before 10.5 use SLAVE instead of REPLICA
--      in these statements. If you restore a backup, apply the binary logs instead of this step.
--
--       SET GLOBAL read_only = 1;
--       STOP REPLICA IO_THREAD;
--       SHOW REPLICA STATUS;
--       STOP REPLICA;
--       RESET REPLICA ALL;
--
--   3. Find the greatest ID that is known to have been assigned. It is the greatest of these numbers:
--      the result of the first statement on this server, the result of the first statement on the old
--      primary (if its data can still be read, this is the answer), the worker IDs in the logs of the
--      services, and the worker IDs in the UIDs that the services have stored. The second statement
--      finds the last ones. Run it for each table with a column of UIDs. Its numbers are those of the
--      default layout 1-28-22-13 and the default epoch: 13 bits of sequence, 22 bits of worker ID, 35
--      bits for both, and 1767225600, the Unix time of 2026-01-01. It searches the UIDs of the last 7
--      days. If the newest row on this server is older, search more days. If the time unit is a
--      fraction of a second, multiply the time in parentheses by the number of units in a second. If
--      workerassign.Prefix or Divide uses some of the worker bits, extract only the other bits.
--
--       SELECT MAX(ID), MAX(CREATED) FROM WORKER_NODE;
--       SELECT MAX((<uid> >> 13) & ((1 << 22) - 1)) AS worker_id
--         FROM <table>
--        WHERE <uid> >= (GREATEST(CAST(UNIX_TIMESTAMP() AS SIGNED) - 7 * 86400 - 1767225600, 0) << 35);
--
--   4. Insert a row whose ID is greater than that ID by a margin. The margin covers IDs that left no
--      trace, for example those of services that have stored no UID yet. It must be greater than the
--      number of IDs that were assigned between the newest row on this server and the fencing of the
--      old primary. Use ten times per_day (see below), and at least 10,000, which is a quarter of a
--      percent of 22 bits. A margin that is too large wastes worker IDs. A margin that is too small
--      can lead to duplicate UIDs. The second statement must show the new row. If it does not, the ID
--      was too small. In that case, start again at step 3.
--      If super_read_only (MySQL) makes the insert fail, set super_read_only to 0, but leave read_only
--      at 1.
--
--       INSERT INTO WORKER_NODE (ID, HOST_NAME, PORT, TYPE, LAUNCH_DATE, MODIFIED, CREATED)
--       VALUES (<next ID>, 'counter raised', '', 3, CURRENT_DATE, NOW(), NOW());
--       SELECT ID, HOST_NAME FROM WORKER_NODE ORDER BY ID DESC LIMIT 1;
--
--      Do not set the table's AUTO_INCREMENT with ALTER TABLE instead. The server ignores a value that
--      is too small without an error, and servers that keep the counter in memory lose the value when
--      they restart.
--
--   5. Now let the server accept writes, and let the services connect to it:
--
--       SET GLOBAL read_only = 0;
--
-- HOW MANY ARE LEFT
--   The number of worker bits of the layout limits the ID to at most 2^bits - 1. For the default of 22
--   bits (1-28-22-13) that is 4194303. If workerassign.Prefix or Divide uses some of these bits, only
--   the others count. When the IDs exceed the limit, services refuse to start. IDs never start at 1
--   again. This query computes how many days are left at the rate of the last 30 days. If the table is
--   younger, it uses the rate since the first row:
--
--       SELECT used, supply, 100 * used / supply AS percent, per_day,
--              GREATEST(supply - used, 0) / per_day AS days_left
--         FROM (SELECT MAX(ID) AS used, 4194303 AS supply FROM WORKER_NODE) AS total,
--              (SELECT 86400 * NULLIF(SUM(last_id - first_id + 1) - 1, 0)
--                        / CASE WHEN MIN(since) <= NOW() - INTERVAL 1 HOUR
--                               THEN TIMESTAMPDIFF(SECOND, MIN(since), NOW()) END AS per_day
--                 FROM (SELECT MIN(ID) AS first_id, MAX(ID) AS last_id, MIN(CREATED) AS since
--                         FROM WORKER_NODE
--                        WHERE CREATED > NOW() - INTERVAL 30 DAY
--                        GROUP BY ID DIV 1000) AS thousands) AS recent;
--
--   per_day and days_left are NULL if all rows are younger than an hour, or if fewer than two rows are
--   younger than 30 days. In each thousand of IDs, the query counts the IDs from the first row to the
--   last. So it counts IDs without a row, but not a gap that results from raising the counter.
--   Deleted rows count too, because used is the greatest ID and not the number of rows.
--   If auto_increment_increment is n, the server assigns only every n-th ID, so only the n-th part of
--   the IDs can be used. Galera sets it to the number of nodes automatically
--   (wsrep_auto_increment_control), as do some setups with two primaries. Inserts that fail or are
--   rolled back use up IDs too.

CREATE TABLE IF NOT EXISTS WORKER_NODE (
  ID          BIGINT      NOT NULL AUTO_INCREMENT COMMENT 'the worker ID, never assigned twice',
  HOST_NAME   VARCHAR(64) NOT NULL COMMENT 'host name or address',
  PORT        VARCHAR(64) NOT NULL COMMENT 'port, or time and random number',
  TYPE        INT         NOT NULL COMMENT '1 container, 2 actual machine, 3 fake',
  LAUNCH_DATE DATE        NOT NULL COMMENT 'when the generator started',
  MODIFIED    TIMESTAMP   NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
  CREATED     TIMESTAMP   NOT NULL DEFAULT CURRENT_TIMESTAMP,
  PRIMARY KEY (ID)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COMMENT = 'worker IDs of UID generators' /*T![auto_id_cache] AUTO_ID_CACHE=1 */;

-- RECYCLED WORKER IDS
--   The tables below hold one pool: the worker IDs of one fleet, which its generators lease and use again
--   (recycled.New with sqlstore.New). They are not connected with the table
--   WORKER_NODE. A fleet uses either that table or these two. If two fleets with the same layout and the
--   same epoch must not generate equal UIDs, they must share one pool.
--   Servers: MariaDB 10.4 and later, MySQL 5.6, 5.7 and 8, TiDB, and Galera clusters of MariaDB or MySQL.
--   On Percona XtraDB Cluster before 8.0.26, set wsrep_sync_wait to 1 in the DSN of the services.
--   All statements of the services must reach the primary, also SELECT: a proxy must not send their reads
--   to replicas.
--   For a second pool in the same database, copy the two CREATE TABLE statements, change the tables' names,
--   and give these names to the services with sqlstore.WithPoolTables. Each pool can have an account of
--   its own.
--
-- WHAT A SLOT MEANS
--   A row of WORKER_SLOT is a worker ID. Its latest lease may generate UIDs with times from from_ms up to
--   until_ms (exclusive). The next lease of the worker ID begins at until_ms or later. So no UID exists
--   twice, whatever clocks show. The holder moves until_ms forward while it is used, about every 12
--   seconds by default, and back to what it used when it releases the lease. token identifies the lease, and
--   is NULL after a release. The columns holder_... describe the latest holder, also after its release.
--   The row of WORKER_POOL describes the fleet. All times are Unix milliseconds. This query shows who holds
--   which worker ID, since when and until when, in UTC:
--
--       SELECT worker_id,
--              CASE WHEN token IS NULL THEN 'released'
--                   WHEN free_at_ms < TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000 THEN 'expired'
--                   ELSE 'held' END AS state,
--              holder_name, holder_host, holder_process,
--              TIMESTAMP '1970-01-01 00:00:00' + INTERVAL holder_since_ms DIV 1000 SECOND AS since_utc,
--              TIMESTAMP '1970-01-01 00:00:00' + INTERVAL until_ms DIV 1000 SECOND AS until_utc,
--              TIMESTAMP '1970-01-01 00:00:00' + INTERVAL free_at_ms DIV 1000 SECOND AS free_at_utc
--         FROM WORKER_SLOT
--        ORDER BY worker_id;
--
--   held: a generator has the worker ID, or its last holder crashed and nobody may take it before free_at.
--   expired: the last holder did not extend or release its lease. The worker ID is free. released: it is free
--   at free_at, or was never used. If the pool has a floor that is later (floor_ms), a new lease begins there.
--
-- PRIVILEGES ON SLOTS
--   A service reads both tables, inserts rows, and changes every column except the keys. It never deletes a
--   row. (TiDB before 8.5.6 has no column privileges. On these versions, grant UPDATE on the tables.)
--   Omit the first statement if the account exists.
--
--       CREATE USER 'service'@'%' IDENTIFIED BY '<password>';
--       GRANT SELECT, INSERT,
--             UPDATE (revision, format, first_worker_id, slot_count, history, since_ms, floor_ms, horizon_ms, fencing_ms, skew_ms)
--          ON ids.WORKER_POOL TO 'service'@'%';
--       GRANT SELECT, INSERT,
--             UPDATE (revision, token, from_ms, until_ms, history, written_ms, free_at_ms,
--                     holder_name, holder_host, holder_process, holder_since_ms)
--          ON ids.WORKER_SLOT TO 'service'@'%';
--
-- WHICH SLOTS MAY BE DELETED
--   None. A row is the only record of the times that were granted for its worker ID. If you delete one, its
--   holder loses its lease, and nobody can use the worker ID. Services report that the slot is missing if
--   they require this worker ID (recycled.WithWorkerID), or if all others are held. If you delete all rows of both tables, or
--   drop them, UIDs that exist already can be generated again. The number of rows does not grow with
--   restarts. It is the greatest number of generators that ever ran at the same time, plus a few, and up
--   to twice that number after a failover.
--   Never change a row by hand, except with the statements below.
--
-- A SLOT OR THE POOL IS MISSING
--   Services do not add a slot again that is missing, because they do not know what was granted of it. Insert it with a
--   time that is later than all that can have been granted:
--
--       INSERT INTO WORKER_SLOT (worker_id, revision, from_ms, until_ms, history, written_ms, free_at_ms)
--       SELECT <worker ID>, 1, begin_ms, begin_ms, 'inserted', begin_ms, begin_ms
--         FROM (SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000 + fencing_ms + horizon_ms + skew_ms AS begin_ms
--                 FROM WORKER_POOL) AS pool;
--
--   If only the row of WORKER_POOL was deleted, and services have created another one, set its number of slots:
--
--       UPDATE WORKER_POOL
--          SET slot_count = (SELECT MAX(worker_id) + 1 FROM WORKER_SLOT) - first_worker_id, revision = revision + 1;
--
--   Then raise the floor (SLOTS AFTER A RESTORED BACKUP). If the rows of both tables are missing, do not create the pool
--   with "ringuid pool create". doc/fleet.md says what to do (A slot or the pool is missing).
--
-- DURABILITY OF SLOTS
--   The settings are those of the section DURABILITY above. Set them to 1 on every server. In addition,
--   binlog_format must be ROW or MIXED, if the server writes a binary log: services refuse STATEMENT.
--   Synchronize the clocks of all servers, and of the services' hosts, to within a second.
--
-- SLOTS AFTER A FAILOVER OR A RESTART
--   No procedure is required. Services notice that another server answers, or that the server was
--   restarted, because they compare its identity and its start each time they write. Identities are
--   server_uuid on MySQL, and host name, port and server_id on MariaDB, so give each server another
--   server_id. Leases from before then end at their until_ms, and new leases begin at the floor: about F + H
--   + M after the failover (WORKER_POOL.fencing_ms, horizon_ms and skew_ms, 110 seconds by default). In
--   between, generators wait. Your part is:
--   * Within F (fencing_ms, 30 seconds by default), the old primary must no longer accept writes.
--   * Before the old primary may become the primary again, it must be initialized with a copy of the new
--     primary, and restarted.
--   * Replicas must not accept writes: set read_only in their configuration files.
--   On Galera, services continue if a node fails, because the other nodes have received all that it has
--   acknowledged. If all nodes are down, or if you use pc.bootstrap, follow the section GALERA CLUSTERS.
--   With sqlstore.WithHistory, services notice none of this. See its documentation.
--
-- GALERA CLUSTERS
--   On every node, innodb_flush_log_at_trx_commit must be 1. If all nodes are down, acknowledged writes are lost if the
--   cluster begins with another node than the most advanced one:
--
--   1. On each node, read seqno in the file grastate.dat. If it is -1, mariadbd --wsrep-recover prints it.
--
--   2. Start the cluster with the node that has the greatest one (galera_new_cluster), and then the other nodes. Galera
--      refuses to begin with another one (safe_to_bootstrap). If that worked, nothing else is required.
--
--   3. If you must begin with another node, keep services away from it, and delete its file grastate.dat first. Then the
--      cluster has another UUID, which services with slot tables notice. If the file was not deleted, the UUID remains,
--      and nothing shows the loss. In that case raise the floor (SLOTS AFTER A RESTORED BACKUP).
--
--   4. In both cases of step 3, raise the counter of WORKER_NODE (steps 3 to 5 of AFTER A FAILOVER OR A RESTORED BACKUP)
--      and all tags (TAGS AFTER A FAILOVER OR A RESTORED BACKUP). Then let services connect.
--
--   5. The other nodes join with a copy of the first one. Never let one of them begin a cluster of its own, and never
--      delete the file of one node of a cluster that runs.
--
--   If the nodes are divided, those that do not reach most of the others refuse all statements. pc.ignore_sb and
--   pc.ignore_quorum in wsrep_provider_options must be off, as they are by default: with them, both sides accept writes,
--   and IDs, UIDs and numbers come twice. For two nodes use a third voter (garbd). pc.bootstrap makes such a
--   node accept them again. Before you use it, stop the nodes of the other side. They may have acknowledged writes that
--   this side lacks. Then continue with step 3 as if the file was not deleted.
--   A backup is restored to one node, which begins the cluster. The others join with a copy of it.
--
-- SLOTS AFTER A RESTORED BACKUP
--   If the server keeps its identity and lacks writes that it acknowledged earlier, services may not notice
--   that, for example after a dump (mysqldump) was loaded into a running server, after a backup was restored
--   on TiDB or Galera, after the machine was set back to a snapshot with its memory, or with sqlstore.WithHistory.
--   Without the floor, UIDs are then generated twice.
--   If fencing_ms, horizon_ms or skew_ms were raised after the backup, raise them in this row first.
--   Raise the floor before services connect to the server: prevent connections, or set read_only, as described
--   in AFTER A FAILOVER OR A RESTORED BACKUP. The old server must no longer accept writes. Call
--   Assigner.RaiseFloor with an account that may write then, or run these statements in one session. They end all
--   leases. No lease begins before the floor, which is later than every time that the old server can have granted.
--   The server's clock must be right. If they change no row, the pool is missing.
--
--       START TRANSACTION;
--       UPDATE WORKER_POOL
--          SET floor_ms = GREATEST(COALESCE(floor_ms, 0),
--                TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000 + fencing_ms + horizon_ms + skew_ms),
--              revision = revision + 1;
--       UPDATE WORKER_SLOT
--          SET free_at_ms = IF(until_ms > (SELECT floor_ms FROM WORKER_POOL), until_ms,
--                TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000),
--              until_ms = GREATEST(until_ms, (SELECT floor_ms FROM WORKER_POOL)),
--              written_ms = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000,
--              token = NULL,
--              revision = revision + 1
--        WHERE (SELECT floor_ms FROM WORKER_POOL) IS NOT NULL;
--       COMMIT;
--
--   If a backup is so old that slots are missing in it, nothing else is required: services add slots again,
--   which begin at the floor.

CREATE TABLE IF NOT EXISTS WORKER_POOL (
  id              TINYINT       NOT NULL DEFAULT 1 COMMENT 'always 1',
  revision        BIGINT        NOT NULL COMMENT 'increases by 1 with each change of this row',
  format          VARCHAR(1024) NOT NULL COMMENT 'layout, epoch and time unit of the fleet',
  first_worker_id BIGINT        NOT NULL COMMENT 'the smallest worker ID',
  slot_count      BIGINT        NOT NULL COMMENT 'how many slots were added',
  history         VARCHAR(255)  NOT NULL COMMENT 'the server that granted last, and its start',
  since_ms        BIGINT        NOT NULL COMMENT 'when that history was first seen',
  floor_ms        BIGINT        NULL COMMENT 'no lease begins before it; NULL: no floor',
  horizon_ms      BIGINT        NOT NULL COMMENT 'H: no grant reaches further into the future',
  fencing_ms      BIGINT        NOT NULL COMMENT 'F: after a failover, an old primary accepts no writes after that time',
  skew_ms         BIGINT        NOT NULL COMMENT 'M: the greatest difference of two clocks of servers',
  PRIMARY KEY (id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin COMMENT = 'the pool of recycled worker IDs; times are Unix milliseconds';

CREATE TABLE IF NOT EXISTS WORKER_SLOT (
  worker_id       BIGINT       NOT NULL COMMENT 'the worker ID',
  revision        BIGINT       NOT NULL COMMENT 'increases by 1 with each change of this row',
  token           VARCHAR(64)  NULL COMMENT 'identifies the lease; NULL: it was released',
  from_ms         BIGINT       NOT NULL COMMENT 'the time of UIDs that the lease may use begins here',
  until_ms        BIGINT       NOT NULL COMMENT 'and ends before this; the next lease begins here',
  history         VARCHAR(255) NOT NULL COMMENT 'the server that granted the lease, and its start',
  written_ms      BIGINT       NOT NULL COMMENT 'when this row was changed',
  free_at_ms      BIGINT       NOT NULL COMMENT 'when another generator may take the worker ID',
  holder_name     VARCHAR(128) NULL COMMENT 'the name of the generator that has or had the lease, if it has one',
  holder_host     VARCHAR(255) NULL COMMENT 'its host name',
  holder_process  VARCHAR(255) NULL COMMENT 'its process ID',
  holder_since_ms BIGINT       NULL COMMENT 'when it took the worker ID',
  PRIMARY KEY (worker_id),
  KEY free_at (free_at_ms),
  KEY holder (holder_name)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin COMMENT = 'recycled worker IDs; times are Unix milliseconds';

-- NUMBERS FROM SEGMENTS
--   The table below holds the counters of sequences of numbers (package segment, sqlstore.New), one row for
--   each tag. It is not connected with the tables above. It is the table of Leaf's segment mode, so services
--   that use ringuid and Leaf's own servers can use the same tags at the same time. An existing table of Leaf
--   can be used without changes. (Leaf's script drops the table if it exists. Do not run it again.)
--   Servers: MariaDB 10.4 and later, MySQL 5.6, 5.7 and 8, TiDB, and Galera clusters. The storage engine must be
--   InnoDB. The type of max_id must be BIGINT. All statements of the services must reach the primary.
--   In a table of Leaf, tags that differ only in case or accents may be the same row, depending on the collation.
--   ringuid uses only the exact name, and reports the other one.
--
-- WHAT A TAG MEANS
--   A row is a sequence of numbers. max_id is the next number that nobody has received. A process that requires
--   numbers increases max_id, by step or by a number that it chooses, and may then hand out the numbers from
--   the old max_id up to the new one (exclusive). It hands them out from memory. So max_id is ahead of the
--   numbers in use, and the numbers that a process has not used when it ends are a gap.
--   Never lower max_id, and never change it to a smaller number by deleting a row and inserting it again: the
--   numbers from there on are handed out a second time. Services that have received numbers of the tag notice
--   it and refuse. Others cannot notice it. Raising max_id is always safe and leaves a gap.
--   This query shows the tags. The latest change of a row is the latest time that some process has reserved
--   numbers:
--
--       SELECT biz_tag, max_id, step, 9223372036854775807 - max_id AS numbers_left,
--              update_time, TIMESTAMPDIFF(SECOND, update_time, NOW()) AS seconds_ago, description
--         FROM leaf_alloc
--        ORDER BY update_time DESC;
--
-- HOW TO ADD A TAG
--   Insert a row, or let a service call CreateTag. max_id is the first number of the tag, at least 1. For a
--   sequence that moves from another system, it must be greater than every number that exists. Services
--   find the row as soon as they ask for it. Leaf's servers find it after up to a minute. A name has at most
--   128 bytes, does not begin or end with a space, and is never used for another purpose later.
--
--       INSERT INTO leaf_alloc (biz_tag, max_id, step, description)
--       VALUES ('<tag>', <first number>, <step>, '<description>');
--
-- HOW TO SIZE A STEP
--   step is how many numbers a process reserves at once, if it does not choose the number itself. Leaf's
--   authors advise 600 times the greatest number of numbers per second, so that the numbers last for ten minutes
--   if the database fails. A smaller step leaves smaller gaps and writes more often. A step of 1000 is
--   enough for a few numbers per second. The step must be 1 to 1099511627776, and at most 2147483647 if Leaf's
--   servers use the tag. It can be changed at any time. A running process may use it only from its second
--   reservation on:
--
--       UPDATE leaf_alloc SET step = <step> WHERE biz_tag = '<tag>';
--
-- PRIVILEGES ON TAGS
--   A service reads the rows and changes max_id. The last statement is only for services that create tags. (TiDB
--   before 8.5.6 has no column privileges. On these versions, grant SELECT, UPDATE and INSERT on the table.)
--   Omit the first statement if the account exists.
--
--       CREATE USER 'service'@'%' IDENTIFIED BY '<password>';
--       GRANT SELECT (biz_tag, max_id, step), UPDATE (max_id) ON ids.leaf_alloc TO 'service'@'%';
--       GRANT INSERT (biz_tag, max_id, step, description) ON ids.leaf_alloc TO 'service'@'%';
--
-- WHICH TAGS MAY BE DELETED
--   Only tags that no service uses any more, and whose numbers will never be required to be unique again. If a
--   tag is created again, its numbers start again. Tags that are made for one day each, with the date in
--   their numbers, may be deleted when that day is over in every time zone and no service is behind. The names
--   of the tags of a Daily are its name, a dot and a date of 8 digits. With stripes, ".stripe0of3" or the like follows.
--   First look at the tags that these conditions find: those of one name, with a date more than 30 days ago, that
--   nobody has used for 30 days. They compare names as they are. Do not use LIKE instead: in LIKE, _ and % in a
--   name stand for other characters, and a name finds all names that begin with it.
--
--       SELECT biz_tag, max_id, update_time
--         FROM leaf_alloc
--        WHERE BINARY LEFT(biz_tag, CHAR_LENGTH('<tag>.')) = BINARY '<tag>.'
--          AND SUBSTRING(biz_tag, CHAR_LENGTH('<tag>.') + 1) REGEXP '^[0-9]{8}([.]stripe[0-9]+of[0-9]+)?$'
--          AND SUBSTRING(biz_tag, CHAR_LENGTH('<tag>.') + 1, 8) < DATE_FORMAT(CURRENT_DATE - INTERVAL 30 DAY, '%Y%m%d')
--          AND update_time < NOW() - INTERVAL 30 DAY
--        ORDER BY biz_tag;
--
--   If they are the right ones, delete them with the same conditions. (The first one is for servers that refuse
--   changes without a key, and is true.)
--
--       DELETE FROM leaf_alloc
--        WHERE biz_tag > ''
--          AND BINARY LEFT(biz_tag, CHAR_LENGTH('<tag>.')) = BINARY '<tag>.'
--          AND SUBSTRING(biz_tag, CHAR_LENGTH('<tag>.') + 1) REGEXP '^[0-9]{8}([.]stripe[0-9]+of[0-9]+)?$'
--          AND SUBSTRING(biz_tag, CHAR_LENGTH('<tag>.') + 1, 8) < DATE_FORMAT(CURRENT_DATE - INTERVAL 30 DAY, '%Y%m%d')
--          AND update_time < NOW() - INTERVAL 30 DAY;
--
-- DURABILITY OF TAGS
--   The settings are those of the section DURABILITY above. Set them to 1 on every server. A server that loses
--   a change of max_id hands out the same numbers a second time. The row has no record of the server, so
--   unlike recycled worker IDs, services notice a failover only if they remember greater numbers.
--
-- TAGS AFTER A FAILOVER OR A RESTORED BACKUP
--   A replica that was promoted without the primary's last changes, and a server that was restored from a
--   backup, have a max_id that is too small. The same applies to Galera if the section GALERA CLUSTERS says
--   so. Raise max_id of every tag before services can write to the server.
--   Prevent connections, or set read_only, as described in AFTER A FAILOVER OR A RESTORED BACKUP. The old server
--   must no longer accept writes.
--   1. For each tag whose numbers are stored somewhere, look for the greatest one (of a Daily: of the tag's
--      day, the digits behind the date), and raise max_id above it:
--
--       SELECT MAX(<column>) AS greatest_number FROM <table>;
--       UPDATE leaf_alloc SET max_id = GREATEST(max_id, <greatest number> + 1) WHERE biz_tag = '<tag>';
--
--   2. Then raise max_id of all tags by a margin, for numbers that left no trace: those that services hold in
--      memory and have not used yet, and those that were handed out but not stored. The margin must be greater
--      than all numbers of a tag that were reserved between the state of this server and the fencing of the old
--      one. If you do not know it, use a large one, for example a day's numbers. A margin that is too large is
--      only a gap, but if it leaves none of the numbers of a Daily (a tag whose name ends with a date), calls fail until
--      midnight: give these tags a smaller one. A margin that is too small can lead to duplicate numbers.
--
--       UPDATE leaf_alloc SET max_id = LEAST(max_id, 9223372036854775807 - <margin>) + <margin> WHERE biz_tag > '';
--
--   3. A tag that was created after the backup is missing. Insert it with a max_id above all its numbers before
--      services do, which would begin it again.

CREATE TABLE IF NOT EXISTS leaf_alloc (
  biz_tag     VARCHAR(128) NOT NULL COMMENT 'the tag, the name of a sequence of numbers',
  max_id      BIGINT       NOT NULL DEFAULT 1 COMMENT 'the next number that nobody has received; never lower it',
  step        BIGINT       NOT NULL COMMENT 'how many numbers a process reserves at once',
  description VARCHAR(256) NULL COMMENT 'for people',
  update_time TIMESTAMP    NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP COMMENT 'the latest reservation',
  PRIMARY KEY (biz_tag)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin COMMENT = 'sequences of numbers, also for Leaf';

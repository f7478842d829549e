-- This script creates the tables that assign worker IDs to UID generators, and the table of segments, on
-- PostgreSQL. schema.sql is the script for MySQL, MariaDB and TiDB. worker_node is for disposable worker IDs.
-- Services that use ringuid and services that use Baidu's UidGenerator can share it. worker_pool and
-- worker_slot are for worker IDs that are used again, and leaf_alloc is for numbers without a time. They are
-- described further down. A service that uses only one of these kinds requires only its tables.
--
-- You can run the script repeatedly. It creates the tables that do not exist. It does not change or
-- drop anything. Run it in the database that the DSN of the services names. In this file that
-- database is ids:
--
--       $ psql -d ids -f schema.postgres.sql
--
-- The statements in these comments are for database administrators. Run the statements of a section
-- in the given order, in the database ids. Replace the text in <angle brackets>, and the names ids and
-- service.
--
-- SERVERS
--   PostgreSQL 12 and later. The tests of ringuid use PostgreSQL 15.
--   Names that are not quoted, for example WORKER_NODE, are the same as in lower case. The table of Java
--   services is worker_node with columns in lower case, whatever their scripts say, unless these quote
--   the names. ringuid uses that table, whether its column is an identity column or BIGSERIAL.
--   Do not change the column ID to a UUID. Worker IDs must be small numbers.
--   Java services whose MyBatis mapping has useGeneratedKeys read all columns of the new row. They
--   require the privilege SELECT on the table.
--   The table must not be UNLOGGED, because such a table and its counter are empty after a crash and on
--   standbys.
--   Services may connect through PgBouncer with pool_mode session or transaction. With transaction, the DSN
--   requires default_query_exec_mode=exec (pgx) or binary_parameters=yes (lib/pq). With statement, services
--   get no worker IDs, because there are no transactions. They can use tags of leaf_alloc that exist.
--
-- DURABILITY
--   A service uses its worker ID as soon as the server has acknowledged the commit. If the server loses
--   an acknowledged commit, it can assign the same ID a second time, and all UIDs with that worker ID
--   can exist twice. Services log a warning if they detect settings with which this can happen. The
--   first three settings must be on:
--
--       SELECT current_setting('fsync'), current_setting('full_page_writes'),
--              current_setting('synchronous_commit'), current_setting('synchronous_standby_names');
--
--   * With synchronous_commit = off, the server loses the last commits if it crashes. ringuid sets it to
--     on in its own transactions. Other services, for example those in Java, do not. Set it for them:
--
--       ALTER ROLE service SET synchronous_commit = on;
--
--   * With fsync = off or full_page_writes = off, the server loses more than the last commits if the
--     machine fails (power failure, kernel crash). Set both to on in the server's configuration file.
--   * The disk must not lose data that was flushed to it.
--   * When a primary fails, an asynchronous standby lacks the last commits. If a standby is to replace the
--     primary in that case, use synchronous replication: set synchronous_standby_names, and promote only
--     a standby that was synchronous: with FIRST, one whose sync_state was sync. With ANY k of n standbys, each
--     commit is on k of them, so compare at least n - k + 1, and promote the one that has received the most: the
--     greater one of pg_last_wal_receive_lsn() and pg_last_wal_replay_lsn(), when the latter no longer rises (after
--     a restart of the standby, the former is that of a part only). If fewer can be reached, follow the section AFTER A FAILOVER below, and the two on
--     tags and slots. The value on of synchronous_commit is required for that. With
--     local, the server does not wait for standbys, and with remote_write, a standby that crashes can
--     lose what it has received. At least one standby must be sync or quorum:
--
--       SELECT application_name, state, sync_state FROM pg_stat_replication;
--
--     While no such standby is connected, commits wait, and services cannot get worker IDs. Use at least
--     two standbys. Do not cancel a commit that waits (pg_cancel_backend): the server then acknowledges
--     it although no standby has it. To end it, terminate its session (pg_terminate_backend). Without
--     synchronous replication, follow the section AFTER A FAILOVER below in each
--     failover.
--   * Logical replication does not replicate the counter. After a change to a server that has received
--     the rows by logical replication, by pg_dump of the rows only, or by COPY, follow the section AFTER
--     A FAILOVER too.
--
-- PRIVILEGES
--   A service inserts one row when it starts, and one row each time it changes its worker ID under
--   sustained load. It reads the ID of the new row. It does not read other columns, and does not create,
--   change or delete anything. It must not choose an ID, because the counter does not know such an ID and
--   assigns it again later. So a service may set all columns except ID. An identity column requires no
--   privilege on its sequence. A BIGSERIAL column requires the last statement of this section too.
--
--       CREATE ROLE service LOGIN PASSWORD '<password>';
--       GRANT INSERT (host_name, port, type, launch_date, modified, created), SELECT (id)
--          ON worker_node TO service;
--
--   If an account has the privilege INSERT on the whole table, run these two statements, in this
--   order, to restrict it:
--
--       REVOKE INSERT ON worker_node FROM service;
--       GRANT INSERT (host_name, port, type, launch_date, modified, created), SELECT (id)
--          ON worker_node TO service;
--
--   For a table of a Java service whose column ID is BIGSERIAL, and not for the table of this script:
--
--       GRANT USAGE ON SEQUENCE worker_node_id_seq TO service;
--
-- WHAT A ROW MEANS
--   A row stands for one start of a generator, or for one change of its worker ID under sustained
--   load. The ID of the row is the worker ID in all UIDs that the generator generates with it. The
--   row is the only record of which generator a UID came from. No program reads the other columns.
--
-- WHEN ROWS MAY BE DELETED
--   If an ID is assigned a second time, UIDs are generated that exist already. The server does not
--   assign an ID again as long as the counter never goes back. The counter is the sequence of the
--   column ID. It does not depend on the rows. Therefore:
--   * You may delete old rows at any time, if nobody needs them as a record. Keep the row with the
--     greatest ID, which is required after a failover. Delete them in batches: repeat the statement until
--     it deletes no more rows. It does not block inserts:
--
--       DELETE FROM worker_node
--        WHERE id IN (SELECT id FROM worker_node
--                      WHERE created < now() - INTERVAL '1 year'
--                        AND id < (SELECT max(id) FROM worker_node)
--                      ORDER BY id LIMIT 10000);
--
--   * Never drop and create the table, never TRUNCATE it with RESTART IDENTITY, and never lower the
--     sequence with setval, ALTER SEQUENCE or ALTER TABLE. Each of these sets the counter back.
--   * Never insert a row with an ID of your own, neither with OVERRIDING SYSTEM VALUE nor with COPY. Such
--     a row does not raise the counter, so that the ID is assigned a second time, or the insert fails.
--   * Each table has its own counter. Generators that share a layout and an epoch must use the same
--     table. If they use workerassign.Prefix, each prefix may have its own table.
--
-- AFTER A FAILOVER OR A RESTORED BACKUP
--   A standby that was promoted without the primary's last commits can assign the IDs of these rows a
--   second time. So does a server that was restored from a backup, or to a point in time. (The server
--   writes its counter 32 IDs ahead, so a standby that lacks only a few rows often skips to unused IDs.
--   Do not rely on this.) Raise the counter above every ID that may have been assigned, before the server
--   accepts its first write. Running services insert rows too, when they change their worker ID. So until
--   step 5 the server must refuse writes. If a tool promotes standbys automatically, it must run steps 1
--   to 4 first, or you must use synchronous replication.
--   Steps 3 and 4 are the protection: nothing else knows all IDs that were assigned. With
--   workerassign.WithMinWorkerID(n), a start fails if its ID is below n, and a running service tries again.
--   Each insert increments the counter, so from n on, IDs are accepted. So n must be greater than all IDs
--   that were assigned.
--   Recycled worker IDs notice a failover themselves (SLOTS AFTER A FAILOVER OR A RESTART).
--
--   1. Fence the old primary. If it is started again, it assigns IDs too, and the new primary does not
--      know them. Stop it, prevent services from connecting to it, and prevent it from being started
--      automatically. It may become a standby only after pg_rewind or a new base backup. If it still
--      works, stop it with pg_ctl stop -m fast: then it first sends everything to the standbys that are
--      connected.
--
--   2. Make sure that the standby refuses writes after its promotion, then promote it. It first applies
--      everything that it has received. Services try again while they get the error 25006. If you
--      restore a backup, run the first two statements as soon as the server accepts connections, while
--      services cannot connect to it.
--
--       ALTER SYSTEM SET default_transaction_read_only = on;
--       SELECT pg_reload_conf();
--       SELECT pg_promote();
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
--       SELECT max(id), max(created) FROM worker_node;
--       SELECT max((<uid> >> 13) & ((1 << 22) - 1)) AS worker_id
--         FROM <table>
--        WHERE <uid> >= ((extract(epoch FROM now())::bigint - 7 * 86400 - 1767225600) << 35);
--
--   4. Raise the counter above that ID by a margin. The margin covers IDs that left no trace, for example
--      those of services that have stored no UID yet. It must be greater than the number of IDs that
--      were assigned between the newest row on this server and the fencing of the old primary. Use ten
--      times per_day (see below), and at least 10,000, which is a quarter of a percent of 22 bits. A
--      margin that is too large wastes worker IDs. A margin that is too small can lead to duplicate
--      UIDs. The second statement never lowers the counter. Its result is the new counter, which must be
--      at least the ID that you have chosen. The third statement inserts a row, so that the raised
--      counter can be seen in the table. Run all four in one session, one after the other or as one string.
--
--       START TRANSACTION READ WRITE;
--       SELECT setval(pg_get_serial_sequence('worker_node', 'id'),
--                     greatest(<next ID>, nextval(pg_get_serial_sequence('worker_node', 'id'))));
--       INSERT INTO worker_node (host_name, port, type, launch_date, modified, created)
--       VALUES ('counter raised', '', 3, CURRENT_DATE, now(), now());
--       COMMIT;
--
--   5. Now let the server accept writes:
--
--       ALTER SYSTEM RESET default_transaction_read_only;
--       SELECT pg_reload_conf();
--
-- HOW MANY ARE LEFT
--   The number of worker bits of the layout limits the ID to at most 2^bits - 1. For the default of 22
--   bits (1-28-22-13) that is 4194303. If workerassign.Prefix or Divide uses some of these bits, only
--   the others count. When the IDs exceed the limit, services refuse to start. IDs never start at 1
--   again. This query computes how many days are left at the rate of the last 30 days. If the table is
--   younger, it uses the rate since the first row:
--
--       SELECT used, supply, 100.0 * used / supply AS percent, per_day,
--              greatest(supply - used, 0) / per_day AS days_left
--         FROM (SELECT max(id) AS used, 4194303 AS supply FROM worker_node) AS total,
--              (SELECT 86400 * nullif(sum(last_id - first_id + 1) - 1, 0)
--                        / CASE WHEN min(since) <= now() - INTERVAL '1 hour'
--                               THEN extract(epoch FROM now() - min(since)) END AS per_day
--                 FROM (SELECT min(id) AS first_id, max(id) AS last_id, min(created) AS since
--                         FROM worker_node
--                        WHERE created > now() - INTERVAL '30 days'
--                        GROUP BY id / 1000) AS thousands) AS recent;
--
--   per_day and days_left are NULL if all rows are younger than an hour, or if fewer than two rows are
--   younger than 30 days. In each thousand of IDs, the query counts the IDs from the first row to the
--   last. So it counts IDs without a row, but not a gap that results from raising the counter.
--   Deleted rows count too, because used is the greatest ID and not the number of rows.
--   Inserts that fail or are rolled back use up IDs too, and each crash or promotion uses up to 32.

CREATE TABLE IF NOT EXISTS worker_node (
  id          BIGINT      NOT NULL GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- the worker ID, never assigned twice
  host_name   VARCHAR(64) NOT NULL, -- host name or address
  port        VARCHAR(64) NOT NULL, -- port, or time and random number
  type        INTEGER     NOT NULL, -- 1 container, 2 actual machine, 3 fake
  launch_date DATE        NOT NULL, -- when the generator started
  modified    TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT CURRENT_TIMESTAMP,
  created     TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT CURRENT_TIMESTAMP
);

-- RECYCLED WORKER IDS
--   The tables below hold one pool: the worker IDs of one fleet, which its generators lease and use again
--   (recycled.New with sqlstore.New). They are not connected with the table
--   worker_node. A fleet uses either that table or these two. If two fleets with the same layout and the
--   same epoch must not generate equal UIDs, they must share one pool.
--   The database must have the encoding UTF8. The tables must not be UNLOGGED.
--   For a second pool in the same database, copy the statements below, change the names of tables and
--   indexes, and give the tables' names to the services with sqlstore.WithPoolTables. Each pool can have
--   an account of its own.
--
-- WHAT A SLOT MEANS
--   A row of worker_slot is a worker ID. Its latest lease may generate UIDs with times from from_ms up to
--   until_ms (exclusive). The next lease of the worker ID begins at until_ms or later. So no UID exists
--   twice, whatever clocks show. The holder moves until_ms forward while it is used, about every 12
--   seconds by default, and back to what it used when it releases the lease. token identifies the lease, and
--   is NULL after a release. The columns holder_... describe the latest holder, also after its release.
--   The row of worker_pool describes the fleet. All times are Unix milliseconds. This query shows who holds
--   which worker ID, since when and until when:
--
--       SELECT worker_id,
--              CASE WHEN token IS NULL THEN 'released'
--                   WHEN free_at_ms < extract(epoch FROM now()) * 1000 THEN 'expired'
--                   ELSE 'held' END AS state,
--              holder_name, holder_host, holder_process,
--              to_timestamp(holder_since_ms / 1000.0) AS since,
--              to_timestamp(until_ms / 1000.0) AS until,
--              to_timestamp(free_at_ms / 1000.0) AS free_at
--         FROM worker_slot
--        ORDER BY worker_id;
--
--   held: a generator has the worker ID, or its last holder crashed and nobody may take it before free_at.
--   expired: the last holder did not extend or release its lease. The worker ID is free. released: it is free
--   at free_at, or was never used. If the pool has a floor that is later (floor_ms), a new lease begins there.
--
-- PRIVILEGES ON SLOTS
--   A service reads both tables, inserts rows, and changes every column except the keys. It never deletes a
--   row. It also calls pg_control_system, pg_current_wal_lsn, pg_walfile_name and pg_postmaster_start_time,
--   which every account may execute by default. If you have revoked that, the last statement grants it
--   (the other functions accordingly).
--   Omit the first statement if the account exists.
--
--       CREATE ROLE service LOGIN PASSWORD '<password>';
--       GRANT SELECT, INSERT,
--             UPDATE (revision, format, first_worker_id, slot_count, history, since_ms, floor_ms, horizon_ms, fencing_ms, skew_ms)
--          ON worker_pool TO service;
--       GRANT SELECT, INSERT,
--             UPDATE (revision, token, from_ms, until_ms, history, written_ms, free_at_ms,
--                     holder_name, holder_host, holder_process, holder_since_ms)
--          ON worker_slot TO service;
--       GRANT EXECUTE ON FUNCTION pg_control_system() TO service;
--
-- WHICH SLOTS MAY BE DELETED
--   None. A row is the only record of the times that were granted for its worker ID. If you delete one, its
--   holder loses its lease, and nobody can use the worker ID. Services report that the slot is missing if
--   they require this worker ID (recycled.WithWorkerID), or if all others are held. If you delete all rows of both tables, or
--   drop them, UIDs that exist already can be generated again. The number of rows does not grow with
--   restarts. It is the greatest number of generators that ever ran at the same time, plus a few, and up
--   to twice that number after a failover.
--   Never change a row by hand, except with the statements below.
--   Each generator changes its row about every 12 seconds. Autovacuum removes the old versions. Do not turn
--   it off for these tables.
--
-- A SLOT OR THE POOL IS MISSING
--   Services do not add a slot again that is missing, because they do not know what was granted of it. Insert it with a
--   time that is later than all that can have been granted:
--
--       INSERT INTO worker_slot (worker_id, revision, from_ms, until_ms, history, written_ms, free_at_ms)
--       SELECT <worker ID>, 1, begin_ms, begin_ms, 'inserted', begin_ms, begin_ms
--         FROM (SELECT (extract(epoch FROM now()) * 1000)::bigint + fencing_ms + horizon_ms + skew_ms AS begin_ms
--                 FROM worker_pool) AS pool;
--
--   If only the row of worker_pool was deleted, and services have created another one, set its number of slots:
--
--       UPDATE worker_pool
--          SET slot_count = (SELECT max(worker_id) + 1 FROM worker_slot) - first_worker_id, revision = revision + 1;
--
--   Then raise the floor (SLOTS AFTER A RESTORED BACKUP). If the rows of both tables are missing, do not create the pool
--   with "ringuid pool create". doc/fleet.md says what to do (A slot or the pool is missing).
--
-- DURABILITY OF SLOTS
--   The settings are those of the section DURABILITY above. Set them on every server. Services set
--   synchronous_commit to on for their transactions, if it is off. Synchronize the clocks of all servers,
--   and of the services' hosts, to within a second.
--
-- SLOTS AFTER A FAILOVER OR A RESTART
--   No procedure is required. Services notice that another server answers, that a standby was promoted, or
--   that the server was restarted, because they compare the identifier of the database cluster, its
--   timeline and the server's start each time they write. Leases from before then end at their until_ms,
--   and new leases begin at the floor: about F + H + M after the failover (fencing_ms, horizon_ms and
--   skew_ms of worker_pool, 110 seconds by default). In between, generators wait. Your part is:
--   * Within F (fencing_ms, 30 seconds by default), the old primary must no longer accept writes.
--   * The old primary may become a standby only after pg_rewind or a new base backup.
--   * Replicate the tables by streaming replication, not by logical replication.
--   With sqlstore.WithHistory, services notice none of this. See its documentation.
--
-- SLOTS AFTER A RESTORED BACKUP
--   A server whose data directory was restored has another start, which services notice. So nothing is
--   required, if the old server no longer accepts writes within F. Services do not notice it if a dump was
--   loaded into a running server (pg_restore, psql), if the machine was set back to a snapshot with its memory,
--   or if they use sqlstore.WithHistory. Without the floor, UIDs are then generated twice.
--   If fencing_ms, horizon_ms or skew_ms were raised after the backup, raise them in this row first.
--   In these cases raise the floor before services connect to the server: set default_transaction_read_only, as
--   described in AFTER A FAILOVER OR A RESTORED BACKUP. Run these statements in one session, one after the
--   other or as one string. Assigner.RaiseFloor does the same for an account without that setting. They end
--   all leases. No lease begins before the floor, which is later than every time that the old server can have
--   granted. The server's clock must be right. If they change no row, the pool is missing.
--
--       START TRANSACTION READ WRITE;
--       UPDATE worker_pool
--          SET floor_ms = greatest(coalesce(floor_ms, 0),
--                (extract(epoch FROM now()) * 1000)::bigint + fencing_ms + horizon_ms + skew_ms),
--              revision = revision + 1;
--       UPDATE worker_slot
--          SET free_at_ms = CASE WHEN until_ms > (SELECT floor_ms FROM worker_pool) THEN until_ms
--                ELSE (extract(epoch FROM now()) * 1000)::bigint END,
--              until_ms = greatest(until_ms, (SELECT floor_ms FROM worker_pool)),
--              written_ms = (extract(epoch FROM now()) * 1000)::bigint,
--              token = NULL,
--              revision = revision + 1
--        WHERE (SELECT floor_ms FROM worker_pool) IS NOT NULL;
--       COMMIT;
--
--   If a backup is so old that slots are missing in it, nothing else is required: services add slots again,
--   which begin at the floor.

CREATE TABLE IF NOT EXISTS worker_pool (
  id              SMALLINT      NOT NULL DEFAULT 1 PRIMARY KEY CHECK (id = 1), -- always 1
  revision        BIGINT        NOT NULL, -- increases by 1 with each change of this row
  format          VARCHAR(1024) NOT NULL, -- layout, epoch and time unit of the fleet
  first_worker_id BIGINT        NOT NULL, -- the smallest worker ID
  slot_count      BIGINT        NOT NULL, -- how many slots were added
  history         VARCHAR(255)  NOT NULL, -- the server that granted last, and its start
  since_ms        BIGINT        NOT NULL, -- when that history was first seen
  floor_ms        BIGINT        NULL,     -- no lease begins before it. NULL: no floor
  horizon_ms      BIGINT        NOT NULL, -- H: no grant reaches further into the future
  fencing_ms      BIGINT        NOT NULL, -- F: after a failover, an old primary accepts no writes after that time
  skew_ms         BIGINT        NOT NULL  -- M: the greatest difference of two clocks of servers
);

CREATE TABLE IF NOT EXISTS worker_slot (
  worker_id       BIGINT       NOT NULL PRIMARY KEY, -- the worker ID
  revision        BIGINT       NOT NULL, -- increases by 1 with each change of this row
  token           VARCHAR(64)  NULL,     -- identifies the lease. NULL: it was released
  from_ms         BIGINT       NOT NULL, -- the time of UIDs that the lease may use begins here
  until_ms        BIGINT       NOT NULL, -- and ends before this. The next lease begins here
  history         VARCHAR(255) NOT NULL, -- the server that granted the lease, and its start
  written_ms      BIGINT       NOT NULL, -- when this row was changed
  free_at_ms      BIGINT       NOT NULL, -- when another generator may take the worker ID
  holder_name     VARCHAR(128) NULL,     -- the name of the generator that has or had the lease, if it has one
  holder_host     VARCHAR(255) NULL,     -- its host name
  holder_process  VARCHAR(255) NULL,     -- its process ID
  holder_since_ms BIGINT       NULL      -- when it took the worker ID
);

CREATE INDEX IF NOT EXISTS worker_slot_free_at ON worker_slot (free_at_ms);
CREATE INDEX IF NOT EXISTS worker_slot_holder ON worker_slot (holder_name);

-- NUMBERS FROM SEGMENTS
--   The table below holds the counters of sequences of numbers (package segment, sqlstore.New), one row for
--   each tag. It is not connected with the tables above. It is the table of Leaf's segment mode, so services
--   that use ringuid and servers of Leaf that were adapted to PostgreSQL can use the same tags at the same time.
--   An existing table with these columns can be used without changes. The type of max_id must be BIGINT. The
--   table must not be UNLOGGED. All statements of the services must reach the primary.
--   If the column biz_tag has a nondeterministic collation, different names may be the same row. ringuid uses
--   only the exact name, and reports the other one.
--   Each reservation changes a row. Autovacuum removes the old versions. Do not turn it off for this table.
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
--              update_time, extract(epoch FROM now() - update_time) AS seconds_ago, description
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
--   A service reads the rows and changes max_id and update_time. The last statement is only for services that
--   create tags.
--   Omit the first statement if the account exists.
--
--       CREATE ROLE service LOGIN PASSWORD '<password>';
--       GRANT SELECT (biz_tag, max_id, step), UPDATE (max_id, update_time) ON leaf_alloc TO service;
--       GRANT INSERT (biz_tag, max_id, step, description) ON leaf_alloc TO service;
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
--        WHERE left(biz_tag, char_length('<tag>.')) = '<tag>.'
--          AND substr(biz_tag, char_length('<tag>.') + 1) ~ '^[0-9]{8}([.]stripe[0-9]+of[0-9]+)?$'
--          AND substr(biz_tag, char_length('<tag>.') + 1, 8) < to_char(CURRENT_DATE - 30, 'YYYYMMDD')
--          AND update_time < now() - INTERVAL '30 days'
--        ORDER BY biz_tag;
--
--   If they are the right ones, delete them with the same conditions:
--
--       DELETE FROM leaf_alloc
--        WHERE left(biz_tag, char_length('<tag>.')) = '<tag>.'
--          AND substr(biz_tag, char_length('<tag>.') + 1) ~ '^[0-9]{8}([.]stripe[0-9]+of[0-9]+)?$'
--          AND substr(biz_tag, char_length('<tag>.') + 1, 8) < to_char(CURRENT_DATE - 30, 'YYYYMMDD')
--          AND update_time < now() - INTERVAL '30 days';
--
-- DURABILITY OF TAGS
--   The settings are those of the section DURABILITY above. Set them on every server. Services set
--   synchronous_commit to on for their statements, if it is off. Leaf's servers do not. A server that loses
--   a change of max_id hands out the same numbers a second time. The row has no record of the server, so
--   unlike recycled worker IDs, services notice a failover only if they remember greater numbers.
--
-- TAGS AFTER A FAILOVER OR A RESTORED BACKUP
--   A standby that was promoted without the primary's last changes, and a server that was restored from a
--   backup or to a point in time, have a max_id that is too small. Raise max_id of every tag before services can
--   write to the server: set default_transaction_read_only, as described in AFTER A FAILOVER OR A RESTORED
--   BACKUP. The old server must no longer accept writes. Run the statements in a session in which that setting
--   is off: run SET default_transaction_read_only = off first, as a statement of its own.
--   1. For each tag whose numbers are stored somewhere, look for the greatest one (of a Daily: of the tag's
--      day, the digits behind the date), and raise max_id above it:
--
--       SELECT max(<column>) AS greatest_number FROM <table>;
--       UPDATE leaf_alloc SET max_id = greatest(max_id, <greatest number> + 1) WHERE biz_tag = '<tag>';
--
--   2. Then raise max_id of all tags by a margin, for numbers that left no trace: those that services hold in
--      memory and have not used yet, and those that were handed out but not stored. The margin must be greater
--      than all numbers of a tag that were reserved between the state of this server and the fencing of the old
--      one. If you do not know it, use a large one, for example a day's numbers. A margin that is too large is
--      only a gap, but if it leaves none of the numbers of a Daily (a tag whose name ends with a date), calls fail until
--      midnight: give these tags a smaller one. A margin that is too small can lead to duplicate numbers.
--
--       UPDATE leaf_alloc SET max_id = least(max_id, 9223372036854775807 - <margin>) + <margin> WHERE biz_tag > '';
--
--   3. A tag that was created after the backup is missing. Insert it with a max_id above all its numbers before
--      services do, which would begin it again.

CREATE TABLE IF NOT EXISTS leaf_alloc (
  biz_tag     VARCHAR(128) NOT NULL PRIMARY KEY, -- the tag, the name of a sequence of numbers
  max_id      BIGINT       NOT NULL DEFAULT 1,   -- the next number that nobody has received. Never lower it
  step        BIGINT       NOT NULL,             -- how many numbers a process reserves at once
  description VARCHAR(256) NULL,                 -- for people
  update_time TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT CURRENT_TIMESTAMP -- the latest reservation
);

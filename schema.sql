-- The table that grants worker IDs, for ringuid and for services of Baidu's UidGenerator,
-- which may share it.
--
-- This script may be run again at any time: it creates the table if there is none, and
-- changes and drops nothing. Run it in the database that the services' DSN names:
--
--     mysql ids < schema.sql
--
-- SERVERS
--   MySQL 5.7 and 8, MariaDB 10.6 and later: as it stands, in strict mode too, because both
--   TIMESTAMP columns have defaults of their own.
--   TiDB: as it stands. Without AUTO_ID_CACHE=1, which the comment in the last line is to TiDB
--   (6.4 and later) and to nobody else, each TiDB server takes 30,000 keys at a time, and
--   every restart of one wastes what is left of them.
--   Do not make ID an AUTO_RANDOM column, nor a UUID: a worker ID has to be small.
--
-- PRIVILEGES
--   A service inserts one row when it starts, and one whenever it changes to another worker ID
--   under sustained load. It reads, creates, changes and deletes nothing:
--
--     GRANT INSERT ON ids.WORKER_NODE TO 'service'@'%';
--
-- WHAT A ROW MEANS
--   One start of one generator, or its change to another worker ID under sustained load. Its
--   ID is the worker ID in every UID that this generator made: a row is the only record of
--   who made a UID. Nothing reads the other columns.
--
-- WHEN ROWS MAY BE DELETED
--   An ID that comes a second time makes UIDs that exist already. Keys do not come again as
--   long as the table's counter never goes back. So:
--   * Old rows may be deleted, by DELETE, at any time, if nobody wants the record:
--       DELETE FROM WORKER_NODE
--        WHERE CREATED < NOW() - INTERVAL 1 YEAR
--          AND ID < (SELECT ID FROM (SELECT MAX(ID) AS ID FROM WORKER_NODE) AS newest);
--   * Never delete the row with the greatest ID. MySQL before 8.0 and MariaDB before 10.2.4
--     keep the counter in memory only, and a restart sets it to the greatest ID that is there.
--   * Never TRUNCATE the table, never drop and create it, never lower its AUTO_INCREMENT: each
--     of them sets the counter back.
--   * After restoring a backup, or failing over to a replica that had not received everything,
--     raise the counter beyond all IDs that can have been granted, before any service starts:
--       ALTER TABLE WORKER_NODE AUTO_INCREMENT = <greatest ID ever granted, and then some>;
--   * Two tables are two counters: a fleet that shares a layout and an epoch needs one table,
--     or one for each prefix where it uses workerassign.Prefix.
--
-- HOW MANY ARE LEFT
--   The layout's worker bits bound the ID: 2^bits - 1, which is 4,194,303 for the default 22
--   bits (1-28-22-13); where workerassign.Prefix or Divide take some of these bits for
--   themselves, those that are left do. Beyond that services refuse to start; nothing wraps.
--   At the rate of the last 30 days, or of all of them where the table is younger:
--     SELECT MAX(ID) AS used, 4194303 AS supply, 100 * MAX(ID) / 4194303 AS percent,
--            (4194303 - MAX(ID))
--              * TIMESTAMPDIFF(SECOND, MIN(CASE WHEN CREATED > NOW() - INTERVAL 30 DAY THEN CREATED END), NOW()) / 86400
--              / NULLIF(MAX(ID) - MIN(CASE WHEN CREATED > NOW() - INTERVAL 30 DAY THEN ID END), 0)
--              AS days_left
--       FROM WORKER_NODE;
--   Rows that were deleted still count: the greatest ID does, not the number of rows.
--   auto_increment_increment, where it is n, hands out every n-th key only, and so divides the
--   supply by n. Galera sets it to the number of nodes by itself (wsrep_auto_increment_control);
--   so do some setups with two primaries. Inserts that fail or are rolled back use keys up too.

CREATE TABLE IF NOT EXISTS WORKER_NODE (
  ID          BIGINT      NOT NULL AUTO_INCREMENT COMMENT 'the worker ID; never used twice',
  HOST_NAME   VARCHAR(64) NOT NULL COMMENT 'host name or address',
  PORT        VARCHAR(64) NOT NULL COMMENT 'port, or time and random number',
  TYPE        INT         NOT NULL COMMENT '1 container, 2 actual machine, 3 fake',
  LAUNCH_DATE DATE        NOT NULL COMMENT 'when the generator started',
  MODIFIED    TIMESTAMP   NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
  CREATED     TIMESTAMP   NOT NULL DEFAULT CURRENT_TIMESTAMP,
  PRIMARY KEY (ID)
) ENGINE = InnoDB COMMENT = 'worker IDs of UID generators' /*T![auto_id_cache] AUTO_ID_CACHE=1 */;

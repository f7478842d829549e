// Command backfill gives UIDs to the rows of a table that is older than its UIDs. Each UID has the time at which its row was created, so that
// old and new rows sort together. It can be stopped at any time, and goes on where it was.
//
//	ALTER TABLE orders ADD COLUMN uid BIGINT NULL UNIQUE
//	go run ./backfill -driver mysql -dsn 'user:password@tcp(127.0.0.1:3306)/ids'
//	go run ./backfill -driver pgx -dsn 'postgres://user:password@127.0.0.1:5432/ids'
//
// The table here is orders, with the columns id, created_at and uid. The database also has the table of schema.sql or schema.postgres.sql.
// Each start takes one worker ID of it, and others if many rows have the same second. Set the UIDs of new rows first, by a
// generator with the same format and the same table of worker IDs; then run this program. Rows without a time, or with one that the
// format cannot represent, are printed and keep NULL: give them a UID of the generator of new rows.
//
// A DATETIME of MySQL, or a timestamp of PostgreSQL, is read in the time zone of the session: set that of the values in the data source name
// (for UTC, time_zone=%27%2B00%3A00%27 or timezone=UTC). MySQL sets columns with ON UPDATE CURRENT_TIMESTAMP to the present time: name all
// that the table has in the update, as created_at here.
package main

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"io"
	"log"
	"math"
	"os"
	"os/signal"
	"time"

	_ "github.com/go-sql-driver/mysql" // the driver mysql
	_ "github.com/jackc/pgx/v5/stdlib" // the driver pgx

	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign"
)

// dialect has the statements that differ: of rows, their key and the microseconds since 1970, and of an update.
type dialect struct{ rows, update string }

var dialects = map[string]dialect{
	"mysql": {
		// MySQL returns 0 for times that UNIX_TIMESTAMP cannot represent.
		"SELECT id, CAST(NULLIF(UNIX_TIMESTAMP(created_at), 0) * 1000000 AS SIGNED) FROM orders WHERE uid IS NULL AND id > ? ORDER BY id LIMIT ?",
		"UPDATE orders SET uid = ?, created_at = created_at WHERE id = ? AND uid IS NULL",
	},
	"pgx": {
		"SELECT id, CASE WHEN isfinite(created_at) THEN (extract(epoch FROM created_at::timestamptz) * 1000000)::bigint END FROM orders WHERE uid IS NULL AND id > $1 ORDER BY id LIMIT $2",
		"UPDATE orders SET uid = $1 WHERE id = $2 AND uid IS NULL",
	},
}

func main() {
	driver := flag.String("driver", "mysql", "mysql or pgx")
	dsn := flag.String("dsn", "", "data source name, in the form of the driver")
	batch := flag.Int("batch", 1000, "how many rows one transaction changes")
	format, err := uid.NewFormat()
	if err != nil {
		log.Fatal("backfill: ", err)
	}
	flag.TextVar(&format, "format", format, "layout, epoch and time unit of the generator of new rows")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, *driver, *dsn, *batch, format); err != nil {
		log.Fatal("backfill: ", err)
	}
}

func run(ctx context.Context, out io.Writer, driver, dsn string, batch int, format uid.Format) error {
	statements, known := dialects[driver]
	if !known || dsn == "" || batch < 1 {
		return fmt.Errorf("wrong flags: -driver (%q) must be mysql or pgx, -dsn must be given, and -batch (%d) must be at least 1", driver, batch)
	}
	db, err := sql.Open(driver, dsn)
	if err != nil {
		return err
	}
	defer db.Close()
	b, err := uid.NewBackfill(ctx, workerassign.NewDisposable(db), uid.WithLayout(format.Layout()), uid.WithEpoch(format.Epoch()), uid.WithTimeUnit(format.Unit()))
	if err != nil {
		return err
	}
	for done, after := 0, int64(math.MinInt64); ; {
		rows, err := read(ctx, db, statements.rows, after, batch)
		if err != nil || len(rows) == 0 {
			fmt.Fprintf(out, "%d rows have a UID now\n", done)
			return err
		}
		after = rows[len(rows)-1].key
		var keys []int64
		var times []time.Time
		for _, r := range rows {
			created := time.UnixMicro(r.micros.Int64)
			if !r.micros.Valid || created.Before(format.Epoch()) || !created.Before(format.End()) {
				fmt.Fprintf(out, "row %d: created_at is NULL or not a time of the format %v\n", r.key, format)
				continue
			}
			keys, times = append(keys, r.key), append(times, created)
		}
		ids := make([]uid.ID, len(keys))
		if err := b.Fill(ctx, ids, times); err != nil {
			return fmt.Errorf("rows up to %d: %w", after, err)
		}
		if err := write(ctx, db, statements.update, keys, ids); err != nil {
			return err
		}
		done += len(keys)
	}
}

// row is a row without a UID: its key, and the microseconds from 1970 to its creation.
type row struct {
	key    int64
	micros sql.NullInt64
}

// read returns rows without a UID whose keys follow one.
func read(ctx context.Context, db *sql.DB, query string, after int64, limit int) ([]row, error) {
	result, err := db.QueryContext(ctx, query, after, limit)
	if err != nil {
		return nil, err
	}
	defer result.Close()
	var rows []row
	for result.Next() {
		var r row
		if err := result.Scan(&r.key, &r.micros); err != nil {
			return nil, err
		}
		rows = append(rows, r)
	}
	return rows, result.Err()
}

// write sets the UIDs of rows, all or none. A row that another process has given a UID keeps it.
func write(ctx context.Context, db *sql.DB, update string, keys []int64, ids []uid.ID) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	statement, err := tx.PrepareContext(ctx, update)
	if err != nil {
		return err
	}
	defer statement.Close()
	for i, key := range keys {
		if _, err := statement.ExecContext(ctx, ids[i], key); err != nil {
			return err
		}
	}
	return tx.Commit()
}

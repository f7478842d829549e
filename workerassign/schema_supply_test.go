package workerassign_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/ringuid/ringuid/internal/mariadbtest"
)

// The query is right on tables that are empty, new or old, or whose counter was raised. It never
// returns 0 days if there are many left.
func TestSchemaHowManyAreLeft(t *testing.T) {
	onEachServer(t, func(t *testing.T, start startFunc) {
		db := createIDsDatabase(t, start(t))
		mariadbtest.RunScript(t, db, schemaScript(t))
		query := newSection(t, "HOW MANY ARE LEFT").nextStatement("SELECT used, supply")
		const day, supply = 86_400, 1<<22 - 1
		daily := []agedRow{{1000, 10 * day}, {1030, 9 * day}, {1060, 8 * day}, {1090, 7 * day}, {1120, 6 * day}, {1150, 5 * day},
			{1180, 4 * day}, {1210, 3 * day}, {1240, 2 * day}, {1270, day}, {1300, 0}}
		var dense []agedRow // 100 a day
		for i := range int64(2001) {
			dense = append(dense, agedRow{500 + i, 20*day - i*864})
		}
		for _, tt := range []struct {
			name   string
			rows   []agedRow
			used   int64   // 0 means that used is NULL
			perDay float64 // 0 means that per_day and days_left are NULL
		}{
			{"an empty table", nil, 0, 0},
			{"one row", []agedRow{{7, 5 * day}}, 7, 0},
			{"rows of one second", []agedRow{{1, 0}, {2, 0}, {3, 0}}, 3, 0},
			{"rows of one second, two days ago", []agedRow{{1, 2 * day}, {2, 2 * day}, {3, 2 * day}}, 3, 1},
			{"rows of minutes", []agedRow{{1, 600}, {2, 300}, {3, 0}}, 3, 0},
			{"no young rows", []agedRow{{1, 40 * day}, {2, 35 * day}}, 2, 0},
			{"keys without rows", daily, 1300, 30},
			{"old rows, which do not count", append([]agedRow{{1, 300 * day}, {900, 31 * day}}, daily...), 1300, 30},
			{"thousands", dense, 2500, 100},
			{"a raised counter", append([]agedRow{{1_000_000, 0}}, daily...), 1_000_000, 30.1},
			{"a raised counter, and rows beyond", append([]agedRow{{1_000_000, 3600}, {1_000_001, 60}, {1_000_002, 0}}, dense...), 1_000_002, 100.15},
			{"nothing left", append([]agedRow{{supply, 60}, {supply + 1, 0}}, daily...), supply + 1, 30.2},
		} {
			db.MustExec("DELETE FROM WORKER_NODE")
			addRows(t, db, tt.rows...)
			var got struct {
				Used    *int64   `db:"used"`
				Supply  int64    `db:"supply"`
				Percent *float64 `db:"percent"`
				PerDay  *float64 `db:"per_day"`
				Days    *float64 `db:"days_left"`
			}
			if err := db.Get(&got, query); err != nil {
				t.Fatal(err)
			}
			text := fmt.Sprintf("%s: used %s, percent %s, per day %s, days left %s", tt.name,
				orNull(got.Used), orNull(got.Percent), orNull(got.PerDay), orNull(got.Days))
			if got.Supply != supply || (got.Used == nil) != (tt.used == 0) || (got.PerDay == nil) != (tt.perDay == 0) || (got.Days == nil) != (tt.perDay == 0) {
				t.Errorf("%s; want %d used, %v per day", text, tt.used, tt.perDay)
				continue
			}
			if got.Used != nil && (*got.Used != tt.used || math.Abs(*got.Percent-100*float64(tt.used)/supply) > 0.01) {
				t.Errorf("%s; want %d used", text, tt.used)
			}
			if got.PerDay == nil {
				continue
			}
			days := max(0, float64(supply-tt.used)) / tt.perDay
			// The rows are inserted one after the other, so a slow machine changes the rate slightly.
			if math.Abs(*got.PerDay-tt.perDay) > 0.005*tt.perDay || math.Abs(*got.Days-days) > 0.005*days {
				t.Errorf("%s; want %v per day, %v days left", text, tt.perDay, days)
			}
		}
	})
}

// orNull returns a value as text, or "NULL".
func orNull[T any](v *T) string {
	if v == nil {
		return "NULL"
	}
	return fmt.Sprint(*v)
}

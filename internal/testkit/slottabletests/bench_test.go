//go:build unix

package slottabletests

import (
	"testing"
	"time"

	"github.com/ringuid/ringuid"
	"github.com/ringuid/ringuid/internal/testkit/mariadbtest"
	"github.com/ringuid/ringuid/internal/testkit/testserver"
	"github.com/ringuid/ringuid/stores/sqlstore"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// BenchmarkSlotTable measures how many leases a second a server grants and extends, with 16 clients.
func BenchmarkSlotTable(b *testing.B) {
	db, _ := mariadbtest.Connect(b)
	testserver.RunScript(b, db, ringuid.MySQLSchema())
	db.SetMaxIdleConns(64)
	r := recycled.New(sqlstore.New(db, sqlstore.WithHistory("benchmark")))
	request := workerassign.Request{MaxWorkerID: 1 << 20, Format: "benchmark"}
	statements := func() (n int64) {
		var name string
		if err := db.QueryRow("SHOW GLOBAL STATUS LIKE 'Questions'").Scan(&name, &n); err != nil {
			b.Fatal(err)
		}
		return n
	}
	report := func(b *testing.B, before int64) {
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "leases/s")
		b.ReportMetric(float64(statements()-before)/float64(b.N), "statements/op")
	}
	b.Run("AssignAndRelease", func(b *testing.B) {
		before := statements()
		b.SetParallelism(8)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				l, err := r.Assign(b.Context(), request)
				if err == nil {
					err = l.Release(b.Context(), time.Time{})
				}
				if err != nil {
					b.Error(err)
				}
			}
		})
		report(b, before)
	})
	b.Run("Reserve", func(b *testing.B) {
		before := statements()
		b.SetParallelism(8)
		b.RunParallel(func(pb *testing.PB) {
			l, err := r.Assign(b.Context(), request)
			if err != nil {
				b.Error(err)
				return
			}
			until := time.Now()
			for pb.Next() {
				until = until.Add(time.Millisecond)
				if _, err := l.Reserve(b.Context(), until); err != nil {
					b.Error(err)
				}
			}
		})
		report(b, before)
	})
}

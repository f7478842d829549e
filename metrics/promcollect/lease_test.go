package promcollect

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/testkit/fleettest"
	"github.com/ringuid/ringuid/internal/testkit/slottest"
	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign/assigntest"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// newOnStore returns a generator on a store in memory, whose time begins in the year 2000.
func newOnStore(t *testing.T, store *assigntest.Memory, makeDefault bool) uid.Generator {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	workers := slottest.New(t, store, recycled.WithLogger(quiet))
	g, err := fleettest.NewKind(t.Context(), workers, !makeDefault, uid.WithEpoch(time.Date(1999, 12, 31, 0, 0, 0, 0, time.UTC)), uid.WithLogger(quiet))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	return g
}

// Scraping keeps the lease of an idle generator. An outage of the store shows before UIDs stop, then as not OK, and after it
// as a lease that was lost or extended.
func TestLeaseMetrics(t *testing.T) {
	for _, makeDefault := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			store := assigntest.NewMemory(assigntest.WithNoLoss())
			g := newOnStore(t, store, makeDefault)
			registry := newRegistry(t, NewGeneratorCollector(g))
			value := func(name string) float64 {
				t.Helper()
				found, ok := values(t, registry, "ringuid_uid_"+name, "generator")[""]
				if !ok {
					t.Fatalf("there is no %s", name)
				}
				return found
			}
			// scrape scrapes each 10 seconds for a time, and takes a UID each time if take is true.
			scrape := func(d time.Duration, take bool) (ok, least float64) {
				least = value("lease_remaining_seconds")
				for range d / (10 * time.Second) {
					time.Sleep(10 * time.Second)
					if take {
						ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
						g.NextContext(ctx)
						cancel()
					}
					ok, least = value("ok"), min(least, value("lease_remaining_seconds"))
				}
				return ok, least
			}
			if reserve := value("reserve_ahead_seconds"); reserve != 30 {
				t.Errorf("Default: %v: %v s are reserved ahead, want 30", makeDefault, reserve)
			}
			if ok, least := scrape(10*time.Minute, false); ok != 1 || least < 15 || value("lost_leases_total") != 0 {
				t.Errorf("Default: %v: after 10 idle minutes, ok is %v, at least %v s remained, and %v leases were lost", makeDefault, ok, least, value("lost_leases_total"))
			}
			end := value("lease_end_timestamp_seconds")
			if now := float64(time.Now().Unix()); end < now+15 || end > now+120 {
				t.Errorf("Default: %v: the lease ends at %v, and it is %v", makeDefault, end, now)
			}
			store.Kill()
			if ok, least := scrape(20*time.Second, true); ok != 1 || least <= 0 {
				t.Errorf("Default: %v: 20 s into an outage, ok is %v, and %v s remain", makeDefault, ok, least)
			}
			if ok, least := scrape(5*time.Minute, true); ok != 0 || least != 0 {
				t.Errorf("Default: %v: 5 minutes into an outage, ok is %v, and %v s remain", makeDefault, ok, least)
			}
			store.Start()
			if ok, _ := scrape(5*time.Minute, true); ok != 1 || value("lease_remaining_seconds") < 15 {
				t.Errorf("Default: %v: after an outage, ok is %v, and %v s remain", makeDefault, ok, value("lease_remaining_seconds"))
			}
		})
	}
}

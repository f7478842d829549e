package postgrestest_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/postgrestest"
	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign"
)

// R7: a standby is promoted that lacks the last writes, while generators run. No UID exists twice. With a
// history that does not change, which turns R7 off, the same test finds duplicates.
func TestR7Failover(t *testing.T) {
	for name, opts := range map[string][]workerassign.SlotTableOption{"on": nil, "off": {workerassign.WithHistory("always the same")}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			horizon, reserveAhead := 12*time.Second, 3*time.Second
			if name == "off" {
				horizon, reserveAhead = 70*time.Second, 40*time.Second // so that grants last longer than the slowest failover
			}
			primary := postgrestest.Start(t)
			slotService(t, idsDatabase(t, primary))
			standby := primary.Standby()
			// The driver finds the server that accepts writes.
			dsn := fmt.Sprintf("postgres://service:secret@%s,%s/ids?sslmode=disable&target_session_attrs=read-write&connect_timeout=2", primary.Address(), standby.Address())
			var (
				mu         sync.Mutex
				seen       = map[uid.ID]int{}
				duplicates int
				afterwards = map[int]int{} // how many UIDs each generator has generated since the failover
				promoted   time.Time
				running    sync.WaitGroup
			)
			ctx, stop := context.WithCancel(t.Context())
			defer running.Wait()
			defer stop()
			generators := 0
			start := func(n int) {
				for range n {
					number := generators
					generators++
					pool := postgrestest.Open(t, dsn)
					running.Go(func() {
						a := workerassign.NewRecycled(workerassign.NewSlotTable(pool, opts...), workerassign.WithNewPool(), quiet(),
							workerassign.WithHorizon(horizon), workerassign.WithFencing(time.Second), workerassign.WithSkew(time.Second),
							workerassign.WithClockBound(3*time.Second))
						g, err := uid.NewDefault(ctx, a, uid.WithReserveAhead(reserveAhead), uid.WithMaxBorrow(time.Second), uid.WithRollover(false),
							uid.WithLogger(slog.New(slog.DiscardHandler)))
						if err != nil {
							if ctx.Err() == nil {
								t.Errorf("generator %d: %v", number, err)
							}
							return
						}
						defer g.Close()
						for ctx.Err() == nil {
							id, err := g.Next()
							mu.Lock()
							if err == nil {
								if other, again := seen[id]; again {
									if duplicates++; duplicates == 1 {
										t.Logf("generators %d and %d have both generated %v", other, number, g.Parse(id))
									}
								}
								seen[id] = number
								if !promoted.IsZero() {
									afterwards[number]++
								}
							}
							mu.Unlock()
							time.Sleep(5 * time.Millisecond)
						}
					})
				}
			}
			start(4)
			time.Sleep(2 * time.Second)
			standby.WaitReceived(primary)
			standby.Disconnect()
			start(4) // the standby never learns of their slots
			time.Sleep(4 * time.Second)
			primary.Kill()
			standby.Promote()
			mu.Lock()
			promoted = time.Now()
			mu.Unlock()
			start(4)
			for deadline := time.Now().Add(60 * time.Second); ; time.Sleep(50 * time.Millisecond) {
				mu.Lock()
				working, found := 0, duplicates
				for n := range generators {
					if afterwards[n] > 1000 {
						working++
					}
				}
				mu.Unlock()
				if name == "on" && working == generators || name == "off" && found > 100 {
					t.Logf("%d generators work %v after the promotion; %d duplicates", working, time.Since(promoted).Round(time.Millisecond), found)
					break
				}
				if time.Now().After(deadline) {
					t.Errorf("%d of %d generators work a minute after the promotion", working, generators)
					break
				}
			}
			stop()
			running.Wait()
			t.Logf("%d UIDs, %d duplicates", len(seen), duplicates)
			if (duplicates > 0) != (name == "off") {
				t.Errorf("with R7 %s there are %d duplicates among %d UIDs", name, duplicates, len(seen))
			}
		})
	}
}

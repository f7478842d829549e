package postgrestest_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/postgrestest"
	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign"

	"github.com/jmoiron/sqlx"
)

// R7: a standby is promoted that lacks the last writes, while generators run. No UID exists twice. With a
// history that does not change, which turns R7 off, the same test finds duplicates: those of two generators of
// one worker ID, whose lease the standby never learns of. The others have different worker IDs by chance.
func TestR7Failover(t *testing.T) {
	for name, opts := range map[string][]workerassign.SlotTableOption{"on": nil, "off": {workerassign.WithHistory("always the same")}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			horizon, reserveAhead := 12*time.Second, 3*time.Second
			if name == "off" {
				horizon, reserveAhead = 5*time.Minute, 2*time.Minute // so that grants last longer than the slowest failover
			}
			primary := postgrestest.Start(t)
			slotService(t, idsDatabase(t, primary))
			standby := primary.Standby()
			// The driver finds the server that accepts writes.
			dsn := fmt.Sprintf("postgres://service:secret@%s,%s/ids?sslmode=disable&target_session_attrs=read-write&connect_timeout=2", primary.Address(), standby.Address())
			primary.Admin().MustExec("CREATE DATABASE pair")
			postgrestest.RunScript(t, postgrestest.Open(t, primary.DSN("postgres", "", "pair")), schemaScript(t))
			pairDSN := strings.NewReplacer("/ids?", "/pair?", "service:secret", "postgres:").Replace(dsn)
			var (
				mu         sync.Mutex
				seen       = map[uid.ID]int{}
				duplicates int
				afterwards = map[int]int{} // how many UIDs each generator has generated since the failover
				promoted   time.Time
				running    sync.WaitGroup
			)
			newGenerator := func(ctx context.Context, pool *sqlx.DB, more ...workerassign.RecycledOption) (*uid.Default, error) {
				a := workerassign.NewRecycled(workerassign.NewSlotTable(pool, opts...), append(more, workerassign.WithNewPool(), quiet(),
					workerassign.WithHorizon(horizon), workerassign.WithFencing(time.Second), workerassign.WithSkew(time.Second),
					workerassign.WithClockBound(3*time.Second))...)
				return uid.NewDefault(ctx, a, uid.WithReserveAhead(reserveAhead), uid.WithMaxBorrow(time.Second), uid.WithRollover(false),
					uid.WithLogger(slog.New(slog.DiscardHandler)))
			}
			ctx, stop := context.WithCancel(t.Context())
			defer running.Wait()
			defer stop()
			pair := func() *uid.Default {
				g, err := newGenerator(ctx, postgrestest.Open(t, pairDSN), workerassign.WithWorkerID(0))
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { g.Close() })
				return g
			}
			if err := pair().Close(); err != nil { // creates the pool
				t.Fatal(err)
			}
			generators := 0
			start := func(n int) {
				for range n {
					number := generators
					generators++
					pool := postgrestest.Open(t, dsn)
					running.Go(func() {
						g, err := newGenerator(ctx, pool)
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
			before := pair() // nor of this one
			primary.Kill()
			standby.Promote()
			mu.Lock()
			promoted = time.Now()
			mu.Unlock()
			start(4)
			pairTwice := countTwice(ctx, before, pair())
			for deadline := time.Now().Add(60 * time.Second); ; time.Sleep(50 * time.Millisecond) {
				mu.Lock()
				working := 0
				for n := range generators {
					if afterwards[n] > 1000 {
						working++
					}
				}
				mu.Unlock()
				if working == generators || name == "off" {
					t.Logf("%d generators work %v after the promotion", working, time.Since(promoted).Round(time.Millisecond))
					break
				}
				if time.Now().After(deadline) {
					t.Errorf("%d of %d generators work a minute after the promotion", working, generators)
					break
				}
			}
			stop()
			running.Wait()
			t.Logf("%d UIDs, %d duplicates; the two generators of one worker ID have %d", len(seen), duplicates, pairTwice)
			if name == "on" && duplicates+pairTwice != 0 || name == "off" && pairTwice == 0 {
				t.Errorf("with R7 %s there are %d duplicates among %d UIDs, and two generators of one worker ID have %d", name, duplicates, len(seen), pairTwice)
			}
		})
	}
}

// countTwice generates UIDs of two generators in turn, for three seconds, and returns how many were generated twice.
func countTwice(ctx context.Context, a, b *uid.Default) (twice int) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	seen := map[uid.ID]bool{}
	for ctx.Err() == nil {
		for _, g := range []*uid.Default{a, b} {
			id, err := g.NextContext(ctx)
			if err == nil && seen[id] {
				twice++
			}
			seen[id] = true
		}
		time.Sleep(time.Millisecond)
	}
	return twice
}

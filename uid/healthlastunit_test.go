package uid

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/workerassign"
)

// The store is down, and the last unit of the grant is used up: Health does not promise the unit after it.
func TestHealthInTheLastUnit(t *testing.T) {
	healthModes(t, func(t *testing.T, mode string, construct func(workerassign.Assigner, ...Option) Generator) {
		connection := &slotConnection{memory: newSlotMemory()}
		g := construct(workerassign.NewRecycled(connection, workerassign.WithLogger(slog.New(slog.DiscardHandler))))
		connection.setDown(true)
		until := g.Health().Until
		time.Sleep(time.Until(until) - 500*time.Millisecond)
		for range 100 {
			if _, err := timedNext(t, g, 0); err != nil {
				break
			}
		}
		g.Health()
		synctest.Wait()
		h := g.Health()
		if _, err := timedNext(t, g, time.Second); (err == nil) != h.OK() {
			t.Errorf("Health() = %+v, and then Next() returns %v", h, err)
		}
	})
}

// timedNext takes a UID with a context that ends after d, and checks that the call ends by then.
func timedNext(t *testing.T, g Generator, d time.Duration) (ID, error) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	b := time.Now()
	id, err := g.NextContext(ctx)
	if took := time.Since(b); took > d {
		t.Errorf("NextContext(%v) took %v: %v", d, took, err)
	}
	return id, err
}

package cli

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign"
)

// A lease that begins later than --timeout allows, such as the first one of a pool in Redis, is an error that says so.
func TestNextOfLaterLease(t *testing.T) {
	for _, n := range []int{1, 100} {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(time.Until(time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)))
			later := laterAssigner{time.Now().Add(2 * time.Minute)}
			var stderr bytes.Buffer
			a := &App{Context: context.Background(), Stderr: &stderr, Logger: slog.New(slog.DiscardHandler)}
			c := &nextCommand{N: n, Timeout: 30 * time.Second}
			err := c.generate(a, later, nil, make([]uid.ID, n))
			if err == nil || !strings.Contains(err.Error(), "no UID within --timeout 30s") {
				t.Errorf("%d UIDs: %v", n, err)
			}
			c.Timeout = 3 * time.Minute
			if err := c.generate(a, later, nil, make([]uid.ID, n)); err != nil || time.Now().Before(later.begin) {
				t.Errorf("%d UIDs with enough time: %v at %v", n, err, time.Now())
			}
		})
	}
}

// A laterAssigner grants leases that begin later.
type laterAssigner struct{ begin time.Time }

func (a laterAssigner) Assign(context.Context, workerassign.Request) (workerassign.Lease, error) {
	return a, nil
}

func (a laterAssigner) WorkerID() int64      { return 1 }
func (a laterAssigner) NotBefore() time.Time { return a.begin }
func (a laterAssigner) Reserve(_ context.Context, until time.Time) (time.Time, error) {
	return until, nil
}
func (a laterAssigner) Release(context.Context, time.Time) error { return nil }

package ringbuffer

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A log handler may take from the ring that logs, or block. Takes, puts and padding continue, and
// no lock stays held.
func TestLogHandlerDoesNotBlockRing(t *testing.T) {
	for name, handle := range map[string]func(r *Ring, release <-chan struct{}){
		"takes":  func(r *Ring, _ <-chan struct{}) { r.Take(context.Background()) }, // for example, to give the record an ID
		"blocks": func(_ *Ring, release <-chan struct{}) { <-release },
	} {
		for _, policy := range []TakePolicy{CallerPads, Fail} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var r *Ring
					var handled atomic.Int64
					release := make(chan struct{})
					p := &failingProvider{countingProvider: countingProvider{length: 10}}
					r, err := newRing(Config{Capacity: 1, TakePolicy: policy, Provider: p,
						Logger: slog.New(handlerFunc(func(slog.Record) {
							handled.Add(1)
							handle(r, release)
						}))}, 0)
					if err != nil {
						t.Fatal(err)
					}
					if _, err := r.fill(context.Background(), &r.counters.paddings.initial); err != nil {
						t.Fatal(err)
					}
					r.startPadder(0)
					p.fails.Store(true)
					for range 11 {
						_, err = r.Take(context.Background())
					}
					if err == nil {
						t.Fatal("Take() of an empty ring succeeded")
					}
					synctest.Wait()
					if handled.Load() == 0 {
						t.Fatal("nothing was logged")
					}
					p.fails.Store(false)
					time.Sleep(2 * maxFailureDelay)
					if _, err := r.Take(context.Background()); err != nil {
						t.Errorf("Take() = %v", err)
					}
					full := newTestRing(t, Config{Capacity: 1, Logger: r.cfg.Logger})
					mustPut(t, full, 1, 1)
					for range 2 { // both are logged
						if err := full.Put(context.Background(), Run{First: 2, Length: 1}); !errors.Is(err, ErrFull) {
							t.Errorf("Put() = %v", err)
						}
					}
					close(release)
					synctest.Wait()
					if err := r.Close(); err != nil {
						t.Errorf("Close() = %v", err)
					}
				})
			})
		}
	}
}

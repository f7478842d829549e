package ringbuffer

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// failing is a provider that works until it is told to fail.
type failingProvider struct {
	countingProvider
	fails atomic.Bool
}

func (p *failingProvider) NextRun(ctx context.Context) (Run, error) {
	if p.fails.Load() {
		return Run{}, errors.New("boom")
	}
	return p.countingProvider.NextRun(ctx)
}

// A log handler may take from the ring that logs, block or panic: takes, puts and padding go on,
// and nothing is left locked.
func TestLogHandlerDisturbsNothing(t *testing.T) {
	for name, handle := range map[string]func(r *Ring, release <-chan struct{}){
		"takes":  func(r *Ring, _ <-chan struct{}) { r.Take(context.Background()) }, // as for the record's ID
		"panics": func(*Ring, <-chan struct{}) { panic("the handler is broken") },
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
					if _, err := r.fill(context.Background(), Initial); err != nil {
						t.Fatal(err)
					}
					r.startPadder(0)
					p.fails.Store(true)
					for range 11 {
						_, err = r.Take(context.Background())
					}
					if err == nil {
						t.Fatal("a take of an empty ring")
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
					if err := r.Put(context.Background(), Run{First: 1, Length: 1}); err != nil && !errors.Is(err, ErrFull) {
						t.Errorf("Put() = %v", err)
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

// Without a logger failures go to slog's default one, so that who meets the package first sees
// them; what New returns as an error is not logged as well.
func TestFailuresAreLoggedByDefault(t *testing.T) {
	var log bytes.Buffer
	before := slog.Default()
	defer slog.SetDefault(before)
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	if _, err := New(context.Background(), Config{Provider: providerFunc(func(context.Context) (Run, error) {
		return Run{}, errors.New("boom")
	})}); err == nil {
		t.Fatal("New() succeeded")
	}
	p := &failingProvider{countingProvider: countingProvider{length: 1}}
	r, err := New(context.Background(), Config{Capacity: 1, Provider: p})
	if err != nil {
		t.Fatal(err)
	}
	p.fails.Store(true)
	r.Take(context.Background())
	r.Take(context.Background())
	r.Close()
	if n := strings.Count(log.String(), "padding failed, trying again"); n != 1 {
		t.Errorf("%d records in %q, want 1", n, log.String())
	}
}

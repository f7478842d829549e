package uid

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// R6: a horizon that is less than what a Default generator requests shortens the outage of the store that it
// tolerates. That is logged once, and again if a later lease has an even shorter one.
func TestR6ShortHorizonOfDefault(t *testing.T) {
	for name, tt := range map[string]struct {
		horizons []time.Duration // of the leases
		want     []string
	}{
		"the default of Recycled": {[]time.Duration{70 * time.Second}, nil},
		"just enough":             {[]time.Duration{46 * time.Second}, nil},
		"not bounded":             {[]time.Duration{0}, nil},
		"a unit less":             {[]time.Duration{45 * time.Second}, []string{"horizon=45s"}},
		"a later lease":           {[]time.Duration{70 * time.Second, 40 * time.Second, 40 * time.Second}, []string{"horizon=40s"}},
		"shorter and shorter":     {[]time.Duration{45 * time.Second, 40 * time.Second, 42 * time.Second}, []string{"horizon=45s", "horizon=40s"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &boundedSource{horizon: func(lease int64) time.Duration { return tt.horizons[min(int(lease), len(tt.horizons))-1] }}
				var log bytes.Buffer
				d := newDefault(t, s, WithEpoch(recycledEpoch),
					WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
				for lease := range tt.horizons {
					if lease > 0 {
						s.mu.Lock()
						s.lost = int64(lease)
						s.mu.Unlock()
					}
					for range 100 {
						time.Sleep(time.Second)
						if _, err := d.Next(); err != nil {
							t.Fatal(err)
						}
					}
					if got := d.Stats().WorkerID; got != int64(lease)+1 {
						t.Fatalf("the worker ID is %d, want %d", got, lease+1)
					}
				}
				if !d.cfg.log.Flush(time.Minute) {
					t.Fatal("the log was not written within a minute")
				}
				const text = `level=WARN msg="uid: grants of the lease do not reach as far as time is reserved ahead`
				if n := strings.Count(log.String(), text); n != len(tt.want) {
					t.Errorf("it was logged %d times, want %d:\n%s", n, len(tt.want), log.String())
				}
				for _, want := range tt.want {
					if !strings.Contains(log.String(), want) || !strings.Contains(log.String(), "reserve_ahead=30s") {
						t.Errorf("the log does not name %s and what is reserved ahead:\n%s", want, log.String())
					}
				}
			})
		})
	}
}

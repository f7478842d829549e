package ringbuffer

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"testing"
)

func TestConfigIsChecked(t *testing.T) {
	for _, tt := range []struct {
		name string
		cfg  Config
		want string
	}{
		{"capacity below 1", Config{Capacity: -4}, "capacity is -4 runs"},
		{"capacity not a power of two", Config{Capacity: 6}, "capacity is 6 runs"},
		{"capacity above the maximum", Config{Capacity: 2 * maxCapacity}, "capacity is 2097152 runs; must be a power of two from 1 to 1048576"},
		{"padding factor below 1", Config{PaddingFactor: -1}, "padding factor is -1 %"},
		{"padding factor above 99", Config{PaddingFactor: 100}, "padding factor is 100 %; must be 1 to 99"},
		{"negative interval", Config{Interval: -1}, "interval is -1ns"},
		{"a provider and a put policy", Config{Provider: &countingProvider{length: 1}, PutPolicy: Discard}, "has a provider and a put policy"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := New(context.Background(), tt.cfg)
			if !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("New() = %v, want ErrConfig with %q", err, tt.want)
			}
		})
	}
}

// The least and the greatest values are good.
func TestConfigAtTheBounds(t *testing.T) {
	for _, cfg := range []Config{{Capacity: 1}, {Capacity: maxCapacity}, {PaddingFactor: 1}, {PaddingFactor: 99}} {
		r, err := New(context.Background(), cfg)
		if err != nil {
			t.Errorf("New(%+v): %v", cfg, err)
			continue
		}
		if capacity := cmp.Or(cfg.Capacity, defaultCapacity); r.Stats().CapacityRuns != capacity {
			t.Errorf("the capacity is %d runs, want %d", r.Stats().CapacityRuns, capacity)
		}
		r.Close()
	}
}

// D8: the threshold of a small ring is not 0, and that of a large ring does not overflow.
func TestD8Threshold(t *testing.T) {
	for _, tt := range []struct {
		capacity, factor int
		want             uint64
	}{
		{1, 50, 0}, // a ring of one run is full until the run is used up
		{2, 1, 1}, {2, 50, 1}, {2, 99, 1},
		{8, 1, 1}, {8, 50, 4}, {8, 51, 5}, {8, 99, 7},
		{maxCapacity, 99, 1038091},
	} {
		if got := (Config{Capacity: tt.capacity, PaddingFactor: tt.factor}).lowWatermark(); got != tt.want {
			t.Errorf("threshold of %d runs at %d %% = %d, want %d", tt.capacity, tt.factor, got, tt.want)
		}
	}
}

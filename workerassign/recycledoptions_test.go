package workerassign

import (
	"log/slog"
	"testing"
	"time"
)

// The options of all assigners can be passed to NewRecycled.
func TestOptionsOfRecycled(t *testing.T) {
	logger := slog.New(slog.DiscardHandler)
	r := NewRecycled(nil, WithTimeout(7*time.Second), WithLogger(logger))
	if r.cfg.timeout != 7*time.Second || r.cfg.logger == nil {
		t.Errorf("the timeout is %v, the logger %v", r.cfg.timeout, r.cfg.logger)
	}
}

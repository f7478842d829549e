package recycled

import (
	"log/slog"
	"testing"
	"time"
)

// The timeout and the logger are those of the options.
func TestOptionsOfRecycled(t *testing.T) {
	logger := slog.New(slog.DiscardHandler)
	r := New(nil, WithTimeout(7*time.Second), WithLogger(logger))
	if r.cfg.timeout != 7*time.Second || r.cfg.logger == nil {
		t.Errorf("the timeout is %v, the logger %v", r.cfg.timeout, r.cfg.logger)
	}
}

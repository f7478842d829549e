package uid

import (
	"time"

	"github.com/ringuid/ringuid/ringbuffer"
)

// The defaults of the options.
const (
	DefaultBoostPower       = 3
	DefaultPaddingFactor    = ringbuffer.DefaultPaddingFactor
	DefaultScheduleInterval = time.Second
	DefaultMaxStaleness     = 3 * time.Second
	DefaultMaxBorrow        = time.Hour
	DefaultReserveAhead     = 30 * time.Second
)

// MaxBoostPower is the greatest boost power.
const MaxBoostPower = 16

// DefaultEpoch returns the default epoch, 2026-01-01T00:00:00Z.
func DefaultEpoch() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }

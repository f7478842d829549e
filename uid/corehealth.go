package uid

import (
	"time"

	"github.com/ringuid/ringuid/internal/leasing"
)

// healthOf returns the Health of a generator with a lease in use. err is why it is not OK.
func (c *core) healthOf(h *leasing.HeldLease, err error) Health {
	unit, bounded := c.leases.GrantedUntil(h)
	if err != nil {
		return Health{Err: err, Bounded: bounded}
	}
	until := c.cfg.format.base.Time(min(unit, c.cfg.format.layout.MaxDelta()+1))
	return Health{Until: until, For: max(until.Sub(c.clock.Now()), 0), Bounded: bounded}
}

// isLong reports whether d, the time to wait for a unit, is more than a time unit.
func (c *core) isLong(d time.Duration) bool { return d > c.cfg.format.Unit() }

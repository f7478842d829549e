package promcollect

import (
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringuid/ringuid/uid"
)

// generatorFamilies returns the families of a generator. Those after the first list are of a ring, which a uid.Default
// does not have.
func generatorFamilies() (all, ofRing []family) {
	const counter, gauge = prometheus.CounterValue, prometheus.GaugeValue
	return []family{
			{"ringuid_uid_ok", "Whether Next returns a UID at once, or when the next time unit starts: 1 or 0.", gauge, nil},
			{"ringuid_uid_issued_total", "UIDs that were returned, and those that were claimed for blocks.", counter, nil},
			{"ringuid_uid_rejected_takes_total", "Takes that found no UID and had to wait, to pad or to fail.", counter, nil},
			{"ringuid_uid_rollbacks_total", "How often the wall clock was found set back.", counter, nil},
			{"ringuid_uid_rollovers_total", "Changes to another lease: at the borrow limit, because one was lost, or by Renew.", counter, nil},
			{"ringuid_uid_lost_leases_total", "Leases that the assigner did not extend in time.", counter, nil},
			{"ringuid_uid_void_leases_total", "Leases that were found void: another process may have generated the same UIDs.", counter, nil},
			{"ringuid_uid_worker_id", "The worker ID of the lease in use.", gauge, nil},
			{"ringuid_uid_worker_ids_remaining", "Worker IDs that the assigner had left when it granted the lease in use, if it counts them.", gauge, nil},
			{"ringuid_uid_worker_ids", "Worker IDs that there are in all, if the assigner counts them.", gauge, nil},
			{"ringuid_uid_lease_start_timestamp_seconds", "When the lease was taken into use.", gauge, nil},
			{"ringuid_uid_lease_end_timestamp_seconds", "Up to when the lease is granted, if it has an end.", gauge, nil},
			{"ringuid_uid_lease_remaining_seconds", "For how long UIDs can be generated without the assigner's store, if the lease has an end.", gauge, nil},
			{"ringuid_uid_reserve_ahead_seconds", "How far ahead of need time of the lease is reserved, if it has an end.", gauge, nil},
			{"ringuid_uid_format_end_timestamp_seconds", "When the time bits of the format end.", gauge, nil},
			{"ringuid_uid_ahead_seconds", "How far the time of the next UID lies ahead of the clock. It lies behind if the value is negative.", gauge, nil},
			{"ringuid_uid_layout_rate", "UIDs per second that the layout has for one worker ID.", gauge, nil},
			{"ringuid_uid_format_info", "The format of the UIDs. The value is 1.", gauge, []string{"layout", "epoch", "unit"}},
		}, []family{
			{"ringuid_uid_paddings_total", "Paddings that put at least one run.", counter, []string{"trigger"}},
			{"ringuid_uid_failed_paddings_total", "Tries to pad that failed.", counter, nil},
			{"ringuid_uid_last_failure_timestamp_seconds", "When the last try to pad failed that did.", gauge, nil},
			{"ringuid_uid_dropped_total", "UIDs that were dropped because they became stale, because the grant of a lease is void, or by Renew.", counter, nil},
			{"ringuid_uid_ready", "UIDs that are ready in the ring.", gauge, nil},
			{"ringuid_uid_fill_ratio", "The fraction of the ring's runs that are ready: 0 to 1.", gauge, nil},
			{"ringuid_uid_borrowed_seconds", "How far the time unit that was stamped last lies ahead of the clock.", gauge, nil},
			{"ringuid_uid_borrow_limit_seconds", "How far ahead of the clock UIDs may be stamped.", gauge, nil},
		}
}

// NewGeneratorCollector returns a collector of a generator: a *uid.Cached, a *uid.Default or a *percpu.Generator. It is
// safe for concurrent use, and for several registries. Each scrape calls Stats and Health of the generator once. After
// Close of the generator only its counters are collected.
//
// An invalid argument is an error of Register that wraps ErrOption.
func NewGeneratorCollector(g uid.Generator, opts ...Option) prometheus.Collector {
	c := newConfig(opts)
	families, ofRing := generatorFamilies()
	_, isDefault := g.(*uid.Default)
	if !isDefault {
		families = append(families, ofRing...)
	}
	if g == nil {
		c.fail("the generator is nil; must not be nil")
	} else if g.Format() == (uid.Format{}) {
		c.fail("the generator is nil or the zero value; must be created by a constructor")
	}
	return newCollector(c, "generator", families, func(s *scrape) {
		health := g.Health()
		st := g.Stats()
		closed := errors.Is(health.Err, uid.ErrClosed)
		s.addCounters(st, !isDefault)
		if !closed {
			s.addGauges(st, health)
		}
		if !closed && !isDefault {
			s.addRing(st)
		}
	})
}

// addCounters adds the counters of a generator.
func (s *scrape) addCounters(st uid.Stats, hasRing bool) {
	s.add("ringuid_uid_issued_total", float64(st.Issued))
	s.add("ringuid_uid_rejected_takes_total", float64(st.RejectedTakes))
	s.add("ringuid_uid_rollbacks_total", float64(st.Rollbacks))
	s.add("ringuid_uid_rollovers_total", float64(st.Rollovers))
	s.add("ringuid_uid_lost_leases_total", float64(st.LostLeases))
	s.add("ringuid_uid_void_leases_total", float64(st.VoidLeases))
	if !hasRing {
		return
	}
	paddings := st.Ring.Paddings
	s.add("ringuid_uid_paddings_total", float64(paddings.Initial), "initial")
	s.add("ringuid_uid_paddings_total", float64(paddings.Immediate), "immediate")
	s.add("ringuid_uid_paddings_total", float64(paddings.Scheduled), "scheduled")
	s.add("ringuid_uid_paddings_total", float64(paddings.Caller), "caller")
	s.add("ringuid_uid_failed_paddings_total", float64(st.Ring.FailedPaddings))
	s.add("ringuid_uid_dropped_total", float64(st.Ring.Dropped))
}

// addGauges adds the state of a generator.
func (s *scrape) addGauges(st uid.Stats, health uid.Health) {
	s.addBool("ringuid_uid_ok", health.OK())
	s.add("ringuid_uid_worker_id", float64(st.WorkerID))
	if st.WorkerIDsTotal > 0 {
		s.add("ringuid_uid_worker_ids_remaining", float64(st.WorkerIDsRemaining))
		s.add("ringuid_uid_worker_ids", float64(st.WorkerIDsTotal))
	}
	s.addTime("ringuid_uid_lease_start_timestamp_seconds", st.LeaseSince)
	if st.LeaseBounded {
		s.addTime("ringuid_uid_lease_end_timestamp_seconds", st.LeaseUntil)
		s.add("ringuid_uid_lease_remaining_seconds", health.For.Seconds())
		s.add("ringuid_uid_reserve_ahead_seconds", st.ReserveAhead.Seconds())
	}
	s.addTime("ringuid_uid_format_end_timestamp_seconds", st.End)
	s.add("ringuid_uid_ahead_seconds", st.Ahead.Seconds())
	if layout := st.Format.Layout(); !layout.IsZero() {
		s.add("ringuid_uid_layout_rate", float64(layout.MaxSequence()+1)/st.Format.Unit().Seconds())
		s.add("ringuid_uid_format_info", 1, layout.String(), st.Format.Epoch().Format(time.RFC3339), fmt.Sprint(st.Format.Unit()))
	}
}

// addRing adds the state of a ring.
func (s *scrape) addRing(st uid.Stats) {
	s.addTime("ringuid_uid_last_failure_timestamp_seconds", st.Ring.LastFailure)
	s.add("ringuid_uid_ready", float64(st.Ring.Fill))
	s.add("ringuid_uid_fill_ratio", st.Ring.FillLevel())
	s.add("ringuid_uid_borrowed_seconds", st.Borrowed.Seconds())
	s.add("ringuid_uid_borrow_limit_seconds", st.BorrowLimit.Seconds())
}

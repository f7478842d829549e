package promcollect

import (
	"context"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

const (
	// poolInterval is for how long the state of a pool is used again: to read it means to read all its slots.
	poolInterval = 30 * time.Second

	// poolTimeout is how long a scrape waits for the store.
	poolTimeout = 3 * time.Second
)

// A Pool reports which worker IDs of a pool are in use. A *recycled.Assigner is a Pool. A program may implement it, and no method
// will be added.
type Pool interface {
	State(ctx context.Context) (recycled.State, error)
}

// poolFamilies returns the families of a pool.
func poolFamilies() []family {
	const counter, gauge = prometheus.CounterValue, prometheus.GaugeValue
	return []family{
		{"ringuid_pool_ok", "Whether the pool could be read from its store: 1 or 0.", gauge, nil},
		{"ringuid_pool_worker_ids", "Worker IDs that the pool can have, by its format.", gauge, nil},
		{"ringuid_pool_worker_ids_remaining", "Worker IDs of the pool that can be leased now.", gauge, nil},
		{"ringuid_pool_slots", "Worker IDs that have a slot in the pool, also if they were never leased.", gauge, nil},
		{"ringuid_pool_slots_held", "Worker IDs of the pool that a lease has at present.", gauge, nil},
		{"ringuid_pool_floor_timestamp_seconds", "The time before which no lease begins, if there was one.", gauge, nil},
		{"ringuid_pool_failed_reads_total", "Tries to read the pool that failed.", counter, nil},
	}
}

// NewPoolCollector returns a collector of a pool of recycled worker IDs, usually a *recycled.Assigner: how many there are, and
// how many are left. WithName sets the label pool. Unlike the other collectors, it reads the store: all slots of the pool, at most
// once in 30 seconds, and for at most 3 seconds, unless the store ignores its context, as a file on a disk that hangs: then one scrape
// waits for it, and those after it do not. So register it in one or in a few processes of a fleet. While the pool cannot
// be read, its only gauge is ringuid_pool_ok. It is safe for concurrent use, and for several registries.
//
// An invalid argument is an error of Register that wraps ErrOption.
func NewPoolCollector(pool Pool, opts ...Option) prometheus.Collector {
	c := newConfig(opts)
	if v := reflect.ValueOf(pool); pool == nil || v.Kind() == reflect.Pointer && v.IsNil() {
		c.fail("the pool is nil; must not be nil")
	}
	r := &poolReader{pool: pool, reading: make(chan struct{}, 1)}
	r.reading <- struct{}{}
	return newCollector(c, "pool", poolFamilies(), r.read)
}

// poolReader reads a pool, and keeps what it has read for a while.
type poolReader struct {
	pool    Pool
	reading chan struct{} // has one element while nobody reads; it guards the fields below

	at     time.Time
	state  recycled.State
	err    error
	failed float64
}

// read adds the metrics of the pool.
func (r *poolReader) read(s *scrape) {
	ctx, cancel := context.WithTimeout(context.Background(), poolTimeout)
	defer cancel()
	select {
	case <-r.reading:
	case <-ctx.Done(): // another scrape waits for a store that ignores its context, as a file on a disk that hangs
		s.addBool("ringuid_pool_ok", false)
		return
	}
	defer func() { r.reading <- struct{}{} }()
	if r.at.IsZero() || time.Since(r.at) >= poolInterval {
		r.state, r.err = r.pool.State(ctx)
		r.at = time.Now()
		if r.err != nil {
			r.failed++
		}
	}
	s.add("ringuid_pool_failed_reads_total", r.failed)
	s.addBool("ringuid_pool_ok", r.err == nil)
	if r.err == nil && r.state.Pool.Revision > 0 {
		s.addPool(r.state)
	}
}

// addPool adds the state of a pool.
func (s *scrape) addPool(st recycled.State) {
	var held, free int64
	for _, slot := range st.Slots {
		switch {
		case slot.FreeAt.Before(st.Now):
			free++
		case slot.Token != "":
			held++
		}
	}
	s.add("ringuid_pool_slots", float64(st.Pool.Slots))
	s.add("ringuid_pool_slots_held", float64(held))
	s.addTime("ringuid_pool_floor_timestamp_seconds", st.Pool.Floor)
	if n := workerIDs(st.Pool); n > 0 {
		s.add("ringuid_pool_worker_ids", float64(n))
		s.add("ringuid_pool_worker_ids_remaining", float64(max(n-(st.Pool.Slots-free), 0)))
	}
}

// wrapper finds the bits that workerassign.Divide and Prefix use, in the format of a pool.
var wrapper = regexp.MustCompile(`; divided by ([0-9]+) bits|; prefix [0-9]+ in ([0-9]+) bits`)

// workerIDs returns how many worker IDs a pool can have, or 0 if its format does not say that.
func workerIDs(p recycled.Pool) int64 {
	text, wrappers, _ := strings.Cut(p.Format, ";")
	f, err := uid.ParseFormat(text)
	if err != nil {
		return 0
	}
	greatest := f.Layout().MaxWorkerID()
	for _, m := range wrapper.FindAllStringSubmatch(";"+wrappers, -1) {
		bits, err := strconv.Atoi(m[1] + m[2])
		if err != nil {
			return 0
		}
		greatest >>= bits
	}
	return max(greatest-p.First+1, 0)
}

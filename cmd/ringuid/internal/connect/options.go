package connect

import (
	"cmp"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// Assign says whether worker IDs are used once or again.
type Assign string

// The values of Assign. The zero value means the default of the kind of store: Disposable for files and databases,
// Recycled for the others, which have no disposable worker IDs.
const (
	Disposable Assign = "disposable"
	Recycled   Assign = "recycled"
)

// Options are what a URL need not contain. The zero value is valid. Each field but Logger is also a parameter of the URL. If
// both are set, they must be equal.
type Options struct {
	Assign Assign

	Table     string // of disposable worker IDs; "": the package's default
	PoolTable string // of recycled worker IDs; it and SlotTable are both set or both ""
	SlotTable string
	TagTable  string // of segments; "": the package's default
	Pool      string // in Redis; "": the package's default
	Replicas  *int64 // in Redis; nil: half of the servers

	FailoverGap *int64 // of tags in Redis, etcd and ZooKeeper; nil: the packages' default

	// These are for recycled worker IDs. The zero values mean the defaults of package workerassign.
	Name          string
	WorkerID      *int64
	FirstWorkerID *int64
	Horizon       time.Duration
	Fencing       *time.Duration
	Skew          *time.Duration
	ClockBound    time.Duration
	History       string // of databases only

	Logger *slog.Logger // of the assigner; nil: the generator's
}

// Durations returns H, F and M of a process with these options that finds that a store may have lost writes: of each, the pool's or its
// own, whichever is longer. Before there is a pool, p is the zero value.
func (o Options) Durations(p recycled.Pool) (horizon, fencing, skew time.Duration) {
	longer := func(pool time.Duration, own *time.Duration, fallback time.Duration) time.Duration {
		if own != nil {
			return max(pool, *own)
		}
		return max(pool, fallback)
	}
	return max(p.Horizon, cmp.Or(o.Horizon, workerassign.DefaultHorizon)),
		longer(p.Fencing, o.Fencing, workerassign.DefaultFencing), longer(p.Skew, o.Skew, workerassign.DefaultSkew)
}

// FloorWait returns how long after the clock of a store such a process lets leases begin: the sum of Durations.
func (o Options) FloorWait(p recycled.Pool) time.Duration {
	horizon, fencing, skew := o.Durations(p)
	return horizon + fencing + skew
}

// A parameter is one of the URL's parameters that belong to Options.
type parameter struct {
	name string
	set  func(o *Options, value string) error
}

// parameters returns all parameters. A setter returns an error if the value is wrong, or not the one that is set already.
func parameters() []parameter {
	return []parameter{
		{"assign", func(o *Options, v string) error {
			if v != string(Disposable) && v != string(Recycled) {
				return fmt.Errorf("must be %s or %s", Disposable, Recycled)
			}
			return assign(&o.Assign, Assign(v))
		}},
		{"table", func(o *Options, v string) error { return assign(&o.Table, v) }},
		{"pool-table", func(o *Options, v string) error { return assign(&o.PoolTable, v) }},
		{"slot-table", func(o *Options, v string) error { return assign(&o.SlotTable, v) }},
		{"tag-table", func(o *Options, v string) error { return assign(&o.TagTable, v) }},
		{"pool", func(o *Options, v string) error { return assign(&o.Pool, v) }},
		{"replicas", func(o *Options, v string) error { return assignNumber(&o.Replicas, v) }},
		{"failover-gap", func(o *Options, v string) error { return assignNumber(&o.FailoverGap, v) }},
		{"name", func(o *Options, v string) error { return assign(&o.Name, v) }},
		{"history", func(o *Options, v string) error { return assign(&o.History, v) }},
		{"worker-id", func(o *Options, v string) error { return assignNumber(&o.WorkerID, v) }},
		{"first-worker-id", func(o *Options, v string) error { return assignNumber(&o.FirstWorkerID, v) }},
		{"horizon", func(o *Options, v string) error { return assignPositive(&o.Horizon, v) }},
		{"clock-bound", func(o *Options, v string) error { return assignPositive(&o.ClockBound, v) }},
		{"fencing", func(o *Options, v string) error { return assignDuration(&o.Fencing, v) }},
		{"skew", func(o *Options, v string) error { return assignDuration(&o.Skew, v) }},
	}
}

var errDifferent = fmt.Errorf("differs from the value of the option")

// assign sets a field that has no value yet.
func assign[T comparable](field *T, value T) error {
	var zero T
	if value == zero {
		return fmt.Errorf("must not be empty")
	}
	if *field != zero && *field != value {
		return errDifferent
	}
	*field = value
	return nil
}

func assignNumber(field **int64, text string) error {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return fmt.Errorf("must be a decimal number of at least 0")
	}
	return assignPointer(field, n)
}

func assignPositive(field *time.Duration, text string) error {
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return fmt.Errorf("must be a duration of more than 0, such as 45s")
	}
	return assign(field, d)
}

func assignDuration(field **time.Duration, text string) error {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return fmt.Errorf("must be a duration of at least 0, such as 30s")
	}
	return assignPointer(field, d)
}

// assignPointer sets a field that has no value yet, and whose zero value is one.
func assignPointer[T comparable](field **T, value T) error {
	if *field != nil && **field != value {
		return errDifferent
	}
	*field = &value
	return nil
}

// check checks the options against each other and against the kind of store, and fills in the default of Assign.
func (o *Options) check(k Kind) error {
	isDatabase := k == MySQL || k == PostgreSQL
	switch o.Assign {
	case "":
		o.Assign = Recycled
		if isDatabase || k == File {
			o.Assign = Disposable
		}
	case Recycled:
	case Disposable:
		if !isDatabase && k != File {
			return fmt.Errorf("assign is %s, and %s has no disposable worker IDs; must be %s", o.Assign, k, Recycled)
		}
	default:
		return fmt.Errorf("assign is %q; must be %s or %s", o.Assign, Disposable, Recycled)
	}
	for _, f := range []struct {
		name       string
		isSet      bool
		belongs    bool
		belongsTo  string
		isRecycled bool
	}{
		{"table", o.Table != "", isDatabase && o.Assign == Disposable, "disposable worker IDs in databases", false},
		{"pool-table", o.PoolTable != "", isDatabase, "databases", false},
		{"slot-table", o.SlotTable != "", isDatabase, "databases", false},
		{"tag-table", o.TagTable != "", isDatabase, "databases", false},
		{"history", o.History != "", isDatabase, "databases", true},
		{"pool", o.Pool != "", k == Redis, "Redis", false},
		{"replicas", o.Replicas != nil, k == Redis, "Redis", false},
		{"failover-gap", o.FailoverGap != nil, k == Redis || k == Etcd || k == ZooKeeper, "Redis, etcd and ZooKeeper", false},
		{"name", o.Name != "", true, "", true},
		{"worker-id", o.WorkerID != nil, true, "", true},
		{"first-worker-id", o.FirstWorkerID != nil, true, "", true},
		{"horizon", o.Horizon != 0, true, "", true},
		{"fencing", o.Fencing != nil, true, "", true},
		{"skew", o.Skew != nil, true, "", true},
		{"clock-bound", o.ClockBound != 0, true, "", true},
	} {
		switch {
		case f.isSet && !f.belongs:
			return fmt.Errorf("%s is set, but is only for %s", f.name, f.belongsTo)
		case f.isSet && f.isRecycled && o.Assign != Recycled:
			return fmt.Errorf("%s is set, but is only for recycled worker IDs: add assign=%s", f.name, Recycled)
		}
	}
	if (o.PoolTable == "") != (o.SlotTable == "") {
		return fmt.Errorf("one of pool-table and slot-table is set; must be both or none")
	}
	return nil
}

// recycled returns the options of recycled worker IDs.
func (o *Options) recycled() []recycled.Option {
	var opts []recycled.Option
	if o.Name != "" {
		opts = append(opts, recycled.WithName(o.Name))
	}
	if o.WorkerID != nil {
		opts = append(opts, recycled.WithWorkerID(*o.WorkerID))
	}
	if o.FirstWorkerID != nil {
		opts = append(opts, recycled.WithFirstWorkerID(*o.FirstWorkerID))
	}
	if o.Horizon != 0 {
		opts = append(opts, recycled.WithHorizon(o.Horizon))
	}
	if o.Fencing != nil {
		opts = append(opts, recycled.WithFencing(*o.Fencing))
	}
	if o.Skew != nil {
		opts = append(opts, recycled.WithSkew(*o.Skew))
	}
	if o.ClockBound != 0 {
		opts = append(opts, recycled.WithClockBound(o.ClockBound))
	}
	if o.Logger != nil {
		opts = append(opts, recycled.WithLogger(o.Logger))
	}
	return opts
}

package uid

import (
	"time"

	"github.com/ringuid/ringuid/bitsalloc"
)

// Settings configure a generator and its assigner from outside a program: from JSON, from YAML, from environment
// variables, and from flags or any other source of keys and texts (Set). The keys are those of SettingKeys. Each source
// changes only what it contains, so that several can be read one after the other. What is wrong is reported as a whole: each
// call returns one *SettingsError with all faults that it has found.
//
//	var s uid.Settings
//	err := json.Unmarshal(file, &s)                        // or yaml.Unmarshal, also as a field of another type
//	err = s.ReadEnv(uid.SettingsPrefix, os.LookupEnv)      // RINGUID_LAYOUT and so on replace what is in the file
//	g, err := s.NewGenerator(ctx, uid.Backend{DB: db})
//
// The zero value has the defaults of the options and no assigner. A field that is the zero value (nil, "", 0) is not set.
// A policy or a clock that the program implements itself is passed to NewGenerator as an option.
type Settings struct {
	Generator string // GeneratorCached, the default, or GeneratorDefault

	Layout   bitsalloc.Layout // see WithLayout
	Epoch    time.Time        // see WithEpoch
	TimeUnit time.Duration    // see WithTimeUnit

	BoostPower       *int           // see WithBoostPower
	PaddingFactor    int            // see WithPaddingFactor
	ScheduleInterval *time.Duration // see WithScheduleInterval
	MaxStaleness     time.Duration  // see WithMaxStaleness
	MaxBorrow        *time.Duration // see WithMaxBorrow
	Rollover         *bool          // see WithRollover
	RolloverInterval *time.Duration // see WithRolloverInterval
	ReserveAhead     time.Duration  // see WithReserveAhead
	TakePolicy       TakePolicy     // see WithTakePolicy; as text CallerPads, Wait or Fail
	Rollback         RollbackPolicy // see WithRollback
	Spread           int            // see WithSpread

	Assigner     string // AssignerDisposable, AssignerRecycled or AssignerStatic
	Store        string // what the assigner keeps worker IDs in: see NewAssigner
	WorkerID     string // of AssignerStatic and AssignerRecycled: a number, or "ordinal": see NewAssigner
	WorkerName   string // of AssignerRecycled: see recycled.WithName
	WorkerPrefix string // "5/3" is the prefix 5 of 3 bits: see workerassign.Prefix
	WorkerDivide int    // the number of bits: see workerassign.Divide
}

// The values of Settings.Generator.
const (
	GeneratorCached  = "cached"  // NewCached
	GeneratorDefault = "default" // NewDefault
)

// The values of Settings.Assigner.
const (
	AssignerDisposable = "disposable" // workerassign.NewDisposable, or NewFile if the store is a file
	AssignerRecycled   = "recycled"   // workerassign.NewRecycled
	AssignerStatic     = "static"     // workerassign.Static, or StaticFile if the store is a file
)

// Options returns the options for the fields that are set, for NewCached, NewDefault and NewFormat. They are checked by these
// functions, and by Check.
func (s Settings) Options() []Option {
	var opts []Option
	add := func(set bool, option func() Option) {
		if set {
			opts = append(opts, option())
		}
	}
	add(!s.Layout.IsZero(), func() Option { return WithLayout(s.Layout) })
	add(!s.Epoch.IsZero(), func() Option { return WithEpoch(s.Epoch) })
	add(s.TimeUnit != 0, func() Option { return WithTimeUnit(s.TimeUnit) })
	add(s.BoostPower != nil, func() Option { return WithBoostPower(*s.BoostPower) })
	add(s.PaddingFactor != 0, func() Option { return WithPaddingFactor(s.PaddingFactor) })
	add(s.ScheduleInterval != nil, func() Option { return WithScheduleInterval(*s.ScheduleInterval) })
	add(s.MaxStaleness != 0, func() Option { return WithMaxStaleness(s.MaxStaleness) })
	add(s.MaxBorrow != nil, func() Option { return WithMaxBorrow(*s.MaxBorrow) })
	add(s.Rollover != nil, func() Option { return WithRollover(*s.Rollover) })
	add(s.RolloverInterval != nil, func() Option { return WithRolloverInterval(*s.RolloverInterval) })
	add(s.ReserveAhead != 0, func() Option { return WithReserveAhead(s.ReserveAhead) })
	add(s.TakePolicy != nil, func() Option { return WithTakePolicy(s.TakePolicy) })
	add(s.Spread != 0, func() Option { return WithSpread(s.Spread) })
	add(s.Rollback != RollbackPolicy{}, func() Option { return WithRollback(s.Rollback) })
	return opts
}

// Format returns the format of the settings' generators: see NewFormat.
func (s Settings) Format() (Format, error) { return NewFormat(s.Options()...) }

package uid

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/bitsalloc"
	"github.com/ringuid/ringuid/workerassign"
)

// D11: the original ignores settings of 0 or less. Here each one is an error that names the setting and
// its bound, before a worker ID is used up.
func TestD11BadOptions(t *testing.T) {
	for _, tt := range []struct {
		option any
		want   string
	}{
		{nil, "an option is nil"},
		{WithLayout(bitsalloc.Layout{}), "the layout is the zero value"},
		{WithEpoch(time.Time{}), "it is the zero time"},
		{WithEpoch(time.Unix(-1<<60, 0)), "must be 1 to 9999"},
		{WithEpoch(time.Unix(1, 5)), "1970-01-01T00:00:01.000000005Z must be a whole second"},
		{WithBoostPower(-1), "boost power is -1; must be 0 to 16"},
		{WithBoostPower(17), "boost power is 17; must be 0 to 16"},
		{WithBoostPower(math.MaxInt), "boost power is"},
		{WithPaddingFactor(0), "padding factor is 0 %; must be 1 to 99"},
		{WithPaddingFactor(-3), "padding factor is -3 %"},
		{WithPaddingFactor(100), "padding factor is 100 %"},
		{WithScheduleInterval(-time.Second), "schedule interval is -1s"},
		{WithMaxBorrow(-time.Second), "borrow limit is -1s"},
		{WithRolloverInterval(-time.Second), "rollover interval is -1s"},
		{WithReserveAhead(0), "time to reserve ahead is 0s; must be at least the time unit, 1s"},
		{WithTimeUnit(0), "bad time unit: 0s must be"},
		{WithTimeUnit(-time.Second), "bad time unit: -1s must be"},
		{WithTimeUnit(time.Microsecond), "bad time unit: 1µs must be"},
		{WithTimeUnit(3 * time.Millisecond), "bad time unit: 3ms must be a second, or divide a second"},
		{WithTimeUnit(2 * time.Second), "bad time unit: 2s must be"},
		{WithTakePolicy(nil), "the take policy is nil"},
		{WithLogger(nil), "the logger is nil"},
		{WithClock(nil), "the clock is nil"},
	} {
		t.Run(tt.want, func(t *testing.T) {
			a := new(disposableAssigner)
			if _, ofCached := tt.option.(Option); ofCached || tt.option == nil {
				expectConstructorError(t, modes[0].name, modes[0].make, a, ErrOption, tt.want, tt.option)
			}
			if o, ofDefault := tt.option.(DefaultOption); ofDefault || tt.option == nil {
				expectConstructorError(t, modes[1].name, modes[1].make, a, ErrOption, tt.want, tt.option)
				if err := CheckDefault(o); !errors.Is(err, ErrOption) || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("CheckDefault = %v", err)
				}
			}
			if n := a.lastID.Load(); n != 0 {
				t.Errorf("%d worker IDs were used up", n)
			}
		})
	}
	t.Run("no assigner", func(t *testing.T) {
		for _, mode := range modes {
			if _, err := mode.make(context.Background(), nil); !errors.Is(err, ErrOption) {
				t.Errorf("%s: %v, want ErrOption", mode.name, err)
			}
		}
	})
}

// What depends on the ring and its schedule is checked together.
func TestOptionsOfTheRing(t *testing.T) {
	for text, opts := range map[string][]any{
		"staleness bound is 0s; must be at least 3s":   {WithMaxStaleness(0)},
		"staleness bound is -1ns; must be at least 3s": {WithMaxStaleness(-1)},
		"must be 0 (off) to 8760h0m0s":                 {WithScheduleInterval(math.MaxInt64)},
		"turns off the scheduled padding":              {WithScheduleInterval(0), WithMaxStaleness(time.Minute)},
		"borrow limit is 4s; must be at least 16s":     {WithMaxBorrow(4 * time.Second)},
	} {
		t.Run(text, func(t *testing.T) {
			a := new(disposableAssigner)
			expectConstructorError(t, modes[0].name, modes[0].make, a, ErrOption, text, opts...)
			if n := a.lastID.Load(); n != 0 {
				t.Errorf("%d worker IDs were used up", n)
			}
		})
	}
}

// A constructor does not accept what it does not read.
func TestOptionKinds(t *testing.T) {
	for _, tt := range []struct {
		option                any
		cached, byDef, format bool
	}{
		{WithEpoch(DefaultEpoch()), true, true, true},
		{WithLogger(slog.Default()), true, true, false},
		{WithBoostPower(3), true, false, false},
		{WithRollback(RideOut()), false, true, false},
	} {
		_, cached := tt.option.(Option)
		_, byDef := tt.option.(DefaultOption)
		_, both := tt.option.(CommonOption)
		_, format := tt.option.(FormatOption)
		if cached != tt.cached || byDef != tt.byDef || both != (cached && byDef) || format != tt.format {
			t.Errorf("%T: of NewCached: %v, of NewDefault: %v, of NewFormat: %v", tt.option, cached, byDef, format)
		}
	}
}

func TestOptionsThatGoTogether(t *testing.T) {
	for name, opts := range map[string][]any{
		"only a long interval":  {WithScheduleInterval(5 * time.Minute)},
		"no schedule":           {WithScheduleInterval(0)},
		"no rollover interval":  {WithRolloverInterval(0), WithSpread(0)},
		"only the largest ring": {WithBoostPower(MaxBoostPower)},
		"the smallest ring":     {WithBoostPower(0), WithPaddingFactor(1)},
		"a short time to reserve ahead, and then a unit that it allows": {WithReserveAhead(time.Millisecond), WithTwitterLayout()},
		"no borrowing":              {WithMaxBorrow(0), WithRollover(false)},
		"a wide sequence":           {WithLayout(layout(t, 40, 1, 22)), WithBoostPower(3)},
		"the least staleness bound": {WithScheduleInterval(time.Second), WithMaxStaleness(3 * time.Second)},
		"the longest interval":      {WithScheduleInterval(365 * 24 * time.Hour)},
		"several bounds":            {WithPaddingFactor(99), WithScheduleInterval(1), WithMaxStaleness(time.Hour)},
	} {
		t.Run(name, func(t *testing.T) {
			for _, mode := range modes {
				g, err := mode.make(context.Background(), new(disposableAssigner), opts...)
				if err != nil {
					t.Fatalf("%s: %v", mode.name, err)
				}
				next(t, g)
				g.Close()
			}
		})
	}
}

// The constructors report all options that are wrong, and CachedBounds reports what NewCached does.
func TestAllBadOptions(t *testing.T) {
	opts := []any{WithBoostPower(-1), WithPaddingFactor(0), WithMaxStaleness(time.Second)}
	const want = "uid: invalid option: boost power is -1; must be 0 to 16\nuid: invalid option: padding factor is 0 %; must be 1 to 99"
	const staleness = "\nuid: invalid option: staleness bound is 1s; must be at least 3s, the schedule interval and two time units"
	_, cachedErr := NewCached(t.Context(), workerassign.Static(1), accepted[Option](opts)...)
	_, _, boundsErr := CachedBounds(accepted[Option](opts)...)
	_, formatErr := NewFormat(WithTimeUnit(0), WithLayout(bitsalloc.Layout{}))
	const format = "uid: invalid option: bitsalloc: bad time unit: 0s must be a second, or divide a second and be at least 1ms\nuid: invalid option: the layout is the zero value; create one with bitsalloc.New"
	for got, want := range map[error]string{cachedErr: want + staleness, boundsErr: want + staleness, formatErr: format} {
		if !errors.Is(got, ErrOption) || got.Error() != want {
			t.Errorf("%v\nwant %s", got, want)
		}
	}
}

// CachedBounds returns the bounds of the options, or those that are in force with the others.
func TestCachedBounds(t *testing.T) {
	for _, tt := range []struct {
		opts              []any
		staleness, borrow time.Duration
	}{
		{nil, DefaultMaxStaleness, DefaultMaxBorrow},
		{[]any{WithScheduleInterval(10 * time.Second), WithBoostPower(12)}, 12 * time.Second, 8192 * time.Second},
		{[]any{WithMaxStaleness(time.Minute), WithMaxBorrow(time.Minute)}, time.Minute, time.Minute},
	} {
		if staleness, borrow, err := CachedBounds(accepted[Option](tt.opts)...); staleness != tt.staleness || borrow != tt.borrow || err != nil {
			t.Errorf("%v, %v, %v; want %v, %v", staleness, borrow, err, tt.staleness, tt.borrow)
		}
	}
}

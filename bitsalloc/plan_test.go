package bitsalloc

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"
)

// The two configurations that the original's users publish, with the figures that they give.
//
// The figures are correct for time and restarts: 31 bits of seconds are 68 years, 30 bits are 34 years.
// For the rate they are only nearly correct: in a second, 28 nodes with 9 sequence bits have 28 × 512 =
// 14,336 UIDs, not 14,400, and 37 nodes with 6 bits have 37 × 64 = 2,368, not 2,400. A Cached generator
// borrows the difference from later seconds, so the figures are correct for a peak. Sustained for all
// those years, UID time would run 0.5 percent, or 1.4 percent, faster than the clock, and the time bits
// would end months earlier, unless rollovers, which use up worker IDs, reset it.
func TestPublishedConfigurations(t *testing.T) {
	for _, tt := range []struct {
		layout   string
		needs    Needs
		rate     float64
		restarts float64 // per day and node, for which the worker bits last that long
	}{
		{"1-31-23-9", Needs{Nodes: 28, Sustained: 14_400, Years: 68}, 14_336. / 14_400, 12},
		{"1-30-27-6", Needs{Nodes: 37, Sustained: 2_400, Years: 34}, 2_368. / 2_400, 292},
	} {
		t.Run(tt.layout, func(t *testing.T) {
			l, err := ParseLayout(tt.layout)
			if err != nil {
				t.Fatal(err)
			}
			tt.needs.RestartsPerDay = tt.restarts
			f, err := tt.needs.Margins(l)
			if err != nil {
				t.Fatal(err)
			}
			if f.Years < 1 || f.Years > 1.01 {
				t.Errorf("its time bits last %v times as long", f.Years)
			}
			if math.Abs(f.Rate-tt.rate) > 1e-9 || f.Rate >= 1 {
				t.Errorf("its rate is %v times what is said, want %v", f.Rate, tt.rate)
			}
			if f.Workers < 1 || f.Workers > 1.01 {
				t.Errorf("%v restarts a day and node: worker IDs last %v times as long", tt.restarts, f.Workers)
			}
			// What would hold: the same for a rate that the sequence has.
			tt.needs.Sustained *= tt.rate
			fits, err := Plan(tt.needs)
			if err != nil {
				t.Fatal(err)
			}
			found := false
			for _, fit := range fits {
				found = found || fit.Layout == l
			}
			if !found {
				t.Errorf("of %v, the layout itself is missing", fits)
			}
		})
	}
}

func TestPlan(t *testing.T) {
	fits, err := Plan(Needs{Nodes: 50, RestartsPerDay: 4, Sustained: 100_000, Peak: 1_000_000, Years: 10})
	if err != nil || len(fits) < 3 {
		t.Fatalf("%v, %v", fits, err)
	}
	for i, f := range fits {
		l := f.Layout
		if l.TimeBits()+l.WorkerBits()+l.SequenceBits() != 63 || f.least() < 1 || i > 0 && f.least() > fits[i-1].least() {
			t.Errorf("%d: %v", i, f)
		}
		// Counted by hand, with whole numbers.
		years := int64(10 * 365.25 * 86400)
		if l.MaxDelta()+1 < years || l.MaxWorkerID() < 50*(1+4*3652) || 50*(l.MaxSequence()+1) < 100_000 {
			t.Errorf("%v does not meet the needs", f)
		}
		if want := float64(50*(l.MaxSequence()+1)) / 1_000_000; f.Peak != want {
			t.Errorf("%v: peak margin %v, want %v", l, f.Peak, want)
		}
	}
	// Each layout that is missing falls short.
	for timeBits := 1; timeBits <= 61; timeBits++ {
		for workerBits := 1; timeBits+workerBits < 63; workerBits++ {
			l, err := New(timeBits, workerBits, 63-timeBits-workerBits)
			if err != nil {
				t.Fatal(err)
			}
			listed := false
			for _, f := range fits {
				listed = listed || f.Layout == l
			}
			meets := l.MaxDelta()+1 >= int64(10*365.25*86400) && l.MaxWorkerID() >= 50*(1+4*3652.5) && 50*(l.MaxSequence()+1) >= 100_000
			if listed != meets {
				t.Errorf("%v: listed %v, meets the needs %v", l, listed, meets)
			}
		}
	}
}

// The layouts with the widest fields are found too.
func TestPlanWithTheWidestFields(t *testing.T) {
	for want, needs := range map[string]Needs{
		"1-61-1-1": {Nodes: 1, Sustained: 2000, Years: 6e7, Unit: time.Millisecond},
		"1-1-61-1": {Nodes: math.MaxInt/8 + 1, Sustained: 1 << 59, Years: 5e-8},
		"1-1-1-61": {Nodes: 1, Sustained: 1 << 60, Years: 5e-8},
	} {
		if needs.Nodes > 1 && math.MaxInt == math.MaxInt32 {
			continue // an int cannot be the number of nodes that requires it
		}
		fits, err := Plan(needs)
		found := false
		for _, f := range fits {
			found = found || f.Layout.String() == want
		}
		if !found {
			t.Errorf("%v: %v, %v", want, fits, err)
		}
	}
}

// The margins are the capacity divided by the need, in units of any length.
func TestMargins(t *testing.T) {
	n := Needs{Nodes: 10, RestartsPerDay: 2, Sustained: 1000, Peak: 5000, Years: 4}
	const days = 4 * 365.25
	for _, tt := range []struct {
		unit    time.Duration
		seconds float64
	}{{0, 1}, {time.Second, 1}, {time.Millisecond, 0.001}, {250 * time.Millisecond, 0.25}} {
		n.Unit = tt.unit
		f, err := n.Margins(Default())
		if err != nil {
			t.Fatal(err)
		}
		for what, v := range map[string][2]float64{
			"years":   {f.Years, 1 << 28 * tt.seconds / (days * 86400)},
			"workers": {f.Workers, (1<<22 - 1) / (10 * (1 + 2*days))},
			"rate":    {f.Rate, 10 * 8192 / tt.seconds / 1000},
			"peak":    {f.Peak, 10 * 8192 / tt.seconds / 5000},
		} {
			if math.Abs(v[0]/v[1]-1) > 1e-12 {
				t.Errorf("units of %v: the margin of the %s is %v, want %v", tt.unit, what, v[0], v[1])
			}
		}
	}
}

func TestPlanThatCannotBeMet(t *testing.T) {
	_, err := Plan(Needs{Nodes: 1_000_000, RestartsPerDay: 100, Sustained: 1e10, Years: 100})
	if !errors.Is(err, ErrNeeds) || !strings.Contains(err.Error(), "32 bits for the time, 42 for") || !strings.Contains(err.Error(), "14 for the sequence are 88") {
		t.Errorf("%v", err)
	}
	// In milliseconds the time requires ten more bits, and the sequence ten fewer. WorkerStarts is one less than a power of two, so four
	// worker IDs require three bits.
	_, err = Plan(Needs{Nodes: 4, Sustained: 1 << 42, Years: 3000, Unit: time.Second})
	if !errors.Is(err, ErrNeeds) || !strings.Contains(err.Error(), "37 bits for the time, 3 for 4 worker IDs and 40 for the sequence are 80") {
		t.Errorf("%v", err)
	}
	_, err = Plan(Needs{Nodes: 4, Sustained: 1 << 42, Years: 3000, Unit: time.Millisecond})
	if !errors.Is(err, ErrNeeds) || !strings.Contains(err.Error(), "47 bits for the time, 3 for 4 worker IDs and 31 for the sequence are 81") {
		t.Errorf("%v", err)
	}
	// In milliseconds the same years require ten more bits.
	if _, err := Plan(Needs{Nodes: 100, RestartsPerDay: 1, Sustained: 100, Years: 30, Unit: time.Millisecond}); err != nil {
		t.Error(err)
	}
}

func TestD11Needs(t *testing.T) {
	good := Needs{Nodes: 1, Sustained: 1, Years: 1}
	for name, change := range map[string]func(*Needs){
		"nodes is 0":                  func(n *Needs) { n.Nodes = 0 },
		"years is 0":                  func(n *Needs) { n.Years = 0 },
		"years is NaN":                func(n *Needs) { n.Years = math.NaN() },
		"years is +Inf":               func(n *Needs) { n.Years = math.Inf(1) },
		"rate is 0 UIDs":              func(n *Needs) { n.Sustained = 0 },
		"restarts per day is -1":      func(n *Needs) { n.RestartsPerDay = -1 },
		"peak rate is -5":             func(n *Needs) { n.Peak = -5 },
		"it is 1µs":                   func(n *Needs) { n.Unit = time.Microsecond },
		"it is -1s":                   func(n *Needs) { n.Unit = -time.Second },
		"peak rate is NaN UIDs":       func(n *Needs) { n.Peak = math.NaN() },
		"too large to calculate with": func(n *Needs) { n.Years = 1e308 },
	} {
		n := good
		change(&n)
		if _, err := Plan(n); err == nil || !strings.Contains(err.Error(), name) || !errors.Is(err, ErrNeeds) && !errors.Is(err, ErrUnit) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := n.Margins(Default()); err == nil {
			t.Errorf("%s: margins", name)
		}
	}
	if _, err := good.Margins(Layout{}); !errors.Is(err, ErrLayout) {
		t.Errorf("%v", err)
	}
}

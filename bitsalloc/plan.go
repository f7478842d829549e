package bitsalloc

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

// ErrNeeds is returned by Plan and Margins for needs that are out of range, and by Plan for needs that
// no layout meets.
var ErrNeeds = errors.New("bitsalloc: needs cannot be met")

// Needs is what a fleet requires of a layout. Load and restarts are assumed to be distributed evenly
// over the nodes.
type Needs struct {
	Nodes          int           // generators that run at the same time
	RestartsPerDay float64       // disposable worker IDs that each node uses in a day: starts, deployments, crashes
	Sustained      float64       // UIDs per second of the whole fleet, averaged over an hour
	Peak           float64       // UIDs per second of the whole fleet at its peak; a value below Sustained means Sustained
	Years          float64       // of 365.25 days
	Unit           time.Duration // the time unit; 0 means a second
}

// Fit is a layout that meets needs, with its margins: each one is the capacity divided by the need.
type Fit struct {
	Layout  Layout
	Years   float64 // the margin of the time bits
	Workers float64 // of the worker bits
	Rate    float64 // of the sequence bits, at the sustained rate

	// Peak is the margin of the sequence bits at the peak rate. If it is below 1, a Cached generator
	// borrows time during a peak and returns it afterwards, and a Default generator waits.
	Peak float64
}

// least returns the smallest margin of those that must be at least 1.
func (f Fit) least() float64 { return min(f.Years, f.Workers, f.Rate) }

// String returns the layout and its margins.
func (f Fit) String() string {
	return fmt.Sprintf("%v: time × %.2f, workers × %.2f, rate × %.2f, at the peak × %.2f", f.Layout, f.Years, f.Workers, f.Rate, f.Peak)
}

// Margins returns how well a layout meets the needs. A margin below 1 means that the layout does not
// meet that need. The error wraps ErrNeeds, ErrUnit or ErrLayout.
func (n Needs) Margins(l Layout) (Fit, error) {
	n, err := n.checked()
	if err != nil {
		return Fit{}, err
	}
	if l.IsZero() {
		return Fit{}, ErrLayout
	}
	return n.margins(l), nil
}

// margins is Margins for needs that checked has returned.
func (n Needs) margins(l Layout) Fit {
	perNode := math.Ldexp(1, l.SequenceBits()) / n.Unit.Seconds() * float64(n.Nodes)
	return Fit{
		Layout:  l,
		Years:   math.Ldexp(1, l.TimeBits()) / n.units(),
		Workers: float64(l.WorkerStarts()) / n.starts(),
		Rate:    perNode / n.Sustained,
		Peak:    perNode / max(n.Peak, n.Sustained),
	}
}

// units returns the number of time units in the years.
func (n Needs) units() float64 { return n.Years * 365.25 * 86400 / n.Unit.Seconds() }

// starts returns the number of worker IDs that are used up: one for each node, and one for each restart.
func (n Needs) starts() float64 { return float64(n.Nodes) * (1 + n.RestartsPerDay*365.25*n.Years) }

// perUnit returns how many UIDs a node generates in a time unit.
func (n Needs) perUnit() float64 { return n.Sustained * n.Unit.Seconds() / float64(n.Nodes) }

// checked returns the needs with the default unit filled in, or an error that wraps ErrNeeds or ErrUnit.
func (n Needs) checked() (Needs, error) {
	if n.Unit == 0 {
		n.Unit = time.Second
	}
	switch positive := func(v float64) bool { return v > 0 && !math.IsInf(v, 1) }; {
	case n.Unit < MinUnit || time.Second%n.Unit != 0:
		return n, fmt.Errorf("%w: it is %v; must be at least %v and divide a second", ErrUnit, n.Unit, MinUnit)
	case n.Nodes < 1:
		return n, fmt.Errorf("%w: the number of nodes is %d; must be at least 1", ErrNeeds, n.Nodes)
	case !positive(n.Years):
		return n, fmt.Errorf("%w: the number of years is %v; must be more than 0", ErrNeeds, n.Years)
	case !positive(n.Sustained):
		return n, fmt.Errorf("%w: the sustained rate is %v UIDs per second; must be more than 0", ErrNeeds, n.Sustained)
	case n.RestartsPerDay != 0 && !positive(n.RestartsPerDay):
		return n, fmt.Errorf("%w: the number of restarts per day is %v; must be 0 or more", ErrNeeds, n.RestartsPerDay)
	case n.Peak != 0 && !positive(n.Peak):
		return n, fmt.Errorf("%w: the peak rate is %v UIDs per second; must be 0 or more", ErrNeeds, n.Peak)
	case !positive(n.units()) || !positive(n.starts()) || !positive(n.perUnit()):
		return n, fmt.Errorf("%w: %v years in units of %v, %v restarts per day and %v UIDs per second are too large to calculate with",
			ErrNeeds, n.Years, n.Unit, n.RestartsPerDay, n.Sustained)
	}
	return n, nil
}

// Plan returns the layouts of 63 bits that meet the needs, ordered by their smallest margin, the
// greatest first. If there is none, the error wraps ErrNeeds and says how many bits each field would
// require. The error wraps ErrUnit if the unit is too short.
func Plan(n Needs) ([]Fit, error) {
	n, err := n.checked()
	if err != nil {
		return nil, err
	}
	var fits []Fit
	for timeBits := range maxWidth + 1 {
		for workerBits := range maxWidth + 1 {
			l, err := New(timeBits, workerBits, maxBits-timeBits-workerBits)
			if err != nil {
				continue // a width is less than 1
			}
			if f := n.margins(l); f.least() >= 1 {
				fits = append(fits, f)
			}
		}
	}
	if len(fits) == 0 {
		width := func(values float64) int { return max(1, int(math.Ceil(math.Log2(values)))) }
		t, w := width(n.units()), width(n.starts()+1)
		s := width(n.perUnit())
		return nil, fmt.Errorf("%w: %d bits for the time, %d for %.0f worker IDs and %d for the sequence are %d in all; must be at most %d; "+
			"fewer years, fewer restarts or a lower rate require fewer", ErrNeeds, t, w, n.starts(), s, t+w+s, maxBits)
	}
	slices.SortStableFunc(fits, func(a, b Fit) int { return cmp.Compare(b.least(), a.least()) })
	return fits, nil
}

package bitsalloc

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

// ErrNeeds is returned by Plan for needs that are not numbers it can plan with, and for those
// that no layout fulfils.
var ErrNeeds = errors.New("bitsalloc: needs cannot be met")

// Needs are what a fleet needs of a layout. Load and restarts are taken to be even over the nodes.
type Needs struct {
	Nodes          int           // generators at a time
	RestartsPerDay float64       // how often each takes a disposable worker ID: starts, deployments, crashes
	Sustained      float64       // UIDs a second of the whole fleet, averaged over an hour
	Peak           float64       // UIDs a second of the whole fleet at its busiest; less than Sustained means as much
	Years          float64       // of 365.25 days
	Unit           time.Duration // the time unit; 0 means a second
}

// Fit is a layout that meets needs, and by how much: each margin is what it carries divided by
// what is needed of it.
type Fit struct {
	Layout  Layout
	Years   float64 // the margin of the time bits
	Workers float64 // of the worker bits
	Rate    float64 // of the sequence bits, at the sustained rate

	// Peak is that at the peak rate. Below 1 a cached generator borrows time at a peak, and
	// gives it back after; a default one waits.
	Peak float64
}

// least is the margin that is the first to be used up.
func (f Fit) least() float64 { return min(f.Years, f.Workers, f.Rate) }

// String returns the layout and its margins.
func (f Fit) String() string {
	return fmt.Sprintf("%v: time × %.2f, workers × %.2f, rate × %.2f, at the peak × %.2f", f.Layout, f.Years, f.Workers, f.Rate, f.Peak)
}

// Margins returns how well a layout meets the needs, which may be not at all: a margin below 1
// says which part of it falls short.
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

// margins is Margins for needs that were checked.
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

// units is how many time units the years have.
func (n Needs) units() float64 { return n.Years * 365.25 * 86400 / n.Unit.Seconds() }

// starts is how many worker IDs are used up: one for each node, and one for each restart.
func (n Needs) starts() float64 { return float64(n.Nodes) * (1 + n.RestartsPerDay*365.25*n.Years) }

// perUnit is how many UIDs a node makes in a time unit.
func (n Needs) perUnit() float64 { return n.Sustained * n.Unit.Seconds() / float64(n.Nodes) }

// checked returns the needs with the unit filled in, or an error that wraps ErrNeeds or ErrUnit.
func (n Needs) checked() (Needs, error) {
	if n.Unit == 0 {
		n.Unit = time.Second
	}
	switch positive := func(v float64) bool { return v > 0 && !math.IsInf(v, 1) }; {
	case n.Unit < MinUnit:
		return n, fmt.Errorf("%w: %v is less than %v", ErrUnit, n.Unit, MinUnit)
	case n.Nodes < 1:
		return n, fmt.Errorf("%w: %d nodes, at least 1 is needed", ErrNeeds, n.Nodes)
	case !positive(n.Years):
		return n, fmt.Errorf("%w: %v years, more than 0 are needed", ErrNeeds, n.Years)
	case !positive(n.Sustained):
		return n, fmt.Errorf("%w: %v UIDs a second, more than 0 are needed", ErrNeeds, n.Sustained)
	case n.RestartsPerDay != 0 && !positive(n.RestartsPerDay):
		return n, fmt.Errorf("%w: %v restarts a day, 0 or more are needed", ErrNeeds, n.RestartsPerDay)
	case n.Peak != 0 && !positive(n.Peak):
		return n, fmt.Errorf("%w: a peak of %v UIDs a second, 0 or more are needed", ErrNeeds, n.Peak)
	case !positive(n.units()) || !positive(n.starts()) || !positive(n.perUnit()):
		return n, fmt.Errorf("%w: %v years of %v, %v restarts a day and %v UIDs a second are beyond any numbers",
			ErrNeeds, n.Years, n.Unit, n.RestartsPerDay, n.Sustained)
	}
	return n, nil
}

// Plan returns the layouts of 63 bits that meet the needs, the one whose least margin is the
// greatest first. Where none does, the error wraps ErrNeeds and says how many bits each field
// would take.
func Plan(n Needs) ([]Fit, error) {
	n, err := n.checked()
	if err != nil {
		return nil, err
	}
	var fits []Fit
	for timeBits := 1; timeBits <= maxBits-2; timeBits++ {
		for workerBits := 1; timeBits+workerBits < maxBits; workerBits++ {
			l, err := New(timeBits, workerBits, maxBits-timeBits-workerBits)
			if err != nil {
				return nil, err
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
		return nil, fmt.Errorf("%w: %d bits for the time, %d for %.0f worker IDs and %d for the sequence come to %d, and there are %d; "+
			"fewer years, fewer restarts or a lower rate need fewer", ErrNeeds, t, w, n.starts(), s, t+w+s, maxBits)
	}
	slices.SortStableFunc(fits, func(a, b Fit) int { return cmp.Compare(b.least(), a.least()) })
	return fits, nil
}

package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/ringuid/ringuid/bitsalloc"
)

type planCommand struct {
	Layout   string  `placeholder:"WIDTHS" fromenv:"RINGUID_LAYOUT" help:"Say what this layout carries; any: look for layouts that carry the fleet. Default: RINGUID_LAYOUT, else any."`
	Epoch    string  `default:"2026-01-01" placeholder:"TIME" fromenv:"RINGUID_EPOCH" help:"The time that UIDs count from: a date or a time in RFC 3339. Default: ${default}, or RINGUID_EPOCH."`
	Unit     string  `default:"1s" placeholder:"DURATION" fromenv:"RINGUID_TIME_UNIT" aliases:"time-unit" help:"The time unit: a second or a part of it, such as 1ms. Default: ${default}, or RINGUID_TIME_UNIT."`
	Nodes    int     `placeholder:"N" help:"How many generators run at the same time."`
	Rate     float64 `placeholder:"N" help:"UIDs per second of the whole fleet, averaged over an hour."`
	Peak     float64 `placeholder:"N" help:"UIDs per second of the whole fleet at its peak. Default: as --rate."`
	Restarts float64 `placeholder:"N" help:"Disposable worker IDs that each generator uses in a day: starts, deployments, crashes. Default: 0, for worker IDs that are used again."`
	Years    float64 `placeholder:"N" help:"For how many years from now on. The time since the epoch is added."`
	Top      int     `default:"5" help:"How many layouts to print. Default: ${default}."`
	JSON     bool    `name:"json" help:"Print a JSON object."`
}

// anyLayout is the value of --layout that means none.
const anyLayout = "any"

// Help implements kong.HelpProvider.
func (*planCommand) Help() string {
	return `
With --layout, or if RINGUID_LAYOUT is set, says what a layout carries: how long its time bits last, how many worker IDs it has, and how many UIDs each
generator can stamp in a second. With --nodes, --rate and --years too, says how well that meets the needs of a fleet.

Without a layout, or with --layout any, looks for the layouts that meet the needs. What is missing is asked for, if standard input is a terminal.
A margin is the capacity divided by the need: below 1, the layout does not meet it. The layouts with the greatest smallest
margin come first.

The exit status is 3 if the layout of --layout does not meet the needs, or its time bits have ended.

--years counts from now on. If the epoch is in the past, the time since then is added, for time bits and disposable worker IDs.

Examples:

  ringuid plan
  ringuid plan --layout 1-41-10-12 --unit 1ms
  ringuid plan --layout any --nodes 100 --restarts 10 --rate 50000 --years 10
  ringuid plan --layout 1-28-22-13 --nodes 100 --rate 50000 --peak 200000 --years 5 --json
`
}

// Run prints what layouts carry.
func (c *planCommand) Run(a *App) error {
	base, err := c.timeBase()
	if err != nil {
		return err
	}
	if c.Layout == anyLayout {
		c.Layout = ""
	}
	if c.Top < 1 {
		return usageErrorf("--top is %d; must be at least 1", c.Top)
	}
	if c.Layout == "" && a.interactive() {
		if err := c.ask(a); err != nil {
			return err
		}
	}
	hasNeeds := c.Nodes != 0 || c.Rate != 0 || c.Peak != 0 || c.Restarts != 0 || c.Years != 0
	var missing []string
	for _, f := range []struct {
		name  string
		isSet bool
	}{{"--nodes", c.Nodes != 0}, {"--rate", c.Rate != 0}, {"--years", c.Years != 0}} {
		if !f.isSet {
			missing = append(missing, f.name)
		}
	}
	switch {
	case c.Layout == "" && !hasNeeds:
		return usageErrorf("neither --layout nor the needs of a fleet are set: --nodes, --rate and --years, as in: ringuid plan --nodes 100 --rate 50000 --years 10")
	case hasNeeds && len(missing) > 0:
		return usageErrorf("the needs of a fleet are incomplete: %s must be set too", strings.Join(missing, " and "))
	}
	sinceEpoch := max(0, float64(a.Now().Unix()-base.Epoch().Unix())/86400/365.25) // in years
	needs := bitsalloc.Needs{Nodes: c.Nodes, RestartsPerDay: c.Restarts, Sustained: c.Rate, Peak: c.Peak, Years: c.Years, Unit: base.Unit()}
	if hasNeeds {
		anyOf, err := bitsalloc.ParseLayout("1-28-22-13")
		if err != nil {
			return err
		}
		if _, err := needs.Margins(anyOf); err != nil { // whatever the layout
			return usageError{err}
		}
		needs.Years += sinceEpoch
	}
	if c.Layout == "" {
		return c.search(a, base, needs)
	}
	layout, err := bitsalloc.ParseLayout(c.Layout)
	if err != nil {
		return usageErrorf("--layout: %w", err)
	}
	return c.describe(a, layout, base, needs, hasNeeds)
}

// timeBase returns the epoch and the unit.
func (c *planCommand) timeBase() (bitsalloc.TimeBase, error) {
	f, err := formatFlags{Layout: "1-28-22-13", Epoch: c.Epoch, Unit: c.Unit}.format()
	if err != nil {
		return bitsalloc.TimeBase{}, err
	}
	return bitsalloc.NewTimeBase(f.Epoch(), f.Unit())
}

// planned is a layout with what it carries, as JSON.
type planned struct {
	Layout            bitsalloc.Layout `json:"layout"`
	Epoch             time.Time        `json:"epoch"`
	Unit              string           `json:"unit"`
	End               time.Time        `json:"end"`
	WorkerIDs         int64            `json:"worker_ids"`
	PerUnit           int64            `json:"per_unit"`
	PerSecond         float64          `json:"per_second"`
	Margins           *margins         `json:"margins,omitempty"`
	SafeForJavaScript bool             `json:"below_2_53"`
}

// margins are capacities divided by needs.
type margins struct {
	Years   float64 `json:"years"`
	Workers float64 `json:"workers"`
	Rate    float64 `json:"rate"`
	Peak    float64 `json:"peak"`
}

// newPlanned returns what a layout carries.
func newPlanned(l bitsalloc.Layout, b bitsalloc.TimeBase) (planned, error) {
	c, err := l.Capacity(b)
	return planned{Layout: l, Epoch: c.Begin, Unit: b.Unit().String(), End: c.End, WorkerIDs: c.WorkerStarts, PerUnit: c.PerUnit, PerSecond: c.PerSecond,
		SafeForJavaScript: l.MaxUID() < 1<<53}, err
}

// describe says what one layout carries.
func (c *planCommand) describe(a *App, l bitsalloc.Layout, b bitsalloc.TimeBase, needs bitsalloc.Needs, hasNeeds bool) error {
	p, err := newPlanned(l, b)
	if err != nil {
		return err
	}
	var fit bitsalloc.Fit
	if hasNeeds {
		if fit, err = needs.Margins(l); err != nil {
			return usageError{err}
		}
		p.Margins = &margins{fit.Years, fit.Workers, fit.Rate, fit.Peak}
	}
	meets := p.End.After(a.Now()) && (!hasNeeds || min(fit.Years, fit.Workers, fit.Rate) >= 1)
	if c.JSON {
		err = json.NewEncoder(a.stdout()).Encode(p)
	} else {
		err = c.printCapacity(a, p, needs, hasNeeds)
	}
	if err == nil && !meets {
		return errFound
	}
	return err
}

// printCapacity prints what one layout carries, as a table and in words.
func (c *planCommand) printCapacity(a *App, p planned, needs bitsalloc.Needs, hasNeeds bool) error {
	paint := a.painter(a.Stdout)
	w := tabwriter.NewWriter(a.stdout(), 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "field\tbits\tcarries\n")
	fmt.Fprintf(w, "time\t%d\t%s, from %s to %s\n", p.Layout.TimeBits(), years(float64(p.End.Unix()-p.Epoch.Unix())/86400/365.25), formatTime(p.Epoch), formatTime(p.End))
	fmt.Fprintf(w, "worker ID\t%d\t%s worker IDs\n", p.Layout.WorkerBits(), group(p.WorkerIDs))
	fmt.Fprintf(w, "sequence\t%d\t%s UIDs per %s and generator, %s per second\n", p.Layout.SequenceBits(), group(p.PerUnit), p.Unit, groupFloat(p.PerSecond))
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(a.stdout(), "\nThe layout %v with the epoch %s and the unit %s ends at %s.\n", p.Layout, p.Epoch.Format(time.RFC3339), p.Unit, formatTime(p.End))
	fmt.Fprintf(a.stdout(), "It has %s worker IDs: as many starts of generators if they are disposable, or generators at the same time\n", group(p.WorkerIDs))
	fmt.Fprintf(a.stdout(), "(one more) if they are used again. A generator stamps %s UIDs per second; Cached borrows for more in a peak.\n", groupFloat(p.PerSecond))
	if p.SafeForJavaScript {
		fmt.Fprintln(a.stdout(), "All UIDs are below 2^53, so that JavaScript and JSON numbers are exact.")
	}
	if p.End.Before(a.Now()) {
		fmt.Fprintln(a.stdout(), paint.paint("The time bits have ended: no generator works. Choose a later epoch for a new fleet, or more time bits.", bad))
	}
	if !hasNeeds {
		return nil
	}
	fmt.Fprintf(a.stdout(), "\nFor %s, %s per second (%s at the peak), %s per day each, and %s from now on:\n\n", count(int64(needs.Nodes), "generator"),
		countFloat(needs.Sustained, "UID"), groupFloat(max(needs.Peak, needs.Sustained)), countFloat(needs.RestartsPerDay, "restart"), years(c.Years))
	for _, m := range []struct {
		name  string
		value float64
		low   string
	}{
		{"time", p.Margins.Years, "the time bits end too early"},
		{"worker IDs", p.Margins.Workers, "the worker IDs run out too early"},
		{"rate", p.Margins.Rate, "generators fall behind permanently"},
		{"peak", p.Margins.Peak, "Cached borrows time, and Default waits"},
	} {
		attributes, text := good, "enough"
		if m.value < 1 {
			attributes, text = bad, m.low
			if m.name == "peak" {
				attributes = careful
			}
		}
		fmt.Fprintf(a.stdout(), "%-11s × %-8s %s\n", m.name, groupFloat(m.value), paint.paint(text, attributes))
	}
	return nil
}

// search prints the layouts that meet the needs.
func (c *planCommand) search(a *App, b bitsalloc.TimeBase, needs bitsalloc.Needs) error {
	fits, err := bitsalloc.Plan(needs)
	if err != nil {
		return err
	}
	more := len(fits) - c.Top
	fits = fits[:min(c.Top, len(fits))]
	if c.JSON {
		found := make([]planned, len(fits))
		for i, f := range fits {
			if found[i], err = newPlanned(f.Layout, b); err != nil {
				return err
			}
			found[i].Margins = &margins{f.Years, f.Workers, f.Rate, f.Peak}
		}
		return json.NewEncoder(a.stdout()).Encode(map[string]any{"layouts": found, "more": max(more, 0)})
	}
	return printFits(a.stdout(), fits, b, max(more, 0))
}

// printFits prints layouts as a table.
func printFits(out io.Writer, fits []bitsalloc.Fit, b bitsalloc.TimeBase, more int) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "layout\tends\tworker IDs\tUIDs/s and generator\tmargins: time\tworker IDs\trate\tpeak")
	for _, f := range fits {
		p, err := newPlanned(f.Layout, b)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%v\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", f.Layout, p.End.Format(time.DateOnly), group(p.WorkerIDs), groupFloat(p.PerSecond),
			groupFloat(f.Years), groupFloat(f.Workers), groupFloat(f.Rate), groupFloat(f.Peak))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	best := fits[0]
	fmt.Fprintf(out, "\nThe layout %v has the greatest reserves: its smallest margin is %s.", best.Layout, groupFloat(min(best.Years, best.Workers, best.Rate)))
	if more > 0 {
		fmt.Fprintf(out, " %d more layouts meet the needs (--top).", more)
	}
	_, err := fmt.Fprintf(out, "\nUse it by uid.WithLayout, and see ringuid plan --layout %v for what it carries.\n", best.Layout)
	return err
}

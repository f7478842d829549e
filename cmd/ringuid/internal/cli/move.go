package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ringuid/ringuid/bitsalloc"
	"github.com/ringuid/ringuid/uid"
)

type moveCommand struct {
	Old     string         `arg:"" help:"The old format: WIDTHS[,EPOCH[,UNIT]], or the text of a uid.Format."`
	New     string         `arg:"" help:"The new format, in the same form."`
	At      string         `placeholder:"TIME" help:"When the first host begins to generate UIDs of the new format. Default: now."`
	RollOut time.Duration  `placeholder:"DURATION" help:"How long some hosts still generate UIDs of the old format after that. Default: 0."`
	Ahead   *time.Duration `placeholder:"DURATION" help:"How far ahead of the clock old UIDs may be stamped: borrow limit and error of the clocks. Default: an hour and a minute."`
	Behind  *time.Duration `placeholder:"DURATION" help:"How far behind the clock new UIDs may be stamped: staleness and error of the clocks. Default: 3 seconds and a minute."`
	JSON    bool           `name:"json" help:"Print a JSON object."`
}

// Help implements kong.HelpProvider.
func (*moveCommand) Help() string {
	return `
Checks whether a live fleet can change from one format to another: whether every new UID is greater than every old one, for all
worker IDs. If not, it says which epoch or which widths would be safe, and the exit status is 3.

An epoch is a date or a time in RFC 3339, by default 2026-01-01; a unit is a duration, by default 1s.

Examples:

  ringuid move 1-28-22-13 1-29-21-13
  ringuid move 1-28-22-13 1-31-23-9,2020-01-01 --at 2026-12-01 --roll-out 1h
  ringuid move '1-28-22-13 2026-01-01T00:00:00Z 1s' 1-41-10-12,2026-01-01,1ms
`
}

// Run checks a move.
func (c *moveCommand) Run(a *App) error {
	m := uid.Move{RollOut: c.RollOut, CutOver: a.Now()}
	var err error
	if m.Old, err = parseShortFormat(c.Old); err != nil {
		return usageErrorf("the old format: %w", err)
	}
	if m.New, err = parseShortFormat(c.New); err != nil {
		return usageErrorf("the new format: %w", err)
	}
	if c.At != "" {
		if m.CutOver, err = parseTime(c.At); err != nil {
			return usageErrorf("--at: %w", err)
		}
	}
	for _, d := range []struct {
		name  string
		value *time.Duration
		field *time.Duration
	}{{"--ahead", c.Ahead, &m.Ahead}, {"--behind", c.Behind, &m.Behind}} {
		switch {
		case d.value == nil:
		case *d.value < 0:
			return usageErrorf("%s is %v; must be at least 0", d.name, *d.value)
		case *d.value == 0:
			*d.field = -1 // none
		default:
			*d.field = *d.value
		}
	}
	r, err := m.Check()
	if err != nil && !errors.Is(err, uid.ErrMove) {
		return usageError{err}
	}
	if m.Old == m.New { // UIDs of one format are those of one fleet, which its worker IDs keep apart
		r = uid.MoveReport{LastOld: -1, FirstNew: r.FirstNew, Safe: true} // LastOld: there is none to compare with
	}
	if c.JSON {
		if err := printMoveJSON(a, m, r); err != nil {
			return err
		}
	} else if err := printMove(a, m, r); err != nil {
		return err
	}
	if !r.Safe {
		return errFound
	}
	return nil
}

// parseShortFormat parses a format whose epoch and unit may be missing.
func parseShortFormat(text string) (uid.Format, error) {
	if strings.Contains(text, " ") {
		return uid.ParseFormat(text)
	}
	parts := strings.Split(text, ",")
	if len(parts) > 3 {
		return uid.Format{}, fmt.Errorf("%q must have at most three parts: widths, epoch, unit", text)
	}
	flags := formatFlags{Layout: parts[0], Epoch: "2026-01-01", Unit: "1s"}
	if len(parts) > 1 {
		flags.Epoch = parts[1]
	}
	if len(parts) > 2 {
		flags.Unit = parts[2]
	}
	f, err := flags.format()
	var usage usageError
	if errors.As(err, &usage) {
		err = usage.err
		if cause := errors.Unwrap(err); cause != nil && strings.HasPrefix(err.Error(), "--") { // here it is not a flag
			err = cause
		}
	}
	return f, err
}

// printMove prints a report for people.
func printMove(a *App, m uid.Move, r uid.MoveReport) error {
	p := a.painter(a.Stdout)
	verdict := p.paint("safe", good)
	relation := "less than"
	if !r.Safe {
		verdict, relation = p.paint("NOT SAFE", bad), "not less than"
	}
	if m.Old == m.New {
		_, err := fmt.Fprintf(a.stdout(), "%s: both formats are the same, so nothing changes\n\nformat      %s\n", verdict, m.New)
		return err
	}
	last := "none: the old format has issued nothing"
	if r.LastOld >= 0 {
		last = r.LastOld.String()
	}
	_, err := fmt.Fprintf(a.stdout(), "%s: the last old UID is %s the first new one\n\nold format  %s\nnew format  %s\ncut-over    %s\nlast old    %s\nfirst new   %d\n",
		verdict, relation, m.Old, m.New, formatTime(m.CutOver), last, r.FirstNew)
	if err != nil || r.Safe {
		return err
	}
	advice := []string{}
	if !r.LatestEpoch.IsZero() {
		advice = append(advice, fmt.Sprintf("the new layout with an epoch of %s or earlier", r.LatestEpoch.Format(time.RFC3339)))
	}
	if !r.SafeLayout.IsZero() {
		advice = append(advice, fmt.Sprintf("the layout %v with the new epoch", r.SafeLayout))
	}
	if len(advice) == 0 {
		advice = append(advice, "no epoch and no widths: keep the old format, or store the new UIDs separately")
	}
	_, err = fmt.Fprintf(a.stdout(), "\nWhat would be safe:\n  %s\n", strings.Join(advice, "\n  "))
	return err
}

// printMoveJSON prints a report for programs.
func printMoveJSON(a *App, m uid.Move, r uid.MoveReport) error {
	report := struct {
		Safe        bool              `json:"safe"`
		Old         uid.Format        `json:"old"`
		New         uid.Format        `json:"new"`
		CutOver     time.Time         `json:"cut_over"`
		LastOld     *uid.ID           `json:"last_old,omitempty"`
		FirstNew    uid.ID            `json:"first_new"`
		LatestEpoch *time.Time        `json:"latest_safe_epoch,omitempty"`
		SafeLayout  *bitsalloc.Layout `json:"safe_layout,omitempty"`
	}{Safe: r.Safe, Old: m.Old, New: m.New, CutOver: m.CutOver.UTC(), FirstNew: r.FirstNew}
	if r.LastOld >= 0 {
		report.LastOld = &r.LastOld
	}
	if !r.LatestEpoch.IsZero() {
		report.LatestEpoch = &r.LatestEpoch
	}
	if !r.SafeLayout.IsZero() {
		report.SafeLayout = &r.SafeLayout
	}
	return json.NewEncoder(a.stdout()).Encode(report)
}

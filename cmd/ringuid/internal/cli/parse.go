package cli

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/ringuid/ringuid/uid"
)

type parseCommand struct {
	IDs  []string `arg:"" optional:"" name:"id" help:"UIDs. Without any, or with -, they are read from standard input, one per line."`
	JSON bool     `name:"json" help:"Print a JSON object in one line for each UID."`
	Form string   `default:"auto" enum:"${forms}" help:"The form of the UIDs: ${enum}. Default: auto."`
	formatFlags
}

// Help implements kong.HelpProvider.
func (*parseCommand) Help() string {
	return `
Takes UIDs apart. Prints the bits, and what each field means: when the UID was stamped, by which worker ID, and its index within
that time unit. The flags must have the values of the generators: another layout, epoch or unit leads to another
meaning, and nothing in the UID shows that.

The form auto reads decimal digits as a decimal number, digits that begin with 0x as a hexadecimal one, and any other text
by its length: base32 has 13 characters, base62 has 11.

If one of the texts is not a UID, the command prints nothing on standard output.

Examples:

  ringuid parse 966592285569449984
  ringuid parse 0x0d6a0b5c00000000 --json
  ringuid parse --form base62 19P0BEYxrzU
  ringuid next -n 3 | ringuid parse --json
  ringuid parse --layout 1-41-10-12 --unit 1ms --epoch 2010-11-04T01:42:54Z 1541815603606036480
`
}

// Run prints the parts of UIDs.
func (c *parseCommand) Run(a *App) error {
	f, err := c.format()
	if err != nil {
		return err
	}
	texts := c.IDs
	if len(texts) == 0 || len(texts) == 1 && texts[0] == "-" {
		if texts, err = readLines(a.stdin()); err != nil {
			return err
		}
	}
	if len(texts) == 0 {
		return usageErrorf("there is no UID to parse")
	}
	ids := make([]uid.ID, len(texts))
	for i, text := range texts {
		if ids[i], err = parseForm(c.Form, text); errors.Is(err, uid.ErrRange) {
			return fmt.Errorf("not a UID: %s", strings.TrimPrefix(err.Error(), uid.ErrRange.Error()+": "))
		} else if err != nil {
			return err
		}
	}
	w := bufio.NewWriter(a.stdout())
	for i, id := range ids {
		switch {
		case c.JSON:
			err = printJSON(w, f, id, a.Now())
		default:
			if i > 0 {
				fmt.Fprintln(w)
			}
			err = printParts(w, f, id, a.Now(), a.painter(a.Stdout))
		}
		if err != nil {
			return err
		}
	}
	return w.Flush()
}

// readLines returns the lines of a stream that are not empty, without spaces around them.
func readLines(r io.Reader) (lines []string, err error) {
	scanner := bufio.NewScanner(r)
	for scanner.Scan() {
		if line := strings.TrimSpace(scanner.Text()); line != "" {
			lines = append(lines, line)
		}
	}
	if err := scanner.Err(); err != nil {
		return nil, fmt.Errorf("cannot read standard input: %w", err)
	}
	return lines, nil
}

// printParts prints a UID for people.
func printParts(w io.Writer, f uid.Format, id uid.ID, now time.Time, p painter) error {
	fmt.Fprintf(w, "%s\n\n%s\n", p.paint(id.String(), strong), picture(fieldsOf(f, id), p))
	for _, form := range forms() {
		fmt.Fprintf(w, "%-11s  %s\n", form.name, form.format(id))
	}
	fmt.Fprintf(w, "%-11s  %s\n", "age", describeAge(now.Sub(f.Parse(id).Time)))
	for _, warning := range doubts(f, id, now) {
		fmt.Fprintf(w, "%s  %s\n", p.paint(fmt.Sprintf("%-11s", "warning"), careful), warning)
	}
	return nil
}

// describeAge says how long ago a time was.
func describeAge(d time.Duration) string {
	if d < 0 {
		return roughDuration(-max(d, -math.MaxInt64)) + " ahead of this host's clock"
	}
	return roughDuration(d)
}

// roughDuration returns a duration with the two greatest of its units.
func roughDuration(d time.Duration) string {
	const day = 24 * time.Hour
	both := func(n time.Duration, unit string, m time.Duration, part string) string {
		return count(n, unit) + " " + count(m, part)
	}
	switch years := d / (365 * day); {
	case d == math.MaxInt64: // Time.Sub returns no more
		return "more than 292 years"
	case years > 0:
		return both(years, "year", (d-years*365*day)/day, "day")
	case d >= day:
		return both(d/day, "day", d%day/time.Hour, "hour")
	case d >= time.Hour:
		return both(d/time.Hour, "hour", d%time.Hour/time.Minute, "minute")
	case d >= time.Minute:
		return both(d/time.Minute, "minute", d%time.Minute/time.Second, "second")
	}
	return d.Round(time.Millisecond).String()
}

// count returns a number with its unit, such as 1 day or 2 days.
func count[T int64 | time.Duration](n T, unit string) string {
	if n == 1 {
		return "1 " + unit
	}
	return group(int64(n)) + " " + unit + "s"
}

// doubts returns reasons why a number may not be a UID of a format.
func doubts(f uid.Format, id uid.ID, now time.Time) (reasons []string) {
	p := f.Parse(id)
	switch {
	case id == 0:
		reasons = append(reasons, "no generator returns 0")
	case !f.Layout().Contains(int64(id)):
		reasons = append(reasons, "the unused bits are not 0: it is not a UID of the layout "+f.Layout().String())
	case p.Time.After(now.Add(uid.DefaultMaxBorrow + time.Minute)):
		reasons = append(reasons, fmt.Sprintf("it was stamped with a time that is further ahead than generators borrow (%v): is its format really %s?", uid.DefaultMaxBorrow, f))
	}
	return reasons
}

// partsJSON is a UID as JSON. The number is a string, because JavaScript rounds numbers beyond 2^53.
type partsJSON struct {
	ID       uid.ID            `json:"id"`
	Time     jsonTime          `json:"time"`
	Delta    int64             `json:"delta"`
	WorkerID int64             `json:"worker_id"`
	Sequence int64             `json:"sequence"`
	Format   uid.Format        `json:"format"`
	Forms    map[string]string `json:"forms"`
	Warnings []string          `json:"warnings,omitempty"`
}

// printJSON prints a UID for programs.
func printJSON(w io.Writer, f uid.Format, id uid.ID, now time.Time) error {
	p := f.Parse(id)
	parts := partsJSON{ID: id, Time: jsonTime{p.Time}, Delta: p.Delta, WorkerID: p.WorkerID, Sequence: p.Sequence, Format: f,
		Forms: map[string]string{}, Warnings: doubts(f, id, now)}
	for _, form := range forms() {
		parts.Forms[form.name] = form.format(id)
	}
	return json.NewEncoder(w).Encode(parts)
}

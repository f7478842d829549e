package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// interactive reports whether questions can be asked: whether standard input and standard error are terminals.
func (a *App) interactive() bool {
	if a.asks != nil {
		return *a.asks
	}
	return isTerminal(a.Stdin) && isTerminal(a.Stderr)
}

// confirm asks whether to make a change. It returns nil if the answer is yes.
func (a *App) confirm(change string) error {
	if !a.interactive() {
		return usageErrorf("there is no terminal to ask; see what would be changed with --dry-run, and change it with --yes")
	}
	fmt.Fprintf(a.Stderr, "%s\nContinue? [y/N] ", change)
	line, err := bufio.NewReader(a.stdin()).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("cannot read standard input: %w", err)
	}
	if answer := strings.ToLower(strings.TrimSpace(line)); err != nil || answer != "y" && answer != "yes" {
		return errors.New("the answer is not yes, so nothing was changed")
	}
	return nil
}

// ask asks for the needs of a fleet that no flag has set.
func (c *planCommand) ask(a *App) error {
	q := questions{in: bufio.NewReader(a.stdin()), out: a.Stderr}
	nodes := float64(c.Nodes)
	q.ask("How many generators run at the same time?", 10, &nodes)
	q.ask("How many UIDs per second does the whole fleet generate, averaged over an hour?", 1000, &c.Rate)
	q.ask("And at its peak?", c.Rate, &c.Peak)
	q.ask("How many disposable worker IDs does each generator use in a day (0: they are used again)?", 0, &c.Restarts)
	q.ask("For how many years?", 10, &c.Years)
	c.Nodes = int(nodes)
	if q.err == nil && (nodes != float64(c.Nodes) || c.Nodes < 1) {
		q.err = usageErrorf("the number of generators is %v; must be an integer of at least 1", nodes)
	}
	return q.err
}

// questions asks, until there is an error.
type questions struct {
	in  *bufio.Reader
	out io.Writer
	err error
}

// ask asks for a number, unless it is set. An empty line means the default.
func (q *questions) ask(question string, byDefault float64, value *float64) {
	for q.err == nil && *value == 0 {
		fmt.Fprintf(q.out, "%s [%s] ", question, groupFloat(byDefault))
		line, err := q.in.ReadString('\n')
		text := strings.ReplaceAll(strings.TrimSpace(line), ",", "")
		if err != nil && !errors.Is(err, io.EOF) {
			q.err = fmt.Errorf("cannot read standard input: %w", err)
			return
		}
		if err != nil && text == "" {
			q.err = usageErrorf("standard input ended before all questions were answered")
			return
		}
		if text == "" {
			*value = byDefault
			return
		}
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || !(v >= 0) || v > 1e18 {
			fmt.Fprintf(q.out, "%q is not a number of at least 0.\n", text)
			continue
		}
		*value = v
		return
	}
}

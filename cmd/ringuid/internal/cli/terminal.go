package cli

import (
	"io"
	"os"

	"github.com/fatih/color"
	"golang.org/x/term"
)

// The values of --color.
const (
	colorAuto   = "auto"
	colorAlways = "always"
	colorNever  = "never"
)

// A painter colours texts, or leaves them as they are.
type painter bool

// The colours, by what they mean.
var (
	good    = []color.Attribute{color.FgGreen}
	careful = []color.Attribute{color.FgYellow, color.Bold}
	bad     = []color.Attribute{color.FgRed, color.Bold}
	strong  = []color.Attribute{color.Bold}
	faint   = []color.Attribute{color.Faint}
)

// fieldColors are those of the fields of a UID: sign, unused bits, time, worker ID, sequence.
var fieldColors = [][]color.Attribute{faint, faint, {color.FgCyan}, {color.FgMagenta}, {color.FgYellow}}

// paint returns a text with colours, if there are any.
func (p painter) paint(text string, attributes []color.Attribute) string {
	if !p || text == "" {
		return text
	}
	c := color.New(attributes...)
	c.EnableColor() // whatever the package has found out about the process's standard output
	return c.Sprint(text)
}

// isTerminal reports whether a stream is a terminal.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// painter returns the painter for a stream: with --color=auto, there are colours in terminals only, unless the environment has
// NO_COLOR (no-color.org) or the terminal is dumb.
func (a *App) painter(w io.Writer) painter {
	switch a.color {
	case colorAlways:
		return true
	case colorNever:
		return false
	}
	if value, ok := a.LookupEnv("NO_COLOR"); ok && value != "" {
		return false
	}
	if value, _ := a.LookupEnv("TERM"); value == "dumb" {
		return false
	}
	return painter(isTerminal(w))
}

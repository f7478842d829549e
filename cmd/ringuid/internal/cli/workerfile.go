package cli

import (
	"encoding/json"
	"fmt"

	"github.com/ringuid/ringuid/bitsalloc"
	"github.com/ringuid/ringuid/cmd/ringuid/internal/connect"
	"github.com/ringuid/ringuid/workerassign"
)

type workerFileCommand struct {
	Show workerFileShow `cmd:"" help:"Print the last worker ID, and how many are left."`
	Set  workerFileSet  `cmd:"" help:"Raise the counter beyond a number."`
}

// Help implements kong.HelpProvider.
func (*workerFileCommand) Help() string {
	return `
A worker file counts the disposable worker IDs of one host (workerassign.NewFile). The counter never goes back: a worker ID that
was assigned once is never assigned again.

Examples:

  ringuid worker-file show /var/lib/myservice/worker
  ringuid worker-file set /var/lib/myservice/worker 1000
`
}

type workerFileShow struct {
	Path   string `arg:"" help:"The path of the file."`
	JSON   bool   `name:"json" help:"Print a JSON object."`
	Layout string `default:"1-28-22-13" fromenv:"RINGUID_LAYOUT" placeholder:"WIDTHS" help:"The layout of the generators, for the number of worker IDs. Default: ${default}, or RINGUID_LAYOUT."`
	wrapFlags
}

// Help implements kong.HelpProvider.
func (*workerFileShow) Help() string {
	return "\nExample:\n\n  ringuid worker-file show /var/lib/myservice/worker\n"
}

// Run prints the last worker ID.
func (c *workerFileShow) Run(a *App) error {
	f, err := openWorkerFile(c.Path)
	if err != nil {
		return err
	}
	layout, supply, err := supplyOf(c.Layout, c.wrapFlags)
	if err != nil {
		return err
	}
	last, err := f.Last()
	if err != nil {
		return err
	}
	left := max(supply-last, 0)
	if c.JSON {
		return json.NewEncoder(a.stdout()).Encode(map[string]any{"last": last, "left": left, "layout": c.Layout})
	}
	if last == 0 {
		_, err := fmt.Fprintf(a.stdout(), "No worker ID was assigned yet. The layout %s has %s.\n", layout, group(supply))
		return err
	}
	_, err = fmt.Fprintf(a.stdout(), "The last worker ID is %s. The layout %s has %s: %s are left (%.1f %%).\n",
		group(last), layout, group(supply), group(left), 100*float64(left)/float64(supply))
	return err
}

type workerFileSet struct {
	Path   string `arg:"" help:"The path of the file. It is created if it does not exist."`
	Number int64  `arg:"" help:"The number that all further worker IDs must be greater than."`
	Layout string `default:"1-28-22-13" fromenv:"RINGUID_LAYOUT" placeholder:"WIDTHS" help:"The layout of the generators: the number must leave at least one of its worker IDs. Default: ${default}, or RINGUID_LAYOUT."`
	wrapFlags
}

// Help implements kong.HelpProvider.
func (*workerFileSet) Help() string {
	return `
Raises the counter, so that all further worker IDs are greater than the number. If worker IDs from there on were assigned already,
the command changes nothing and fails.

Use it when worker IDs may have been used that the file does not know: before a service moves here from another host.

Example:

  ringuid worker-file set /var/lib/myservice/worker 1000
`
}

// Run raises the counter.
func (c *workerFileSet) Run(a *App) error {
	f, err := openWorkerFile(c.Path)
	if err != nil {
		return err
	}
	layout, supply, err := supplyOf(c.Layout, c.wrapFlags)
	if err != nil {
		return err
	}
	// A digit too many would make the file useless permanently.
	if greatest := supply - 1; c.Number < 1 || c.Number > greatest {
		return usageErrorf("the number is %d; must be 1 to %d, for the layout %s (--layout)", c.Number, greatest, layout)
	}
	last, err := f.Last()
	if err != nil {
		return err
	}
	if last <= c.Number {
		if last, err = f.Raise(a.Context, c.Number); err != nil {
			return err
		}
	}
	if last > c.Number { // also if another process has assigned it meanwhile
		return fmt.Errorf("the last worker ID is %d, which is greater than %d: the counter never goes back, and nothing was changed", last, c.Number)
	}
	_, err = fmt.Fprintf(a.stdout(), "The next worker ID is greater than %d.\n", last)
	return err
}

// supplyOf returns a layout in words, and how many worker IDs it leaves to a file: at least 1.
func supplyOf(text string, wrap wrapFlags) (layout string, supply int64, err error) {
	l, err := bitsalloc.ParseLayout(text)
	if err != nil {
		return "", 0, usageErrorf("--layout: %w", err)
	}
	_, bits, err := wrap.parse()
	if err != nil {
		return "", 0, err
	}
	layout = l.String()
	if bits += wrap.WorkerDivide; bits > 0 {
		layout += fmt.Sprintf(" without %d worker bits for prefix and division", bits)
	}
	if supply = l.MaxWorkerID() >> bits; supply < 1 {
		return "", 0, usageErrorf("--layout: the layout %s has no worker IDs for the file", layout)
	}
	return layout, supply, nil
}

// openWorkerFile returns the file of a path, or of a URL of the scheme file.
func openWorkerFile(text string) (*workerassign.File, error) {
	store, err := connect.ParseFile(text)
	if err != nil {
		return nil, usageError{err}
	}
	return workerassign.NewFile(store), nil
}

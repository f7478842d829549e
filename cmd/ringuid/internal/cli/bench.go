package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/ringuid/ringuid/cmd/ringuid/internal/bench"
)

type benchCommand struct {
	Rounds     int           `default:"5" help:"How often each call is measured. The result is the median. Default: ${default}."`
	Time       time.Duration `default:"100ms" help:"How long each measurement takes. Default: ${default}."`
	Goroutines []int         `placeholder:"N" help:"With how many goroutines at the same time. Default: 1 and the number of CPUs."`
	SVG        string        `name:"svg" placeholder:"FILE" help:"Write the chart to a file, too."`
	JSON       bool          `name:"json" help:"Print a JSON object."`
}

// Help implements kong.HelpProvider.
func (*benchCommand) Help() string {
	return `
Measures what the calls of the library cost on this machine, next to an atomic add on one counter, which no generator with an order
of its UIDs can be faster than. The UIDs are of a worker file in a temporary directory, and are not printed. It takes
some seconds; nothing else should use the machine meanwhile.

In each line: the call, nanoseconds per UID (the time divided by the UIDs of all goroutines), and the ratio to the atomic add.

Examples:

  ringuid bench
  ringuid bench --rounds 20 --svg chart.svg
  ringuid bench --goroutines 1,4,16 --json
`
}

// Run measures, and prints a chart.
func (c *benchCommand) Run(a *App) error {
	config := bench.Config{Rounds: c.Rounds, Time: c.Time, Goroutines: c.Goroutines}
	if len(config.Goroutines) == 0 {
		config.Goroutines = []int{1}
		if n := runtime.GOMAXPROCS(0); n > 1 {
			config.Goroutines = append(config.Goroutines, n)
		}
	}
	switch {
	case c.Rounds < 1 || c.Rounds > 1000:
		return usageErrorf("--rounds is %d; must be 1 to 1000", c.Rounds)
	case c.Time <= 0 || c.Time > time.Minute:
		return usageErrorf("--time is %v; must be more than 0, and at most a minute", c.Time)
	}
	for i, n := range config.Goroutines {
		if n < 1 || n > 10_000 || i > 0 && n <= config.Goroutines[i-1] {
			return usageErrorf("--goroutines is %v; must be numbers from 1 to 10000, each greater than the one before", config.Goroutines)
		}
	}
	if c.SVG != "" {
		if err := checkWritable(c.SVG); err != nil { // before measuring
			return err
		}
	}
	progress, finish := a.progress("measuring")
	results, err := bench.Run(a.Context, config, progress)
	finish()
	if err != nil {
		return err
	}
	machine := fmt.Sprintf("%s %s/%s, GOMAXPROCS %d, the median of %s of %v", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0), count(int64(c.Rounds), "round"), c.Time)
	if c.SVG != "" {
		var chart bytes.Buffer
		if err := bench.WriteSVG(&chart, results, machine); err != nil {
			return err
		}
		if err := os.WriteFile(c.SVG, chart.Bytes(), 0o666); err != nil {
			return err
		}
	}
	if c.JSON {
		return json.NewEncoder(a.stdout()).Encode(map[string]any{"go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH,
			"gomaxprocs": runtime.GOMAXPROCS(0), "rounds": c.Rounds, "time": c.Time.String(), "results": results})
	}
	if _, err := fmt.Fprintf(a.stdout(), "%s\n\n", machine); err != nil {
		return err
	}
	p := a.painter(a.Stdout)
	return bench.WriteText(a.stdout(), results, func(bar string, isLimit bool) string {
		if isLimit {
			return p.paint(bar, faint)
		}
		return p.paint(bar, fieldColors[2])
	})
}

// checkWritable returns an error if a file cannot be written. It leaves the content as it is, and leaves no new file behind.
func checkWritable(path string) error {
	_, err := os.Stat(path)
	isNew := errors.Is(err, os.ErrNotExist)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o666)
	if err != nil {
		return err
	}
	err = f.Close()
	if isNew {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}

// progress returns what shows a progress bar on standard error, if that is a terminal, and what removes it.
func (a *App) progress(what string) (show func(done, total int), finish func()) {
	if !isTerminal(a.Stderr) {
		return func(int, int) {}, func() {}
	}
	var bar *progressbar.ProgressBar
	show = func(done, total int) {
		if bar == nil {
			bar = progressbar.NewOptions(total, progressbar.OptionSetWriter(a.Stderr), progressbar.OptionSetDescription(what),
				progressbar.OptionSetWidth(20), progressbar.OptionClearOnFinish(), progressbar.OptionShowCount(), progressbar.OptionThrottle(100*time.Millisecond))
		}
		bar.Set(done)
	}
	return show, func() {
		if bar != nil {
			bar.Clear()
		}
	}
}

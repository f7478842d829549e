package cli

import (
	"bufio"
	"context"
	"fmt"
	"time"

	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign"
)

// maxNext is the greatest number of UIDs of one call. They are all generated before the first one is printed.
const maxNext = 10_000_000

type nextCommand struct {
	N       int           `short:"n" default:"1" must:"an integer from 1 to 10,000,000" help:"How many UIDs to generate: 1 to 10,000,000. Default: 1."`
	Hex     bool          `help:"Print hexadecimal digits, with 0x."`
	Timeout time.Duration `default:"30s" help:"How long to try to get a worker ID and the first UID. Default: 30s."`
	storeFlags
	formatFlags
	wrapFlags
}

// Help implements kong.HelpProvider.
func (*nextCommand) Help() string {
	return `
Prints one UID per line. Each run of the command takes a worker ID from the store, as each start of a service does, and gives
it back at the end if the store uses worker IDs again.

Without --store, the worker IDs are those of a file of yours ($XDG_STATE_HOME/ringuid/workers, by default
~/.local/state/ringuid/workers). They are used again. UIDs from there differ from each other, and may be equal to those that
other users or hosts generate. For UIDs of a fleet, name its store, and give its layout, epoch and time unit, and what its
services do to worker IDs (prefix and divide): the same as in all its services, otherwise UIDs can be generated twice. The variables of
the environment are those of the services (doc/settings.md). If RINGUID_ASSIGNER is set, a store must be set too.

If no UIDs can be generated, the command prints nothing on standard output. If printing fails or is interrupted, the UIDs that were not
printed are lost, and the last line may be incomplete.

Examples:

  ringuid next
  ringuid next -n 1000
  ringuid next --store /var/lib/myservice/worker
  RINGUID_STORE='mysql://service:secret@db1:3306/ids' ringuid next
  ringuid next --store 'redis://db2/?pool=orders' --layout 1-41-10-12 --unit 1ms --epoch 2026-01-01
`
}

// Run prints UIDs.
func (c *nextCommand) Run(a *App) error {
	if c.N < 1 || c.N > maxNext {
		return usageErrorf("-n is %d; must be 1 to %d", c.N, maxNext)
	}
	if c.Timeout <= 0 {
		return usageErrorf("--timeout is %v; must be more than 0", c.Timeout)
	}
	format, err := c.formatFlags.format()
	if err != nil {
		return err
	}
	if id, ok := a.LookupEnv("RINGUID_WORKER_ID"); ok && id != "" && c.Assigner != "static" {
		return usageErrorf("RINGUID_WORKER_ID is %s: that worker ID belongs to a process, and this command would take another one: clear it; if that process does not run, its worker ID can be set by the parameter worker-id of the store", id)
	}
	ctx, cancel := context.WithTimeoutCause(a.Context, c.Timeout, fmt.Errorf("no answer within %v (--timeout)", c.Timeout))
	defer cancel()
	store, err := c.storeFlags.open(ctx, a)
	if err != nil {
		return err
	}
	defer store.Close()
	workers, err := c.wrap(store.Assigner())
	if err != nil {
		return err
	}
	ids := make([]uid.ID, c.N)
	if err := c.generate(a, workers, format, ids); err != nil {
		return err
	}
	return c.print(a, ids)
}

// generate fills ids. The generator is closed when it returns, so that its worker ID is free again.
func (c *nextCommand) generate(a *App, workers workerassign.Assigner, format uid.Format, ids []uid.ID) (err error) {
	g, first, err := c.open(a, workers, format)
	if err != nil {
		return err
	}
	ids[0] = first
	defer func() {
		if closeErr := g.Close(); err == nil && closeErr != nil {
			a.Logger.Warn("the worker ID was not given back", "err", closeErr)
		}
	}()
	progress, finish := a.progress("generating")
	defer finish()
	for i := 1; i < len(ids); i++ {
		if i%1024 == 1023 {
			progress(i, len(ids))
		}
		if ids[i], err = g.NextContext(a.Context); err != nil {
			return err
		}
	}
	return nil
}

// open returns a generator and its first UID, for which it may have to wait: a lease may begin later.
func (c *nextCommand) open(a *App, workers workerassign.Assigner, format uid.Format) (uid.Generator, uid.ID, error) {
	ctx, cancel := context.WithTimeout(a.Context, c.Timeout)
	defer cancel()
	first := &firstLease{Assigner: workers, begin: time.Now(), timeout: c.Timeout, out: a.Stderr, waiting: a.waiting("waiting for a worker ID")}
	defer func() { first.waiting() }()
	g, err := c.newGenerator(ctx, a, first, format)
	if first.err != nil { // in words of its own
		return nil, 0, first.err
	}
	if err != nil {
		return nil, 0, err
	}
	id, err := g.NextContext(ctx)
	if err == nil {
		return g, id, nil
	}
	if closeErr := g.Close(); closeErr != nil {
		a.Logger.Warn("the worker ID was not given back", "err", closeErr)
	}
	return nil, 0, err
}

// newGenerator returns the generator.
func (c *nextCommand) newGenerator(ctx context.Context, a *App, workers workerassign.Assigner, f uid.Format) (uid.Generator, error) {
	layout, epoch, unit, logger := uid.WithLayout(f.Layout()), uid.WithEpoch(f.Epoch()), uid.WithTimeUnit(f.Unit()), uid.WithLogger(a.Logger)
	if int64(c.N) > f.Layout().MaxSequence() {
		return uid.NewCached(ctx, workers, layout, epoch, unit, logger)
	}
	return uid.NewDefault(ctx, workers, layout, epoch, unit, logger)
}

// print prints UIDs.
func (c *nextCommand) print(a *App, ids []uid.ID) error {
	w := bufio.NewWriter(a.stdout())
	verb := "%d\n"
	if c.Hex {
		verb = "0x%016x\n"
	}
	for _, id := range ids {
		if _, err := fmt.Fprintf(w, verb, id); err != nil {
			return err
		}
	}
	return w.Flush()
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/ringuid/ringuid/cmd/ringuid/internal/connect"
	"github.com/ringuid/ringuid/segment"
)

type tagCommand struct {
	Create tagCreate `cmd:"" help:"Create a tag."`
	Raise  tagRaise  `cmd:"" help:"Raise the counter of a tag."`
}

// Help implements kong.HelpProvider.
func (*tagCommand) Help() string {
	return `
A tag is a sequence of numbers without a time, whose counter is in a store (package segment). All stores have tags: files,
databases, Redis, etcd and ZooKeeper.

Examples:

  ringuid tag create orders --tag-store 'mysql://service:secret@db1:3306/ids'
  ringuid tag raise orders 500001 --tag-store 'mysql://service:secret@db1:3306/ids'
`
}

// tagStore are the flags for the store of a tag.
type tagStore struct {
	TagStore string        `placeholder:"URL" fromenv:"RINGUID_TAG_STORE" help:"The store: a path, a URL or a data source name. Default: the environment variable RINGUID_TAG_STORE."`
	Timeout  time.Duration `default:"30s" help:"How long to try. Default: ${default}."`
}

// use opens the store, calls f with it, and prints what f returns. doing is what the terminal shows meanwhile.
func (c tagStore) use(a *App, doing string, f func(context.Context, *connect.Store) (text string, err error)) error {
	switch {
	case c.TagStore == "":
		return usageErrorf("--tag-store is not set; set it, or RINGUID_TAG_STORE, to the store of the tag")
	case c.Timeout <= 0:
		return usageErrorf("--timeout is %v; must be more than 0", c.Timeout)
	}
	ctx, cancel := context.WithTimeout(a.Context, c.Timeout)
	defer cancel()
	store, err := connect.Open(ctx, c.TagStore, connect.Options{Logger: a.Logger})
	if errors.Is(err, connect.ErrURL) {
		return usageErrorf("--tag-store: %w", err)
	}
	if err != nil {
		return err
	}
	defer store.Close()
	done := a.waiting(doing)
	text, err := f(ctx, store)
	done()
	switch {
	case errors.Is(err, segment.ErrTag), errors.Is(err, segment.ErrOption):
		return usageError{err}
	case err != nil:
		return err
	}
	_, err = fmt.Fprintln(a.stdout(), text)
	return err
}

type tagCreate struct {
	Tag         string `arg:"" help:"The name of the tag: 1 to 128 bytes."`
	Start       int64  `default:"1" must:"an integer of at least 1" help:"The first number. Default: ${default}."`
	Step        int64  `default:"1000" must:"an integer from 1 to 1,099,511,627,776" help:"How many numbers a process takes at once, if it does not choose that itself. Default: ${default}."`
	Description string `placeholder:"TEXT" help:"What the numbers are for: at most 256 characters, for people."`
	tagStore
}

// Help implements kong.HelpProvider.
func (*tagCreate) Help() string {
	return `
Creates a tag, from which services then take numbers. A tag that exists already is an error, and is not changed.

A sequence that moves here from another system must start beyond all numbers that were handed out: set --start.

If the command fails after it has reached the store, the tag may exist nevertheless; repeat the command to know.

A file of worker IDs and its tags have one name: the tags of /var/lib/myservice/worker are in /var/lib/myservice/worker.tags. Run
the command as the user of the services: they must be able to open the file.

Examples:

  ringuid tag create orders --tag-store /var/lib/myservice/worker
  ringuid tag create invoices --start 500001 --description 'numbers of invoices' --tag-store redis://db2
`
}

// Run creates a tag.
func (c *tagCreate) Run(a *App) error {
	switch {
	case c.Start < 1: // 0 would mean the default
		return usageErrorf("--start is %d; must be at least 1", c.Start)
	case c.Step < 1:
		return usageErrorf("--step is %d; must be at least 1", c.Step)
	}
	return c.use(a, "creating the tag", func(ctx context.Context, store *connect.Store) (string, error) {
		err := store.Source().CreateTag(ctx, c.Tag, segment.TagConfig{Start: c.Start, Step: c.Step, Description: c.Description})
		return fmt.Sprintf("The tag %q was created in %s: its first number is %d.", c.Tag, store, c.Start), err
	})
}

type tagRaise struct {
	Tag    string `arg:"" help:"The name of the tag."`
	Number int64  `arg:"" help:"What the counter must be at least."`
	tagStore
}

// Help implements kong.HelpProvider.
func (*tagRaise) Help() string {
	return `
Raises the counter of a tag, the number that its store hands out next, to at least a number. The numbers in between are not handed
out. The counter is never lowered: if it is not less than the number, the command takes one number, so that the store records what
it skips after lost writes. The number 1 shows the counter, and changes nothing. A tag without numbers is an error. Services may run
meanwhile. If the command fails, repeat it.

Use it when a counter is less than numbers that were handed out (segment.ErrSetBack), with a number greater than all of them. A
stripe of a group has a counter of its own: for one of 3 stripes, divide the number by 3, and add 1. The address of the store must
have the failover-gap of the services. Run the command for a file as the user of the services.

Examples:

  ringuid tag raise orders 500001 --tag-store redis://db2
  ringuid tag raise orders.stripe0of3 166668 --tag-store redis://db2
`
}

// Run raises the counter.
func (c *tagRaise) Run(a *App) error {
	if c.Number < 1 || c.Number > segment.MaxNumber {
		return usageErrorf("the number is %d; must be 1 to %d", c.Number, int64(segment.MaxNumber))
	}
	return c.use(a, "raising the counter", func(ctx context.Context, store *connect.Store) (string, error) {
		before, after, err := raiseTag(ctx, store.Source(), c.Tag, c.Number)
		if before == after {
			return fmt.Sprintf("The counter of the tag %q in %s is %d; nothing was changed.", c.Tag, store, after), err
		}
		return fmt.Sprintf("The counter of the tag %q in %s was raised from %d to %d.", c.Tag, store, before, after), err
	})
}

// raiseTag takes numbers of a tag until its counter is at least number, and returns the counter before and after. It takes one also if
// the counter is so already: that may count numbers that the store must skip, which it records with the next number only, and as a
// function of the time. The number 1 takes none.
func raiseTag(ctx context.Context, src segment.Source, tag string, number int64) (before, after int64, err error) {
	defer func() {
		if err != nil && after > before {
			err = fmt.Errorf("the counter of the tag %q was raised from %d to %d at least, but each call raises it by %d at most; repeat the command: %w",
				tag, before, after, segment.MaxStep, err)
		}
	}()
	for {
		_, err := src.Take(ctx, segment.Request{Tag: tag, AtLeast: math.MaxInt64}) // takes nothing, and says what the counter is
		var at *segment.SetBackError
		if !errors.As(err, &at) {
			return before, after, err
		}
		if after = at.Counter; before == 0 {
			before = after
		}
		if number == 1 {
			return before, after, nil
		}
		taken, err := src.Take(ctx, segment.Request{Tag: tag, Size: min(max(number-after, 1), segment.MaxStep)})
		if err != nil {
			return before, after, err
		}
		if after = taken.First + taken.Length; after >= number {
			return before, after, nil
		}
	}
}

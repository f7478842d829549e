package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ringuid/ringuid/cmd/ringuid/internal/connect"
	"github.com/ringuid/ringuid/segment"
)

type tagCommand struct {
	Create tagCreate `cmd:"" help:"Create a tag."`
}

// Help implements kong.HelpProvider.
func (*tagCommand) Help() string {
	return `
A tag is a sequence of numbers without a time, whose counter is in a store (package segment). All stores have tags: files,
databases, Redis, etcd and ZooKeeper.

Example:

  ringuid tag create orders --tag-store 'mysql://service:secret@db1:3306/ids'
`
}

type tagCreate struct {
	Tag         string        `arg:"" help:"The name of the tag: 1 to 128 bytes."`
	TagStore    string        `placeholder:"URL" fromenv:"RINGUID_TAG_STORE" help:"The store: a path, a URL or a data source name. Default: the environment variable RINGUID_TAG_STORE."`
	Start       int64         `default:"1" must:"an integer of at least 1" help:"The first number. Default: ${default}."`
	Step        int64         `default:"1000" must:"an integer from 1 to 1,099,511,627,776" help:"How many numbers a process takes at once, if it does not choose that itself. Default: ${default}."`
	Description string        `placeholder:"TEXT" help:"What the numbers are for: at most 256 characters, for people."`
	Timeout     time.Duration `default:"30s" help:"How long to try. Default: ${default}."`
}

// Help implements kong.HelpProvider.
func (*tagCreate) Help() string {
	return `
Creates a tag, from which services then take numbers. A tag that exists already is an error, and is not changed.

A sequence that moves here from another system must start beyond all numbers that were handed out: set --start.

If the command fails after it has reached the store, the tag may exist nevertheless; repeat the command to know.

A file of worker IDs and its tags have one name: the tags of /var/lib/myservice/worker are in /var/lib/myservice/worker.tags.

Examples:

  ringuid tag create orders --tag-store /var/lib/myservice/worker
  ringuid tag create invoices --start 500001 --description 'numbers of invoices' --tag-store redis://db2
`
}

// Run creates a tag.
func (c *tagCreate) Run(a *App) error {
	switch {
	case c.TagStore == "":
		return usageErrorf("--tag-store is not set; set it, or RINGUID_TAG_STORE, to the store that is to have the tag")
	case c.Start < 1: // 0 would mean the default
		return usageErrorf("--start is %d; must be at least 1", c.Start)
	case c.Step < 1:
		return usageErrorf("--step is %d; must be at least 1", c.Step)
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
	done := a.waiting("creating the tag")
	err = store.Source().CreateTag(ctx, c.Tag, segment.TagConfig{Start: c.Start, Step: c.Step, Description: c.Description})
	done()
	switch {
	case errors.Is(err, segment.ErrTag), errors.Is(err, segment.ErrOption):
		return usageError{err}
	case err != nil:
		return err
	}
	_, err = fmt.Fprintf(a.stdout(), "The tag %q was created in %s: its first number is %d.\n", c.Tag, store, c.Start)
	return err
}

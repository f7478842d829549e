package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ringuid/ringuid/cmd/ringuid/internal/connect"
)

type poolCommand struct {
	Create poolCreate `cmd:"" help:"Create the pool of a new fleet."`
}

// Help implements kong.HelpProvider.
func (*poolCommand) Help() string {
	return `
A pool has the worker IDs of a fleet that are used again. It is in a store: a file, a database, Redis, etcd or ZooKeeper.

Example:

  ringuid pool create --store redis://redis-1
`
}

type poolCreate struct {
	Store    string        `placeholder:"URL" fromenv:"RINGUID_STORE" help:"The store: a path, a URL or a data source name. Default: the environment variable RINGUID_STORE."`
	PrintSQL bool          `name:"print-sql" help:"Print the statement that creates the pool, for the database administrator to execute on the same server, and do not execute it."`
	Timeout  time.Duration `default:"30s" help:"How long to try. Default: ${default}."`
}

// Help implements kong.HelpProvider.
func (*poolCreate) Help() string {
	return `
Creates the pool of a fleet that starts for the first time, so that its worker IDs begin at once. Without it, the first service
creates the pool, and in a store that can lose writes its worker IDs begin later, 1m50s by default: nobody can know whether the
pool is new or was lost.

It is for people, and once for each fleet. Do not run it whenever services are deployed: if the pool is lost, a new one without
that wait has UIDs generated twice. It fails if there is a pool, or a worker ID of one that was lost.

The parameters horizon, fencing, skew and first-worker-id of the store are those of the pool: set the values that the services
declare. One that declares less is refused. The format of the UIDs is that of the first service.

The statement of --print-sql inserts one row. If it inserts none, the server was started again, or there is a worker ID.

If the command fails after it has reached the store, the pool may exist nevertheless; repeat the command to know.

Examples:

  ringuid pool create --store redis://redis-1
  ringuid pool create --store 'mysql://dba:secret@db1:3306/ids?horizon=10m'
  ringuid pool create --store 'postgres://dba:secret@db1/ids' --print-sql | psql -v ON_ERROR_STOP=1 -d ids
`
}

// Run creates a pool.
func (c *poolCreate) Run(a *App) error {
	switch {
	case c.Store == "":
		return usageErrorf("--store is not set; set it, or RINGUID_STORE, to the store that is to have the pool")
	case c.Timeout <= 0:
		return usageErrorf("--timeout is %v; must be more than 0", c.Timeout)
	}
	ctx, cancel := context.WithTimeout(a.Context, c.Timeout)
	defer cancel()
	store, err := connect.Open(ctx, c.Store, connect.Options{Logger: a.Logger, Assign: connect.Recycled})
	if errors.Is(err, connect.ErrURL) {
		return usageError{err}
	}
	if err != nil {
		return err
	}
	defer store.Close()
	result := fmt.Sprintf("The pool was created in %s: its worker IDs begin at once.", store)
	done := a.waiting("creating the pool")
	if c.PrintSQL {
		result, err = store.CreatePoolStatement(ctx)
	} else {
		err = store.CreatePool(ctx)
	}
	done()
	if errors.Is(err, connect.ErrURL) {
		return usageErrorf("--print-sql: %w", err)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(a.stdout(), result)
	return err
}

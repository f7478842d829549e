package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/ringuid/ringuid/cmd/ringuid/internal/connect"
	"github.com/ringuid/ringuid/cmd/ringuid/internal/doctor"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

type poolCommand struct {
	Create     poolCreate     `cmd:"" help:"Create the pool of a new fleet."`
	Show       poolShow       `cmd:"" help:"Print the pool, and who holds its worker IDs."`
	RaiseFloor poolRaiseFloor `cmd:"" help:"End all leases, for example after a backup was restored."`
	NewHistory poolNewHistory `cmd:"" help:"The same for etcd and ZooKeeper, for tags, too."`
}

// Help implements kong.HelpProvider.
func (*poolCommand) Help() string {
	return `
A pool has the worker IDs of a fleet that are used again. It is in a store: a file, a database, Redis, etcd or ZooKeeper.

Examples:

  ringuid pool create --store redis://redis-1
  ringuid pool show --store redis://redis-1
`
}

// poolFlags are the flags of each subcommand of pool.
type poolFlags struct {
	Store   string        `placeholder:"URL" fromenv:"RINGUID_STORE" help:"The store: a path, a URL or a data source name. Default: the environment variable RINGUID_STORE."`
	Timeout time.Duration `default:"30s" help:"How long to try. Default: ${default}."`
}

// open opens the store. The caller must close it.
func (c *poolFlags) open(a *App) (*connect.Store, error) {
	switch {
	case c.Store == "":
		return nil, usageErrorf("--store is not set; set it, or RINGUID_STORE, to the store of the pool")
	case c.Timeout <= 0:
		return nil, usageErrorf("--timeout is %v; must be more than 0", c.Timeout)
	}
	ctx, cancel := c.limit(a)
	defer cancel()
	store, err := connect.Open(ctx, c.Store, connect.Options{Logger: a.Logger, Assign: connect.Recycled})
	if errors.Is(err, connect.ErrURL) {
		return nil, usageError{err}
	}
	return store, err
}

// limit returns a context that ends after the timeout.
func (c *poolFlags) limit(a *App) (context.Context, context.CancelFunc) {
	return context.WithTimeout(a.Context, c.Timeout)
}

// state reads the pool of a store. It has revision 0 if there is none.
func (c *poolFlags) state(a *App, store *connect.Store) (recycled.State, error) {
	if store.Missing() {
		return recycled.State{}, nil
	}
	ctx, cancel := c.limit(a)
	defer cancel()
	defer a.waiting("reading the pool")()
	s, err := store.Recycled().State(ctx)
	slices.SortFunc(s.Slots, func(a, b recycled.Slot) int { return int(a.WorkerID - b.WorkerID) })
	return s, err
}

// errNoPool returns the error that a store has no pool.
func errNoPool(store *connect.Store) error {
	return fmt.Errorf("there is no pool in %s; if the fleet has never started, \"ringuid pool create\" creates it", store)
}

type poolCreate struct {
	poolFlags
	PrintSQL bool `name:"print-sql" help:"Print the statement that creates the pool, for the database administrator to execute on the same server, and do not execute it."`
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
	store, err := c.open(a)
	if err != nil {
		return err
	}
	defer store.Close()
	ctx, cancel := c.limit(a)
	defer cancel()
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

type poolShow struct {
	poolFlags
	JSON bool `name:"json" help:"Print a JSON object, with all slots. Times are Unix milliseconds."`
}

// Help implements kong.HelpProvider.
func (*poolShow) Help() string {
	return `
Prints the record of a pool, and each slot that is not free: its worker ID, until when its UIDs were granted, when another lease may
take it, and who has leased it. It changes no lease; etcd or ZooKeeper that was never used, or was restored as another cluster,
receives its history. If there is no pool, it fails.

Examples:

  ringuid pool show --store redis://redis-1
  ringuid pool show --store 'mysql://service:secret@db1:3306/ids' --json | jq '.slots[].host'
`
}

// Run prints a pool.
func (c *poolShow) Run(a *App) error {
	store, err := c.open(a)
	if err != nil {
		return err
	}
	defer store.Close()
	s, err := c.state(a, store)
	switch {
	case err != nil:
		return err
	case s.Pool.Revision == 0:
		return errNoPool(store)
	case c.JSON:
		slots := make([]json.RawMessage, len(s.Slots))
		for i, slot := range s.Slots {
			slots[i] = slot.Encode()
		}
		return json.NewEncoder(a.stdout()).Encode(map[string]any{"store": store.String(), "now": s.Now.UnixMilli(), "host_clock": s.HostClock,
			"history": s.History, "read_only": s.ReadOnly, "pool": json.RawMessage(s.Pool.Encode()), "slots": slots})
	}
	return printPool(a.stdout(), store.String(), s)
}

// printPool prints a pool for people.
func printPool(out io.Writer, store string, s recycled.State) error {
	p, count := s.Pool, doctor.CountSlots(s)
	slots := fmt.Sprintf("%d from worker ID %d: %d held, %d free, %d not free yet", p.Slots, p.First, count[doctor.Held], count[doctor.Free], count[doctor.NotFreeYet])
	if n := p.Slots - int64(len(s.Slots)); n < 0 {
		slots += fmt.Sprintf(", %d more than the pool's record has (doc/fleet.md, A slot or the pool is missing)", -n)
	} else if n > 0 {
		slots += fmt.Sprintf(", %d missing (doc/fleet.md, A slot or the pool is missing)", n)
	}
	format, history, floor, clock := p.Format, "that of the server", "passed", "of the store"
	if format == "" {
		format = "none yet: that of the first generator"
	}
	switch {
	case s.ReadOnly:
		history = "that of a read-only server, which may be a replica: use the primary"
	case p.History != s.History:
		history = "not that of the server, which was restarted or replaced: the next process sets a floor"
	}
	if p.Floor.After(s.Now) {
		floor = fmt.Sprintf("%s, in %v", instant(p.Floor), p.Floor.Sub(s.Now).Round(time.Second))
	}
	if s.HostClock {
		clock = "of this host: the store has none"
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, row := range [][2]string{
		{"store", store},
		{"format", format},
		{"slots", slots},
		{"history", history},
		{"floor", floor},
		{"horizon (H)", p.Horizon.String()},
		{"fencing (F)", p.Fencing.String()},
		{"skew (M)", p.Skew.String()},
		{"clock", instant(s.Now) + ", " + clock},
	} {
		fmt.Fprintf(w, "%s\t%s\n", row[0], row[1])
	}
	if err := w.Flush(); err != nil || int64(len(s.Slots)) == count[doctor.Free] {
		return err
	}
	fmt.Fprintln(w, "\nworker ID\tstate\tgranted until\tfree at\tholder")
	for _, slot := range s.Slots {
		if state := doctor.StateOf(slot, s.Now); state != doctor.Free {
			fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\n", slot.WorkerID, state, instant(slot.Until), instant(slot.FreeAt), doctor.Holder(slot))
		}
	}
	return w.Flush()
}

// instant returns a time for people.
func instant(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// changeFlags are the flags of a command that changes what services use.
type changeFlags struct {
	DryRun bool `help:"Say what would be changed, and change nothing."`
	Yes    bool `help:"Do not ask."`
}

// confirm returns nil if the change is to be made. Otherwise the command ends with the result of confirm.
func (c *changeFlags) confirm(a *App, change string) error {
	switch {
	case c.DryRun:
		if _, err := fmt.Fprintf(a.stdout(), "%s\nNothing was changed, because of --dry-run.\n", change); err != nil {
			return err
		}
		return errExit(exitOK)
	case c.Yes:
		fmt.Fprintln(a.Stderr, change)
		return nil
	}
	return a.confirm(change)
}

type poolRaiseFloor struct {
	poolFlags
	changeFlags
	To string `placeholder:"TIME" help:"The floor, in RFC 3339. Default: the store's present time plus fencing, horizon and skew of the pool, or of the services (--store) if longer. It cannot be earlier, nor more than 31 days later."`
}

// Help implements kong.HelpProvider.
func (*poolRaiseFloor) Help() string {
	return `
Raises the floor of a pool: no lease begins before it, and all leases that begin before it end. UIDs stop until the floor, when what
generators were granted is used up; then they continue by themselves. A floor cannot be lowered.

Use it when the store has lost writes that it had acknowledged, and does not know it: after a backup was restored, before services
can reach the store again. The store's clock must be right. doc/fleet.md, After a restored backup, has the steps for each store. If
you are not sure whether it is necessary, raise the floor: that costs one wait.

The store must have the parameters of the services: also horizon, fencing and skew, because the pool of an old backup may have smaller
ones. For a file, run it as the user of the services. On etcd and ZooKeeper, use new-history after a restored backup.

If it fails, repeat it, with a longer --timeout if the pool has thousands of slots: it may have ended a part of the leases. If there
is no pool, the backup is older than the pool: end all generators, wait as long as horizon and skew (1m20s by default), and start
them.

Examples:

  ringuid pool raise-floor --store 'mysql://dba:secret@db1:3306/ids' --dry-run
  ringuid pool raise-floor --store redis://redis-1
  ringuid pool raise-floor --store /var/lib/myservice/worker --to 2026-12-24T18:00:00Z --yes
`
}

// maxFloorWait is how much later than necessary a floor may be.
const maxFloorWait = 31 * 24 * time.Hour

// Run raises the floor of a pool.
func (c *poolRaiseFloor) Run(a *App) error {
	store, err := c.open(a)
	if err != nil {
		return err
	}
	defer store.Close()
	s, least, err := c.least(a, store)
	if err != nil {
		return err
	}
	floor := least
	if c.To != "" {
		if floor, err = parseTime(c.To); err != nil {
			return usageErrorf("--to: %w", err)
		}
		if floor.Before(least) {
			return usageErrorf("--to is %s; must be at least %s: a grant may reach that far", instant(floor), instant(least))
		}
		if latest := least.Add(maxFloorWait); floor.After(latest) { // a wrong digit would make the pool useless: a floor cannot be lowered
			return usageErrorf("--to is %s; must be at most %s, 31 days after the default", instant(floor), instant(latest))
		}
	}
	change := fmt.Sprintf("The floor of the pool in %s will be %s, in %v. All earlier leases end (%s). UIDs stop until the floor.",
		store, instant(floor), floor.Sub(s.Now).Round(time.Second), heldOf(s))
	switch k := store.Kind(); {
	case k == connect.Etcd || k == connect.ZooKeeper:
		change += " That is not enough after a restored backup: use ringuid pool new-history."
	case s.ReadOnly:
		change += " The server is read-only: if it is a replica, use the primary."
	}
	if err := c.confirm(a, change); err != nil {
		return err
	}
	if _, least, err = c.least(a, store); err != nil { // time has passed since the question
		return err
	}
	if floor.Before(least) {
		floor = least
	}
	ctx, cancel := c.limit(a)
	defer cancel()
	done := a.waiting("raising the floor")
	err = store.Recycled().RaiseFloor(ctx, floor)
	done()
	if err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("%w: perhaps not all leases have ended: repeat the command, and raise --timeout, which is %v, if it was not enough", err, c.Timeout)
		}
		return err
	}
	result := "All earlier leases have ended."
	if s.ReadOnly {
		result += " The server is read-only: if it is a replica, nothing has ended on the primary; use that."
	}
	_, err = fmt.Fprintf(a.stdout(), "No lease of the pool in %s begins before %s. %s\n", store, instant(floor), result)
	return err
}

// least returns the pool, and the earliest floor that is after all that can have been granted.
func (c *poolRaiseFloor) least(a *App, store *connect.Store) (recycled.State, time.Time, error) {
	o, sent := store.Options(), time.Now()
	s, err := c.state(a, store)
	bound := cmp.Or(o.ClockBound, workerassign.DefaultClockBound)
	switch received := time.Now(); {
	case err != nil:
		return s, time.Time{}, err
	case s.Pool.Revision == 0:
		return s, time.Time{}, errNoPool(store)
	case s.Now.Before(sent.Add(-bound)) || s.Now.After(received.Add(bound)): // as of services (R8)
		return s, time.Time{}, fmt.Errorf("this host's clock shows %s, and that of %s %s; must not differ by more than %v, because the floor follows from the store's: set the clock that is wrong, or run this on a host of the services",
			instant(received), store, instant(s.Now), bound)
	}
	least := s.Now.Add(o.FloorWait(s.Pool)).Truncate(time.Second).Add(time.Second) // a whole second, for people
	if s.Pool.Floor.After(least) {
		least = s.Pool.Floor
	}
	return s, least, nil
}

// heldOf says how many slots are held.
func heldOf(s recycled.State) string {
	return fmt.Sprintf("%d of %d slots are held", doctor.CountSlots(s)[doctor.Held], s.Pool.Slots)
}

type poolNewHistory struct {
	poolFlags
	changeFlags
}

// Help implements kong.HelpProvider.
func (*poolNewHistory) Help() string {
	return `
Declares that a store may have lost writes that it had acknowledged: after a backup of ZooKeeper or a snapshot of etcd was restored,
before services can reach the store again. All leases end, the next process sets a floor (1m50s later by default), and each tag
continues beyond its failover gap. The other stores have no history of this kind: use ringuid pool raise-floor.

The parameter failover-gap of the store must be greater than what any tag has handed out since the backup. Default: 1,000,000.
doc/fleet.md, After a restored backup, has the steps.

If it fails, repeat it.

Examples:

  ringuid pool new-history --store etcd://etcd-1:2379 --dry-run
  ringuid pool new-history --store 'zookeeper://zk1,zk2,zk3/ringuid?failover-gap=5000000' --yes
`
}

// Run gives a store another history.
func (c *poolNewHistory) Run(a *App) error {
	store, err := c.open(a)
	if err != nil {
		return err
	}
	defer store.Close()
	historian, ok := store.Slots().(interface{ NewHistory(context.Context) error })
	if !ok {
		return usageErrorf("--store is %s; must be etcd or ZooKeeper; for other stores, use ringuid pool raise-floor", store)
	}
	s, err := c.state(a, store)
	if err != nil {
		return err
	}
	change, done := "All leases end ("+heldOf(s)+"), and no lease begins before a floor, "+store.Options().FloorWait(s.Pool).String()+" later.", "All earlier leases have ended."
	if s.Pool.Revision == 0 {
		change = "It has no pool. If a fleet has used one, the parameters of the store are wrong, or the backup is older than the pool: " +
			"then end all generators, and wait as long as horizon and skew (1m20s by default), before one starts."
		done = change
	}
	gap := "1,000,000 numbers, the default of the parameter failover-gap"
	if n := store.Options().FailoverGap; n != nil {
		gap = group(*n) + " numbers"
	}
	if err := c.confirm(a, fmt.Sprintf("%s will have another history. %s Each tag skips %s.", store, change, gap)); err != nil {
		return err
	}
	ctx, cancel := c.limit(a)
	defer cancel()
	end := a.waiting("writing the history")
	err = historian.NewHistory(ctx)
	end()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.stdout(), "%s has another history. %s\n", store, done)
	return err
}

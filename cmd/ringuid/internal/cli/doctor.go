package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/fatih/color"

	"github.com/ringuid/ringuid/cmd/ringuid/internal/connect"
	"github.com/ringuid/ringuid/cmd/ringuid/internal/doctor"
	"github.com/ringuid/ringuid/uid"
)

type doctorCommand struct {
	JSON    bool          `name:"json" help:"Print a JSON object."`
	Strict  bool          `help:"Exit with status 3 for warnings too."`
	Timeout time.Duration `default:"20s" help:"How long all checks may take. Default: ${default}."`
	storeFlags
	formatFlags
	wrapFlags
}

// Help implements kong.HelpProvider.
func (*doctorCommand) Help() string {
	return `
Connects to a store, and says: whether it can be reached and written, which settings lose acknowledged writes, how its clock
differs from this host's, how many worker IDs are used and left and when they end, ten holders, which format the fleet has and
when its time bits end, and how many tags of segments there are, with the ten greatest counters. It changes nothing; in ZooKeeper it sets the znode
clock, as generators do, to read the clock, and next to a worker file it writes a small file and removes it.
Without --store, it creates the directory of the default store.

Each line begins with ok, info, warning or fault. The exit status is 3 if there is a fault. For databases, the parameter
assign says which kind of worker IDs the services use.

Layout, epoch and unit must be those of the services if these use disposable worker IDs, because the store does not know them.

Examples:

  ringuid doctor --store /var/lib/myservice/worker
  RINGUID_STORE='mysql://admin:secret@db1:3306/ids' ringuid doctor
  RINGUID_STORE='postgres://admin:secret@db1/ids?assign=recycled' ringuid doctor --strict
  ringuid doctor --store 'redis://db2/?pool=orders' --json
`
}

// Run examines a store.
func (c *doctorCommand) Run(a *App) error {
	if c.Timeout <= 0 {
		return usageErrorf("--timeout is %v; must be more than 0", c.Timeout)
	}
	f, err := c.format()
	if err != nil {
		return err
	}
	byDefault, err := uid.NewFormat()
	if err != nil {
		return err
	}
	wrappers, err := c.wrapFlags.text()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(a.Context, c.Timeout)
	defer cancel()
	done := a.waiting("checking")
	defer func() { done() }()
	var findings []doctor.Finding
	report := func(found doctor.Finding) {
		found.Text, found.Advice = oneLine(connect.Plain(found.Text)), connect.Plain(found.Advice)
		findings = append(findings, found)
		if !c.JSON {
			done()
			printFinding(a, found)
			done = a.waiting("checking")
		}
	}
	name := connect.Redact(c.Store)
	store, err := c.storeFlags.open(ctx, a)
	switch usage := (usageError{}); {
	case errors.As(err, &usage):
		return err
	case err != nil && c.Store == "": // the directory of the default store; the error says what to do
		name = "the default store"
		report(doctor.Finding{Level: doctor.Fault, Check: "reachable", Text: err.Error()})
	case err != nil: // of a store where opening means to log in
		report(doctor.Finding{Level: doctor.Fault, Check: "reachable", Text: err.Error(), Advice: doctor.ReachableAdvice})
	default:
		defer store.Close()
		name = store.String()
		doctor.Examine(ctx, store, doctor.Options{Format: f, FormatSet: f != byDefault, Wrappers: wrappers, Now: a.Now}, report)
	}
	done()
	if a.Context.Err() != nil {
		return context.Cause(a.Context)
	}
	count := map[doctor.Level]int{}
	for _, found := range findings {
		count[found.Level]++
	}
	healthy := count[doctor.Fault] == 0 && (!c.Strict || count[doctor.Warning] == 0)
	if c.JSON {
		err = json.NewEncoder(a.stdout()).Encode(map[string]any{"store": name, "ok": healthy, "findings": findings})
	} else {
		_, err = fmt.Fprintf(a.stdout(), "\n%s: faults: %d, warnings: %d\n", name, count[doctor.Fault], count[doctor.Warning])
	}
	if err == nil && !healthy {
		return errFound
	}
	return err
}

// printFinding prints a finding for people.
func printFinding(a *App, f doctor.Finding) {
	attributes := map[doctor.Level][]color.Attribute{doctor.OK: good, doctor.Info: faint, doctor.Warning: careful, doctor.Fault: bad}
	p := a.painter(a.Stdout)
	fmt.Fprintf(a.stdout(), "%s  %-11s  %s\n", p.paint(fmt.Sprintf("%-7s", f.Level), attributes[f.Level]), f.Check, f.Text)
	if f.Advice != "" {
		fmt.Fprintf(a.stdout(), "%22s→ %s\n", "", f.Advice)
	}
}

package cli

import (
	"io"
	"strings"

	"github.com/ringuid/ringuid"
)

type schemaCommand struct {
	Dialect string   `arg:"" enum:"mysql,postgres" help:"The database: mysql (also MariaDB, Galera and TiDB) or postgres."`
	Tables  []string `placeholder:"NAME" help:"Only these tables, without the comments before them: worker_node, worker_pool, worker_slot, leaf_alloc."`
}

// Help implements kong.HelpProvider.
func (*schemaCommand) Help() string {
	return `
Prints the script that creates the tables. It creates what does not exist, and changes and drops nothing. Its comments say what
a database administrator must know: durability, privileges, failovers, restored backups.

The tables: worker_node for disposable worker IDs, worker_pool and worker_slot for recycled worker IDs, leaf_alloc for segments.

Examples:

  ringuid schema mysql | mysql ids
  ringuid schema postgres | psql -d ids
  ringuid schema mysql --tables worker_node
`
}

// Run prints a script, or statements of it.
func (c *schemaCommand) Run(a *App) error {
	script := ringuid.MySQLSchema()
	if c.Dialect == "postgres" {
		script = ringuid.PostgreSQLSchema()
	}
	if len(c.Tables) > 0 {
		statements := ""
		for _, name := range c.Tables {
			s := statementsOf(script, name)
			if s == "" {
				return usageErrorf("--tables: there is no table %q; must be worker_node, worker_pool, worker_slot or leaf_alloc", name)
			}
			statements += s + "\n"
		}
		script = statements
	}
	_, err := io.WriteString(a.stdout(), script)
	return err
}

// statementsOf returns the statements of a script that create a table and what belongs to it, or "".
func statementsOf(script, table string) string {
	var b strings.Builder
	inside := false
	for line := range strings.Lines(script) {
		switch {
		case strings.HasPrefix(line, "--"):
			continue
		case strings.HasPrefix(line, "CREATE TABLE "):
			inside = strings.EqualFold(strings.Fields(line)[5], table)
		}
		if inside && strings.TrimSpace(line) != "" {
			b.WriteString(line)
		}
	}
	return b.String()
}

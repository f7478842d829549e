package ringuid_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ringuid/ringuid"
)

// The scripts are those of the repository, and create the same tables.
func TestSchemas(t *testing.T) {
	create := regexp.MustCompile(`(?m)^CREATE TABLE IF NOT EXISTS (\w+) \($`)
	for name, got := range map[string]string{"schema.sql": ringuid.MySQLSchema(), "schema.postgres.sql": ringuid.PostgreSQLSchema()} {
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s is not what is embedded", name)
		}
		var tables []string
		for _, m := range create.FindAllStringSubmatch(got, -1) {
			tables = append(tables, strings.ToLower(m[1]))
		}
		if !slices.Equal(tables, []string{"worker_node", "worker_pool", "worker_slot", "leaf_alloc"}) {
			t.Errorf("%s creates %q", name, tables)
		}
	}
}

// To create the tables from a program: execute the script, with multiStatements=true in the DSN of go-sql-driver/mysql.
func ExampleMySQLSchema() {
	script := ringuid.MySQLSchema()
	fmt.Println(strings.Count(script, "CREATE TABLE IF NOT EXISTS"), "tables")
	// Output: 4 tables
}

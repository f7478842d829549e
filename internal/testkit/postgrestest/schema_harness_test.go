package postgrestest_test

import (
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/ringuid/ringuid"
	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/postgrestest"
	"github.com/ringuid/ringuid/internal/testkit/schematest"
	"github.com/ringuid/ringuid/internal/testkit/testserver"
	"github.com/ringuid/ringuid/workerassign"
)

func TestMain(m *testing.M) { testkit.RunParallel(m, 4) }

// schemaScript returns schema.postgres.sql.
func schemaScript(testing.TB) string { return ringuid.PostgreSQLSchema() }

// newSection returns a section of schema.postgres.sql.
func newSection(t *testing.T, heading string, pairs ...string) *schematest.Section {
	t.Helper()
	return tested(t).Section(t, heading, pairs...)
}

// tested returns schema.postgres.sql with the headings of its sections that contain statements.
func tested(t *testing.T) schematest.Script {
	return schematest.Script{Name: "schema.postgres.sql", Text: schemaScript(t), Sections: []string{
		"DURABILITY",                                 // TestSchemaDurability
		"PRIVILEGES",                                 // TestSchemaPrivileges
		"WHEN ROWS MAY BE DELETED",                   // TestSchemaDeletion
		"AFTER A FAILOVER OR A RESTORED BACKUP",      // TestSchemaFailover
		"HOW MANY ARE LEFT",                          // TestSchemaHowManyAreLeft
		"WHAT A SLOT MEANS",                          // TestSchemaSlots
		"PRIVILEGES ON SLOTS",                        // TestSchemaSlots
		"A SLOT OR THE POOL IS MISSING",              // TestRepairOfSlots
		"SLOTS AFTER A RESTORED BACKUP",              // TestSchemaRaiseFloor
		"WHAT A TAG MEANS",                           // TestSchemaTags
		"HOW TO ADD A TAG",                           // TestSchemaTags
		"HOW TO SIZE A STEP",                         // TestSchemaTags
		"PRIVILEGES ON TAGS",                         // TestSchemaTagPrivileges
		"WHICH TAGS MAY BE DELETED",                  // TestSchemaTagDeletion
		"TAGS AFTER A FAILOVER OR A RESTORED BACKUP", // TestSchemaTagFailover
	}}
}

// idsDatabase creates the database ids, which the comments use, with the tables of the script. It returns a
// connection to it as a superuser.
func idsDatabase(t *testing.T, s *postgrestest.Server) *sqlx.DB {
	t.Helper()
	s.Admin().MustExec("CREATE DATABASE ids")
	db := postgrestest.Open(t, s.DSN("postgres", "", "ids"))
	testserver.RunScript(t, db, schemaScript(t))
	return db
}

// createService creates the account of the comments, with exactly the privileges that they recommend.
func createService(t *testing.T, db *sqlx.DB) {
	t.Helper()
	statements := newSection(t, "PRIVILEGES", "<password>", "secret")
	db.MustExec(statements.Next("CREATE ROLE"))
	db.MustExec(statements.Next("GRANT INSERT ("))
	statements.Remaining = nil // the statements for other tables and accounts
}

// openAsService returns a connection to the database ids with the service's account.
func openAsService(t *testing.T, s *postgrestest.Server) *sqlx.DB {
	t.Helper()
	return postgrestest.Open(t, s.DSN("service", "secret", "ids"))
}

// assign assigns a worker ID.
func assign(t *testing.T, db workerassign.DB, opts ...workerassign.DisposableOption) (int64, error) {
	t.Helper()
	l, err := workerassign.NewDisposable(db, append([]workerassign.DisposableOption{discardLog(), workerassign.WithAttemptTimeout(10 * time.Minute)}, opts...)...).Assign(testkit.Patient(t), workerassign.Request{})
	if err != nil {
		return 0, err
	}
	return l.WorkerID(), nil
}

// mustAssign is assign, but fails the test if there is an error.
func mustAssign(t *testing.T, db workerassign.DB, opts ...workerassign.DisposableOption) int64 {
	t.Helper()
	id, err := assign(t, db, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

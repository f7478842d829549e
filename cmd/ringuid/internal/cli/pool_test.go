package cli

import (
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/ringuid/ringuid"
	"github.com/ringuid/ringuid/cmd/ringuid/internal/connect"
	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/etcdtest"
	"github.com/ringuid/ringuid/internal/testkit/mariadbtest"
	"github.com/ringuid/ringuid/internal/testkit/postgrestest"
	"github.com/ringuid/ringuid/internal/testkit/redistest"
	"github.com/ringuid/ringuid/internal/testkit/testserver"
	"github.com/ringuid/ringuid/internal/testkit/zookeepertest"
	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/uid"
)

// pool create creates the pool of a store once. The first generator then has UIDs at once.
func TestPoolCreate(t *testing.T) {
	t.Parallel()
	stores := map[string]string{"file": t.TempDir() + "/ids", "Redis": "redis://" + redistest.Start(t).Address()}
	maria := mariadbtest.Start(t)
	name, db := maria.Database()
	testserver.RunScript(t, db, ringuid.MySQLSchema())
	stores["MariaDB"] = "mysql://root@" + maria.Address() + "/" + name + "?assign=recycled"
	for kind, store := range stores {
		r := run(t, "", []string{"RINGUID_STORE=" + store}, "pool", "create")
		if r.status != exitOK || r.stderr != "" || !strings.Contains(r.stdout, "The pool was created in ") || strings.Count(r.stdout, "\n") != 1 {
			t.Errorf("%s: %+v", kind, r)
		}
		fails(t, exitFailed, "ringuid: recycled: the pool exists: ", nil, "pool", "create", "--store", store)
		if r := run(t, "", nil, "next", "--store", store, "--assigner", "recycled"); r.status != exitOK || r.stderr != "" {
			t.Errorf("%s: the first UID: %+v", kind, r)
		}
	}
	db.MustExec("SET GLOBAL read_only = 1")
	if r := run(t, "", nil, "pool", "show", "--store", stores["MariaDB"]); r.status != exitOK || !strings.Contains(r.stdout, "a read-only server, which may be a replica") {
		t.Errorf("show of a server that is read-only: %+v", r)
	}
	if r := run(t, "", nil, "pool", "raise-floor", "--yes", "--store", stores["MariaDB"]); r.status != exitOK || !strings.Contains(r.stderr, "The server is read-only: ") ||
		!strings.Contains(r.stdout, "nothing has ended on the primary") { // the account may write nevertheless
		t.Errorf("raise-floor of a server that is read-only: %+v", r)
	}
	fails(t, exitUsage, "--print-sql: connect: wrong store: "+stores["Redis"]+" is no database", nil, "pool", "create", "--print-sql", "--store", stores["Redis"])
	fails(t, exitUsage, "--store is not set", nil, "pool", "create")
	fails(t, exitUsage, "--timeout is 0s", nil, "pool", "create", "--store", stores["file"], "--timeout", "0s")
	fails(t, exitUsage, "assign", nil, "pool", "create", "--store", stores["MariaDB"]+"&assign=disposable")
}

// The statement that pool create prints creates the pool, on the server for which it was printed.
func TestPoolCreatePrintsSQL(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"MariaDB", "PostgreSQL"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			var store string
			var db *sqlx.DB
			var restart func()
			if kind == "MariaDB" {
				server := mariadbtest.Start(t)
				name, admin := server.Database()
				testserver.RunScript(t, admin, ringuid.MySQLSchema())
				db = admin
				store, restart = "mysql://root@"+server.Address()+"/"+name+"?horizon=10m", func() { server.Kill(); server.Restart() }
			} else {
				server := postgrestest.Start(t)
				name, admin := server.Database()
				testserver.RunScript(t, admin, ringuid.PostgreSQLSchema())
				db = admin
				store, restart = server.DSN("postgres", "", name)+"&horizon=10m", func() { server.Kill(); server.Restart() }
			}
			exec := func(statement string) (rows int64, err error) {
				r, err := db.Exec(statement)
				if err != nil {
					return 0, err
				}
				return r.RowsAffected()
			}
			print := func() string {
				r := run(t, "", nil, "pool", "create", "--print-sql", "--store", store)
				if r.status != exitOK || r.stderr != "" || !strings.HasPrefix(r.stdout, "INSERT INTO ") || strings.Count(r.stdout, ";\n") != 1 {
					t.Fatalf("%+v", r)
				}
				return r.stdout
			}
			insert := func(what, statement string, want int64) {
				t.Helper()
				if rows, err := exec(strings.TrimSuffix(statement, ";\n")); err != nil || rows != want {
					t.Errorf("%s: %d rows, %v; want %d", what, rows, err, want)
				}
			}
			old := print()
			testkit.Eventually(t, "after a restart, nothing is inserted", func() bool {
				restart() // within a second, MariaDB has the same history
				rows, err := exec(strings.TrimSuffix(old, ";\n"))
				if err == nil && rows == 1 {
					insert("the pool of a server with the same history is deleted", "DELETE FROM WORKER_POOL", 1)
				}
				return err == nil && rows == 0
			})
			statement := print()
			const slot = "INSERT INTO WORKER_SLOT (worker_id, revision, from_ms, until_ms, history, written_ms, free_at_ms) VALUES (0, 1, 1, 1, '', 1, 1)"
			insert("a slot", slot, 1)
			insert("there is a slot", statement, 0)
			insert("no slot", "DELETE FROM WORKER_SLOT", 1)
			insert("neither pool nor slot", statement, 1)
			if _, err := exec(strings.TrimSuffix(statement, ";\n")); err == nil {
				t.Error("the statement is executed twice without an error")
			}
			fails(t, exitFailed, "the horizon is 1m15s; must be at least that of the pool, 10m0s (the parameter horizon of the store)", nil,
				"next", "--assigner", "recycled", "--store", strings.Replace(store, "horizon=10m", "", 1))
			if r := run(t, "", nil, "next", "--store", store, "--assigner", "recycled"); r.status != exitOK || r.stderr != "" {
				t.Errorf("the first UID: %+v", r)
			}
		})
	}
}

// pool show, raise-floor and new-history on each kind of store: a dry run and an answer that is not yes change nothing, and afterwards
// no lease begins before the floor.
func TestPoolChanges(t *testing.T) {
	t.Parallel()
	stores := map[string]func(t *testing.T) string{
		"file":  func(t *testing.T) string { return t.TempDir() + "/ids" },
		"Redis": func(t *testing.T) string { return "redis://" + redistest.Start(t).Address() },
		"MariaDB": func(t *testing.T) string {
			server := mariadbtest.Start(t)
			name, db := server.Database()
			testserver.RunScript(t, db, ringuid.MySQLSchema())
			return "mysql://root@" + server.Address() + "/" + name
		},
		"PostgreSQL": func(t *testing.T) string {
			server := postgrestest.Start(t)
			name, db := server.Database()
			testserver.RunScript(t, db, ringuid.PostgreSQLSchema())
			return server.DSN("postgres", "", name)
		},
		"etcd": func(t *testing.T) string { return "etcd://" + etcdtest.Start(t).Endpoint() + "?failover-gap=5000" },
		"ZooKeeper": func(t *testing.T) string {
			return "zookeeper://" + zookeepertest.Start(t).Address() + "?failover-gap=5000"
		},
	}
	for kind, start := range stores {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			store := start(t)
			pool := func(status int, stdin, subcommand string, flags ...string) result {
				t.Helper()
				var env []string
				if stdin != "" {
					env = []string{"TEST_ASKS=1"}
				}
				r := run(t, stdin, env, append([]string{"pool", subcommand, "--store", store}, flags...)...)
				if r.status != status {
					t.Fatalf("pool %s %v: %+v, want status %d", subcommand, flags, r, status)
				}
				return r
			}
			next := func(status int) (isLate bool) {
				t.Helper()
				r := run(t, "", nil, "next", "--store", store, "--assigner", "recycled", "--timeout", "1m")
				if r.status != status || status != exitOK && !strings.Contains(r.stderr, "that is later than --timeout 1m0s allows") {
					t.Fatalf("next: %+v, want status %d", r, status)
				}
				return r.isLate
			}
			// record returns what pool show prints, without the clock.
			record := func() (state struct {
				Pool    struct{ Floor, Revision, Slots int64 }
				Slots   []struct{ WorkerID, Revision int64 }
				Now     int64
				History string
			}) {
				t.Helper()
				if err := json.Unmarshal([]byte(pool(exitOK, "", "show", "--json").stdout), &state); err != nil {
					t.Fatal(err)
				}
				return state
			}
			changes := []string{"raise-floor"}
			if kind == "etcd" || kind == "ZooKeeper" {
				changes = append(changes, "new-history")
			}
			for _, subcommand := range []string{"show", "raise-floor"} {
				if r := pool(exitFailed, "", subcommand); !strings.Contains(r.stderr, "there is no pool in ") {
					t.Errorf("%s without a pool: %+v", subcommand, r)
				}
			}
			if _, err := os.Stat(store); kind == "file" && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the file without a pool: %v, want none", err)
			}
			if len(changes) == 2 {
				if r := pool(exitOK, "", "new-history", "--yes"); !strings.Contains(r.stdout, "It has no pool.") || strings.Contains(r.stdout, "have ended") {
					t.Errorf("new-history without a pool: %+v", r)
				}
			}
			pool(exitOK, "", "create")
			held := "1"
			if next(exitOK) { // its slot may be held, too
				held = "[12]"
			}
			opened, err := connect.Open(t.Context(), store, connect.Options{Assign: connect.Recycled})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { opened.Close() })
			g, err := uid.NewCached(t.Context(), opened.Assigner(), uid.WithLogger(slog.New(slog.DiscardHandler)))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { g.Close() })
			if r := pool(exitOK, "", "show"); r.stderr != "" || !regexp.MustCompile(" from worker ID 0: "+held+" held, ").MatchString(r.stdout) || !strings.Contains(r.stdout, "horizon (H)  1m15s\n") ||
				!strings.Contains(r.stdout, "  held  ") {
				t.Errorf("show: %+v", r)
			}
			if len(changes) == 1 {
				if r := pool(exitUsage, "", "new-history", "--yes"); !strings.Contains(r.stderr, "must be etcd or ZooKeeper") {
					t.Errorf("new-history: %+v", r)
				}
			}
			before := record()
			for _, change := range changes {
				if r := pool(exitOK, "", change, "--dry-run", "--yes"); !regexp.MustCompile(`\(`+held+" of ").MatchString(r.stdout) ||
					!strings.HasSuffix(r.stdout, "\nNothing was changed, because of --dry-run.\n") {
					t.Errorf("%s --dry-run: %+v", change, r)
				}
				if r := pool(exitUsage, "", change); !strings.Contains(r.stderr, "there is no terminal to ask; ") {
					t.Errorf("%s without a terminal: %+v", change, r)
				}
				for _, answer := range []string{"no\n", "\n", "y"} { // the last one ends without a line
					if r := pool(exitFailed, answer, change); !strings.Contains(r.stderr, "\nContinue? [y/N] ") || !strings.Contains(r.stderr, "nothing was changed") {
						t.Errorf("%s, %q: %+v", change, answer, r)
					}
				}
			}
			for to, want := range map[string]string{"2026-01-01T00:00:00Z": "must be at least ", "2206-12-24T18:00:00Z": "31 days after the default"} {
				if r := pool(exitUsage, "", "raise-floor", "--yes", "--to", to); !strings.Contains(r.stderr, want) {
					t.Errorf("--to %s: %+v, want %q", to, r, want)
				}
			}
			after := record()
			if after.Pool != before.Pool || after.History != before.History {
				t.Fatalf("%+v before, and %+v after nothing was to be changed", before, after)
			}

			if len(changes) == 2 { // first, because its floor is a wait only if there is none yet
				tag := func(want int64) {
					t.Helper()
					s, err := connect.Open(t.Context(), store, connect.Options{})
					if err != nil {
						t.Fatal(err)
					}
					defer s.Close()
					if want == 1 {
						err = s.Source().CreateTag(t.Context(), "orders", segment.TagConfig{Start: 1, Step: 10})
					}
					numbers, takeErr := s.Source().Take(t.Context(), segment.Request{Tag: "orders"})
					if err := errors.Join(err, takeErr); err != nil || numbers.First != want {
						t.Fatalf("Take = %+v, %v; want numbers from %d", numbers, err, want)
					}
				}
				tag(1)
				store := store + "&horizon=10m" // which the next process declares
				if r := run(t, "", nil, "pool", "new-history", "--dry-run", "--store", store); !strings.Contains(r.stdout, "before a floor, 10m35s later.") {
					t.Errorf("new-history with another horizon: %+v", r)
				}
				pool(exitOK, "y\n", "new-history")
				if got := record(); got.History == before.History {
					t.Errorf("%+v, want another history", got)
				}
				tag(11 + 5000)
				next(exitFailed)
			}
			before = record()
			if r := pool(exitOK, "", "raise-floor", "--dry-run"); strings.Contains(r.stdout, "use ringuid pool new-history") != (len(changes) == 2) {
				t.Errorf("raise-floor: %+v", r)
			}
			pool(exitOK, "yes\n", "raise-floor")
			raised := record()
			if wait := raised.Pool.Floor - before.Now; wait < 110_000 {
				t.Errorf("the floor is %d ms later, want at least 110,000; %+v before, %+v after", wait, before, raised)
			}
			for i, slot := range raised.Slots {
				if i < len(before.Slots) && slot.Revision == before.Slots[i].Revision {
					t.Errorf("the lease of worker ID %d has not ended: %+v before, %+v after", slot.WorkerID, before, raised)
				}
			}
			later := time.UnixMilli(raised.Pool.Floor).Add(24 * time.Hour).UTC().Format(time.RFC3339)
			if r := pool(exitOK, "", "raise-floor", "--yes", "--to", later); !strings.Contains(r.stdout, " begins before "+later) {
				t.Errorf("raise-floor --to %s: %+v", later, r)
			}
			if r := pool(exitOK, "", "show"); !strings.Contains(r.stdout, later+", in ") {
				t.Errorf("show: %+v, want the floor %s", r, later)
			}
			next(exitFailed)
		})
	}
}

// The floor follows from the store's clock, and from what the services declare: a clock that is wrong is refused, and a pool of an old
// backup may have a smaller horizon.
func TestPoolFloor(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	server.UseClock()
	store := "redis://" + server.Address()
	if r := run(t, "", nil, "pool", "create", "--store", store); r.status != exitOK {
		t.Fatalf("%+v", r)
	}
	for _, offset := range []time.Duration{-time.Hour, time.Hour} {
		server.SetClock(offset)
		for _, flag := range []string{"--dry-run", "--yes"} {
			fails(t, exitFailed, "must not differ by more than 5s, because the floor follows from the store's", nil, "pool", "raise-floor", flag, "--store", store)
		}
	}
	server.SetClock(0)
	for parameters, want := range map[string]string{"": ", in 1m5", "?horizon=10m": ", in 10m3", "?horizon=10m&fencing=5m&skew=1s": ", in 15m5s. |, in 15m6s. ", "?fencing=0s": ", in 1m50s. |, in 1m51s. "} {
		if r := run(t, "", nil, "pool", "raise-floor", "--dry-run", "--store", store+parameters); r.status != exitOK || !slices.ContainsFunc(strings.Split(want, "|"), func(w string) bool { return strings.Contains(r.stdout, w) }) {
			t.Errorf("%q: %+v, want %q", parameters, r, want)
		}
	}
	// The pool may be that of a backup, from before the services declared more: those that declare nothing declare the defaults.
	short := store + "?pool=short"
	if r := run(t, "", nil, "pool", "create", "--store", short+"&horizon=10s&fencing=0s&skew=0s"); r.status != exitOK {
		t.Fatalf("%+v", r)
	}
	for parameters, want := range map[string]string{"": ", in 1m5", "&horizon=10s&fencing=0s&skew=0s": ", in 1"} {
		if r := run(t, "", nil, "pool", "raise-floor", "--dry-run", "--store", short+parameters); r.status != exitOK || !strings.Contains(r.stdout, want) || strings.Contains(r.stdout, ", in 1m5") != (parameters == "") {
			t.Errorf("%q: %+v, want %q", parameters, r, want)
		}
	}
	// The answer takes its time, and the floor is later for it.
	answer := readerFunc(func(p []byte) (int, error) { server.SetClock(4 * time.Second); return copy(p, "y\n"), nil })
	r := runReading(t, answer, []string{"TEST_ASKS=1"}, "pool", "raise-floor", "--store", store)
	_, asked, _ := strings.Cut(r.stderr, " will be ")
	_, raised, _ := strings.Cut(r.stdout, " begins before ")
	before, err := time.Parse(time.RFC3339, asked[:min(len(asked), len("2026-01-01T00:00:00Z"))])
	after, err2 := time.Parse(time.RFC3339, raised[:min(len(raised), len("2026-01-01T00:00:00Z"))])
	if r.status != exitOK || errors.Join(err, err2) != nil || after.Sub(before) < 4*time.Second {
		t.Errorf("%+v, want a floor that is 4 s later than that of the question", r)
	}
	server.SetClock(0)
	// The pool has no format yet. A floor cannot be lowered.
	fails(t, exitUsage, "31 days after the default", nil, "pool", "raise-floor", "--yes", "--to", "2206-12-24T18:00:00Z", "--store", store)
	to := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	for _, flags := range [][]string{{"--to", to}, nil} { // without --to, the floor that the pool has is not lowered
		if r := run(t, "", nil, append([]string{"pool", "raise-floor", "--yes", "--store", store}, flags...)...); r.status != exitOK || !strings.Contains(r.stdout, " begins before "+to) {
			t.Errorf("%v: %+v, want the floor %s", flags, r, to)
		}
	}
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

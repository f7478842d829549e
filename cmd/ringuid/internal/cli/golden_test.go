package cli

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
)

var update = flag.Bool("update", false, "write the golden files of testdata")

// golden compares a text with a file of testdata, or writes it with -update.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err, "; go test -run ", t.Name(), " -update writes it")
	}
	if want := strings.ReplaceAll(string(want), "\r\n", "\n"); got != want {
		t.Errorf("the output is not that of %s:\n%s\nwant:\n%s", path, got, want)
	}
}

// The output of subcommands, word by word.
func TestGolden(t *testing.T) {
	const id = "962392666547429376"
	for name, lines := range map[string][]string{
		"parse": {
			"parse " + id, "parse 0x0d5b1a0000000000 9223372036854775807 0", "parse --json " + id + " 0",
			"parse --layout 1-41-10-12 --unit 1ms --epoch 2010-11-04T01:42:54Z 1541815603606036480",
			"parse --layout 1-20-10-10 5497558138880", "parse --color always " + id,
			"parse --json 19P0BEYxrzU", "parse --json 0TTG6J0000000",
		},
		"plan": {
			"plan --layout 1-28-22-13", "plan --layout 1-41-10-12 --unit 1ms --json",
			"plan --layout 1-28-22-13 --nodes 100 --rate 50000 --peak 2000000 --restarts 10 --years 10",
			"plan --nodes 100 --rate 50000 --restarts 10 --years 8", "plan --nodes 3 --rate 10 --years 100 --top 1 --json",
			"plan --layout 1-10-20-12", "plan --layout 1-20-10-10",
		},
		"move": {
			"move 1-28-22-13 1-29-21-13 --at 2026-11-22", "move 1-28-22-13 1-31-23-9,2020-01-01 --at 2026-11-22 --roll-out 1h --json",
			"move 1-28-22-13,2026-01-01,1s 1-30-23-10,2020-01-01 --at 2026-11-22 --ahead 0s --behind 0s",
			"move 1-28-22-13,2030-01-01 1-28-22-13 --at 2026-11-22", "move 1-28-22-13 1-28-22-13,2026-01-01,1s --at 2026-11-22",
			"move 1-28-22-13 1-28-22-13 --at 2026-11-22 --json",
		},
		"sql": {
			"sql --dialect clickhouse", "sql --dialect sqlite --from 2026-03-01 --to 2026-04-01T12:00:00Z --column o.id",
			"sql --dialect mysql --layout 1-41-10-12 --unit 1ms", "sql --dialect postgres",
		},
		"schema": {"schema mysql --tables worker_node", "schema postgres --tables worker_pool,leaf_alloc"},
		"help": {
			"next --help", "parse --help", "plan --help", "move --help", "schema --help", "sql --help", "worker-file --help",
			"doctor --help", "bench --help", "serve --help", "worker-file show --help", "worker-file set --help", "pool --help", "pool create --help", "pool show --help", "pool raise-floor --help", "pool new-history --help", "tag --help", "tag create --help", "tag raise --help", "completion --help",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			for _, line := range lines {
				r := run(t, "", nil, strings.Fields(line)...)
				fmt.Fprintf(&b, "$ ringuid %s\n%s", line, r.stdout)
				if r.stderr != "" {
					t.Errorf("ringuid %s: %s", line, r.stderr)
				}
				if r.status != exitOK {
					fmt.Fprintf(&b, "(exit status %d)\n", r.status)
				}
				b.WriteByte('\n')
			}
			golden(t, name, b.String())
		})
	}
}

// The scripts are printed as they are.
func TestSchema(t *testing.T) {
	for dialect, file := range map[string]string{"mysql": "schema.sql", "postgres": "schema.postgres.sql"} {
		want, err := os.ReadFile(filepath.Join("../../../..", file))
		if err != nil {
			t.Fatal(err)
		}
		if r := run(t, "", nil, "schema", dialect); r != (result{stdout: string(want)}) {
			t.Errorf("schema %s: status %d, %q", dialect, r.status, r.stderr)
		}
	}
}

// Questions are asked for the needs that no flag has set.
func TestPlanAsks(t *testing.T) {
	r := run(t, "many\n100\n\n2,000,000\n10\n8\n", []string{"TEST_ASKS=1"}, "plan", "--top", "1")
	if r.status != exitOK {
		t.Fatalf("%+v", r)
	}
	golden(t, "plan-asks", "stderr:\n"+r.stderr+"\n\nstdout:\n"+r.stdout)
	fails(t, exitUsage, "ended before all questions", []string{"TEST_ASKS=1"}, "plan")
	if r := run(t, "1.5\n\n\n\n\n", []string{"TEST_ASKS=1"}, "plan"); r.status != exitUsage || r.stdout != "" || !strings.Contains(r.stderr, "1.5; must be an integer") {
		t.Errorf("%+v", r)
	}
}

// The time since the epoch has passed: a layout must last for it and for the years from now on. A format that has ended meets no need.
func TestPlanFromNow(t *testing.T) {
	for _, tt := range []struct { // the tests' clock is in November 2026
		status int
		want   string
		line   string
	}{
		{exitOK, "time        × 1.04 ", "plan --layout 1-28-22-13 --nodes 1 --rate 1 --years 7.3"},
		{exitFound, "time        × 0.96 ", "plan --layout 1-28-22-13 --nodes 1 --rate 1 --years 8"},
		{exitOK, "time        × 1.06 ", "plan --layout 1-28-22-13 --nodes 1 --rate 1 --years 8 --epoch 2027-06-01"},
		{exitFound, "time        × 0.3 ", "plan --layout 1-28-22-13 --nodes 1 --rate 1 --years 1 --epoch 2000-01-01"},
		{exitFound, "the time bits end too early", "plan --layout 1-28-22-13 --nodes 1 --rate 1 --years 1 --epoch 2000-01-01"},
		{exitFound, "The time bits have ended", "plan --layout 1-28-22-13 --epoch 2000-01-01"},
		{exitFound, `"end":"2008-07-03T21:24:16Z"`, "plan --layout 1-28-22-13 --epoch 2000-01-01 --json"},
		{exitOK, "For 1 generator, 1 UID per second (1 at the peak), 1 restart per day each, and 2.0 years from now on:", "plan --layout 1-28-22-13 --nodes 1 --rate 1 --restarts 1 --years 2"},
	} {
		if r := run(t, "", nil, strings.Fields(tt.line)...); r.status != tt.status || !strings.Contains(r.stdout, tt.want) || r.stderr != "" {
			t.Errorf("%s: %+v, want status %d, %q", tt.line, r, tt.status, tt.want)
		}
	}
	r := run(t, "", nil, strings.Fields("plan --nodes 10 --rate 1000 --years 1 --epoch 2000-01-01 --top 1000 --json")...)
	var found struct{ Layouts []struct{ End time.Time } }
	if err := json.Unmarshal([]byte(r.stdout), &found); err != nil || len(found.Layouts) < 10 {
		t.Fatalf("%+v, %v", r, err)
	}
	for _, l := range found.Layouts {
		if l.End.Before(time.Date(2027, 11, 22, 0, 0, 0, 0, time.UTC)) {
			t.Errorf("a layout ends at %v", l.End)
		}
	}
}

// Flags take precedence over variables, and those over the defaults.
func TestPlanEnvironment(t *testing.T) {
	env := []string{"RINGUID_LAYOUT=1-41-10-12", "RINGUID_TIME_UNIT=1ms", "RINGUID_EPOCH=2020-01-01T00:00:00Z"}
	for line, want := range map[string]string{
		"plan":                                            "The layout 1-41-10-12 with the epoch 2020-01-01T00:00:00Z and the unit 1ms ends at 2089-",
		"plan --nodes 3 --rate 10 --years 1":              "1-41-10-12 with the epoch 2020",
		"plan --layout 1-40-11-12":                        "The layout 1-40-11-12 with the epoch 2020-01-01T00:00:00Z and the unit 1ms",
		"plan --epoch 2021-01-01 --time-unit 100ms":       "1-41-10-12 with the epoch 2021-01-01T00:00:00Z and the unit 100ms",
		"plan --layout any --nodes 3 --rate 10 --years 1": "has the greatest reserves",
		"plan --layout any --unit 1s --nodes 1000 --rate 10 --years 1 --json": `"epoch":"2020-01-01T00:00:00Z","unit":"1s"`,
	} {
		if r := run(t, "", env, strings.Fields(line)...); r.status != exitOK || !strings.Contains(r.stdout, want) || r.stderr != "" {
			t.Errorf("%s: %+v, want %q", line, r, want)
		}
	}
	fails(t, exitUsage, "ringuid: RINGUID_LAYOUT: bitsalloc: bad layout", []string{"RINGUID_LAYOUT=1-2"}, "plan")
}

// UIDs are also read from standard input.
func TestParseStdin(t *testing.T) {
	for _, args := range [][]string{{"parse", "--json"}, {"parse", "--json", "-"}} {
		r := run(t, "\n 962392666547429376 \n0x10\n", nil, args...)
		if r.status != exitOK || strings.Count(r.stdout, "\n") != 2 || !strings.Contains(r.stdout, `{"id":"16",`) {
			t.Errorf("%q: %+v", args, r)
		}
	}
	fails(t, exitUsage, "no UID to parse", nil, "parse")
}

// Layouts whose time ends after more than the greatest time.Duration, and UIDs of a time beyond the year 9999.
func TestFarEnd(t *testing.T) {
	store := filepath.Join(t.TempDir(), "worker")
	for line, want := range map[string]string{
		"plan --layout 1-41-10-12":                             "7,974 years, from 2026-01-01 00:00:00 UTC to 9999-",
		"plan --layout 1-41-10-12 --json":                      `"end":"9999-12-31`,
		"parse --layout 1-41-10-12 --json 9223372036854775807": `"time":"71710-`,
		"doctor --layout 1-41-10-12 --store " + store:          "in 7978.4 years",
		"doctor --layout 1-41-10-12 --json --store " + store:   "in 7978.4 years",
		"parse --layout 1-41-10-12 9223372036854775807":        "more than 292 years ahead",
		"move 1-28-22-13 1-41-10-12 --at 2026-11-22 --json":    `"safe":`,
	} {
		if r := run(t, "", nil, strings.Fields(line)...); !strings.Contains(r.stdout, want) || r.stderr != "" {
			t.Errorf("%s: %+v, want %q", line, r, want)
		}
	}
}

// What is wrong is an error with its status, and nothing is printed.
func TestFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "worker")
	for _, tt := range []struct {
		status int
		text   string
		line   string
	}{
		{exitUsage, "a subcommand is missing, such as: ringuid next\nSee ringuid --help.", ""},
		{exitUsage, "worker-file set", ""}, // the help
		{exitUsage, "a subcommand is missing: show or set\nSee ringuid worker-file --help.", "worker-file"},
		{exitUsage, "missing: <path>\nSee ringuid worker-file show --help.", "worker-file show"},
		{exitUsage, "missing: <old> <new>\nSee ringuid move --help.", "move"},
		{exitUsage, "unknown flag --many\nSee ringuid next --help.", "next --many"},
		{exitUsage, "See ringuid schema --help.", "schema mysql --tables x"},
		{exitFailed, `not a UID: "hello" must be a decimal number`, "parse hello"},
		{exitUsage, "unexpected argument nxt", "nxt"},
		{exitUsage, "unexpected argument mysql://u:xxxxx@db/ids\nSee", "next mysql://u:secret@db/ids"},
		{exitUsage, "--color", "--color sometimes parse 1"},
		{exitFailed, "must be a decimal number", "parse 1 x"},
		{exitFailed, "must be a decimal number", "parse -- -1"},
		{exitFailed, "without leading zeros", "parse 00"},
		{exitFailed, "base 62", "parse --form base62 1"},
		{exitFailed, "1 to 16 hexadecimal digits", "parse 0x"},
		{exitFailed, "1 to 16 hexadecimal digits", "parse 0x0X1"},
		{exitFailed, "1 to 16 hexadecimal digits", "parse 0xffffffffffffffff"},
		{exitFailed, "1 to 16 hexadecimal digits", "parse 0x00000000000000001"},
		{exitUsage, "--form", "parse --form roman 1"},
		{exitUsage, "--layout", "parse --layout 1-2-3 1"},
		{exitUsage, "neither --layout nor the needs", "plan"},
		{exitUsage, "--rate and --years must be set too", "plan --nodes 3"},
		{exitUsage, "ringuid plan --nodes 100 --rate 50000 --years 10", "plan"},
		{exitUsage, "--top is 0", "plan --top 0"},
		{exitUsage, "restarts per day is -1", "plan --layout 1-28-22-13 --nodes 1 --rate 1 --years 1 --restarts=-1"},
		{exitFailed, "needs cannot be met", "plan --nodes 1000000 --rate 1e15 --years 1000"},
		{exitUsage, "--epoch", "plan --layout 1-28-22-13 --epoch x"},
		{exitUsage, "the old format: bitsalloc: bad layout", "move 1-28 1-28-22-13"},
		{exitUsage, "the new format", "move 1-28-22-13 1-28-22-13,x"},
		{exitUsage, "at most three parts", "move 1-28-22-13 1-28-22-13,2026-01-01,1s,1"},
		{exitUsage, "--at", "move 1-28-22-13 1-29-21-13 --at soon"},
		{exitUsage, "--ahead is -1s", "move 1-28-22-13 1-29-21-13 --ahead=-1s"},
		{exitUsage, "roll-out", "move 1-28-22-13 1-29-21-13 --roll-out=-1s"},
		{exitUsage, "the cut-over is", "move 1-28-22-13 1-29-21-13 --at 2020-01-01"},
		{exitUsage, `<dialect> is "oracle"; must be mysql or postgres`, "schema oracle"},
		{exitUsage, `there is no table "x"`, "schema mysql --tables x"},
		{exitUsage, "is not the path of a file", "worker-file show mysql://h/db"},
		{exitUsage, "the number is 0; must be 1 to 4194302", "worker-file set " + path + " 0"},
		{exitUsage, "--form: missing value\nSee ringuid parse --help.", "parse --form"},
		{exitUsage, "ringuid: -n: missing value\n", "next -n"},
		{exitUsage, "-n: missing value; one that begins with - must follow =, as in --n=-5", "next -n -5"},
		{exitUsage, "-n is -5; must be 1 to 10000000", "next --n=-5"},
		{exitUsage, `ringuid: -n is "1e3"; must be an integer from 1 to 10,000,000`, "next -n 1e3"},
		{exitUsage, `--color is "sometimes"; must be auto, always or never`, "--color sometimes parse 1"},
		{exitUsage, "--tag-store is not set; set it, or RINGUID_TAG_STORE", "tag create orders"},
		{exitUsage, "--start is 0; must be at least 1", "tag create orders --tag-store " + path + " --start 0"},
		{exitUsage, "--step is 0; must be at least 1", "tag create orders --tag-store " + path + " --step 0"},
		{exitUsage, "the step of a tag is 1099511627777; must be", "tag create orders --tag-store " + path + " --step 1099511627777"},
		{exitUsage, "the number is 0; must be 1 to 9223372036854775806", "tag raise orders 0 --tag-store " + path},
		{exitUsage, "--tag-store: connect: wrong store", "tag create orders --tag-store host"},
		{exitUsage, "-5 is not a flag; write -- before a value that begins with -, as in: worker-file set -- -5", "worker-file set " + path + " -5"},
		{exitUsage, "-5 is not a flag; write -- before", "parse -5"},
		{exitUsage, "sustained rate is NaN", "plan --nodes 1 --rate NaN --years 1"},
		{exitUsage, "number of nodes is -1", "plan --nodes=-1 --rate 1 --years 1"},
		{exitUsage, "peak rate is -1", "plan --nodes 1 --rate 1 --years 1 --peak=-1"},
		{exitUsage, "the number is 4194303; must be 1 to 4194302, for the layout 1-28-22-13", "worker-file set " + path + " 4194303"},
		{exitUsage, "the number is 9223372036854775807; must be 1 to", "worker-file set " + path + " 9223372036854775807"},
		{exitUsage, "the number is 300000; must be 1 to 262142, for the layout 1-28-22-13 without 4 worker bits for prefix and division", "worker-file set --worker-divide 1 --worker-prefix 3/3 " + path + " 300000"},
		{exitUsage, "has no worker IDs for the file", "worker-file show --worker-divide 22 " + path},
		{exitUsage, "--worker-divide is -1", "worker-file show --worker-divide=-1 " + path},
		{exitFailed, "create the directory", "worker-file show " + path + "/none/worker"},
		{exitFailed, "create the directory", "worker-file set " + path + "/none/worker 3"},
	} {
		fails(t, tt.status, tt.text, nil, strings.Fields(tt.line)...)
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) > 0 {
		t.Errorf("%v, %v: want no file", entries, err)
	}
}

// Each wrong value of a flag, an argument or a variable is an error that names it, quotes the value, and says what it must be. None is
// the text of a parser.
func TestWrongValues(t *testing.T) {
	a := &App{}
	parser, err := kong.New(newCommands(), a.options(io.Discard)...)
	if err != nil {
		t.Fatal(err)
	}
	const wrong = "a?b"
	checked := 0
	check := func(name string, env []string, args ...string) {
		t.Helper()
		r := run(t, "", env, args...)
		for _, raw := range []string{"but got", "expected", "strconv", " bit ", "parsing", "(string)", "EOL"} {
			if strings.Contains(r.stderr, raw) {
				t.Errorf("ringuid %q: %q has %q of a parser", args, r.stderr, raw)
			}
		}
		if r.status != exitUsage || r.stdout != "" || !strings.HasPrefix(r.stderr, "ringuid: "+name) || !strings.Contains(r.stderr, wrong) || !strings.Contains(r.stderr, "must be") {
			t.Errorf("ringuid %q with %q: %+v, want an error that begins with %s", args, env, r, name)
		}
		checked++
	}
	var visit func(n *kong.Node, path, needed []string)
	visit = func(n *kong.Node, path, needed []string) {
		for _, child := range n.Children {
			if child.Name == "serve" || child.Name == "completion" { // serve checks its settings together
				continue
			}
			path := append(slices.Clone(path), child.Name)
			needed := slices.Clone(needed)
			for _, arg := range child.Positional {
				if arg.IsCumulative() {
					continue
				}
				if arg.Target.Kind() != reflect.String || arg.Enum != "" {
					check("<"+arg.Name+">", nil, append(append(slices.Clone(path), needed...), wrong)...)
				}
				value := "1"
				if arg.Enum != "" {
					value = arg.EnumSlice()[0]
				}
				needed = append(needed, value)
			}
			for _, flag := range child.Flags {
				if flag.Required { // one with a list of values; the last value counts
					needed = append(needed, "--"+flag.Name+"="+flag.EnumSlice()[0])
				}
			}
			for _, flag := range child.Flags {
				kind := flag.Target.Kind()
				if kind == reflect.String && flag.Enum == "" && !slices.Contains([]string{"layout", "epoch", "unit", "worker-prefix"}, flag.Name) ||
					kind == reflect.Slice && flag.Target.Type().Elem().Kind() == reflect.String || len(child.Children) > 0 {
					continue
				}
				name := "--" + flag.Name
				if len(flag.Name) == 1 {
					name = "-" + flag.Name
				}
				line := append(slices.Clone(path), needed...)
				check(name, nil, append(slices.Clone(line), "--"+flag.Name+"="+wrong)...)
				if variable := flag.Tag.Get("fromenv"); variable != "" {
					check(variable, []string{variable + "=" + wrong}, line...)
				}
			}
			visit(child, path, needed)
		}
	}
	visit(parser.Model.Node, nil, nil)
	if checked < 50 {
		t.Errorf("%d wrong values", checked)
	}
	// What follows -n needs no space.
	for _, line := range []string{"next -n=3", "next -n3", "next -n 3"} {
		if r := run(t, "", nil, strings.Fields(line)...); r.status != exitOK || strings.Count(r.stdout, "\n") != 3 {
			t.Errorf("%s: %+v", line, r)
		}
	}
	if r := run(t, "", nil, "next", "-n", "010"); strings.Count(r.stdout, "\n") != 10 { // decimal, as numbers of invoices
		t.Errorf("-n 010: %+v", r)
	}
}

// The counter of a worker file is shown and raised, and never goes back.
func TestWorkerFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "worker")
	var b strings.Builder
	for _, line := range []string{"show PATH", "set PATH 1000", "show PATH", "show --json PATH", "show --layout 1-40-10-13 PATH", "set PATH 1000", "set --layout 1-27-23-13 file:PATH 4194304", "show PATH"} {
		r := run(t, "", nil, append([]string{"worker-file"}, strings.Fields(strings.ReplaceAll(line, "PATH", path))...)...)
		fmt.Fprintf(&b, "$ ringuid worker-file %s\n%s", line, r.stdout)
		if r.status != exitOK || r.stderr != "" {
			t.Errorf("%s: %+v", line, r)
		}
	}
	golden(t, "worker-file", b.String())
	fails(t, exitFailed, "the counter never goes back", nil, "worker-file", "set", path, "4194302")
	fails(t, exitFailed, "worker ID out of range", nil, "next", "--store", path)
	if err := os.WriteFile(path, []byte("7"), 0o600); err != nil {
		t.Fatal(err)
	}
	fails(t, exitFailed, "corrupt worker file", nil, "worker-file", "show", path)
	fails(t, exitFailed, "corrupt worker file", nil, "worker-file", "set", path, "4000000")
}

// The report of a store, and the exit status that follows from it.
func TestDoctor(t *testing.T) {
	path := filepath.Join(t.TempDir(), "worker")
	takeIDs(t, nil, "--store", path)
	var b strings.Builder
	for _, line := range []string{
		"--store PATH", "--store PATH --json", "--store PATH --epoch 2017-01-01", "--store PATH --epoch 2018-10-01", "--store PATH --epoch 2018-10-01 --strict",
		"--store PATH --color always", "--store PATH2",
	} {
		r := run(t, "", nil, append([]string{"doctor"}, strings.Fields(strings.ReplaceAll(line, "PATH", path))...)...)
		fmt.Fprintf(&b, "$ ringuid doctor %s\n%s(exit status %d)\n\n", line, strings.ReplaceAll(r.stdout, path, "PATH"), r.status)
		if r.stderr != "" {
			t.Errorf("%s: %s", line, r.stderr)
		}
	}
	golden(t, "doctor", b.String())
	if r := run(t, "", nil, "doctor", "--store", path+"/none/worker"); r.status != exitFound ||
		!strings.Contains(r.stdout, "cannot be used: stat ") || !strings.Contains(r.stdout, "→ create the directory") {
		t.Errorf("no directory: %+v", r)
	}
	fails(t, exitUsage, "--timeout is -1s", nil, "doctor", "--timeout=-1s")
	fails(t, exitUsage, "a path must not contain ?", nil, "doctor", "--store", path+"?x")
	fails(t, exitUsage, "wrong store", nil, "doctor", "--store", "redis:/x")
	if r := run(t, "", []string{"RINGUID_STORE=mysql://u:secret@127.0.0.1:1/ids"}, "doctor", "--timeout", "5s"); r.status != exitFound ||
		!strings.Contains(r.stdout, "fault    reachable") || strings.Contains(r.stdout, "secret") {
		t.Errorf("no server: %+v", r)
	}
	// The default store cannot be created.
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := run(t, "", []string{"XDG_STATE_HOME=" + file}, "doctor"); r.status != exitFound || !strings.Contains(r.stdout, "fault    reachable    cannot create the directory of the default store") ||
		strings.Contains(r.stdout, "the network") || !strings.Contains(r.stdout, "\nthe default store: faults: 1") {
		t.Errorf("no default store: %+v", r)
	}
	// A store where opening means to log in.
	if r := run(t, "", []string{"RINGUID_STORE=zookeeper://u:secret@127.0.0.1:1"}, "doctor", "--timeout", "300ms", "--json"); r.status != exitFound ||
		!strings.Contains(r.stdout, `"check":"reachable"`) || strings.Contains(r.stdout, "secret") {
		t.Errorf("no server to log in to: %+v", r)
	}
}

// There are no colors in a file or a pipe, with NO_COLOR, or with --color never.
func TestColors(t *testing.T) {
	if r := run(t, "", nil, "parse", "1"); strings.Contains(r.stdout, "\x1b") {
		t.Error("colors in a pipe")
	}
	a := &App{LookupEnv: func(string) (string, bool) { return "", false }, color: colorAlways}
	if !a.painter(nil) {
		t.Error("no colors with always")
	}
	for _, value := range []string{"NO_COLOR=1", "TERM=dumb"} {
		name, value, _ := strings.Cut(value, "=")
		a := &App{LookupEnv: func(n string) (string, bool) { return value, n == name }, color: colorAuto}
		if a.painter(os.Stdout) {
			t.Errorf("colors with %s", name)
		}
	}
}

package cli

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/ringuid/ringuid/uid"
)

// takeIDs returns the UIDs that a command line prints, each of which must be one.
func takeIDs(t *testing.T, env []string, args ...string) []uid.ID {
	t.Helper()
	ids, _ := takeInTime(t, env, args...)
	return ids
}

// takeInTime is takeIDs. It also reports whether the worker ID was released in time.
func takeInTime(t *testing.T, env []string, args ...string) (ids []uid.ID, inTime bool) {
	t.Helper()
	r := run(t, "", env, append([]string{"next"}, args...)...)
	if r.status != exitOK || r.stderr != "" {
		t.Fatalf("%q: %+v", args, r)
	}
	for line := range strings.Lines(r.stdout) {
		id, err := uid.ParseID(strings.TrimSuffix(line, "\n"))
		if err != nil || id <= 0 {
			t.Fatalf("%q: %q is no UID: %v", args, line, err)
		}
		ids = append(ids, id)
	}
	return ids, !r.isLate
}

// UIDs of several runs differ, from each kind of file, and for few and for many.
func TestNext(t *testing.T) {
	state := t.TempDir()
	env := []string{"XDG_STATE_HOME=" + state}
	for _, args := range [][]string{nil, {"--store", filepath.Join(state, "worker")}, {"--store", "file:" + filepath.Join(state, "slots") + "?assign=recycled"}} {
		seen, released := map[uid.ID]bool{}, 0
		for _, n := range []int{1, 1, 1000, 20000, 1} {
			ids, inTime := takeInTime(t, env, append([]string{"-n", strconv.Itoa(n)}, args...)...)
			if len(ids) != n {
				t.Fatalf("%q: %d UIDs, want %d", args, len(ids), n)
			}
			for _, id := range ids {
				if seen[id] {
					t.Fatalf("%q: %d twice", args, id)
				}
				seen[id] = true
			}
			if inTime {
				released++
			}
		}
		if released == 0 {
			t.Errorf("%q: no worker ID was released in time", args)
		}
	}
}

// The flags and the environment set the format, and --hex the form.
func TestNextFormat(t *testing.T) {
	env := []string{"RINGUID_LAYOUT=1-41-10-12", "RINGUID_TIME_UNIT=1ms", "RINGUID_EPOCH=2020-01-01T00:00:00Z"}
	for _, env := range [][]string{env, nil} {
		args := []string{"next", "--hex"}
		if env == nil {
			args = append(args, "--layout", "1-41-10-12", "--unit", "1ms", "--epoch", "2020-01-01")
		}
		r := run(t, "", env, args...)
		id, err := strconv.ParseInt(strings.TrimSuffix(r.stdout, "\n"), 0, 64)
		if err != nil || r.stdout != fmt.Sprintf("0x%016x\n", id) {
			t.Fatalf("%+v: %v", r, err)
		}
		if ms := id >> 22; ms < 100_000_000_000 || ms > 2e12 { // a second after the epoch of 2026 would be less
			t.Errorf("%d: %d ms since 2020", id, ms)
		}
	}
}

// Worker IDs are wrapped as services do it, by flags and by the variables of settings.Settings.
func TestNextWrapped(t *testing.T) {
	f, err := uid.NewFormat()
	if err != nil {
		t.Fatal(err)
	}
	store := filepath.Join(t.TempDir(), "worker")
	for i, tt := range []struct {
		env, args []string
		want      int64
	}{
		{nil, nil, 1},
		{nil, []string{"--worker-prefix", "5/3"}, 5<<19 | 2},
		{[]string{"RINGUID_WORKER_PREFIX=5/3"}, nil, 5<<19 | 3},
		{[]string{"RINGUID_WORKER_PREFIX=5/3", "RINGUID_WORKER_DIVIDE=2"}, nil, 5<<19 | 4},
		{nil, []string{"--worker-divide", "2"}, 5},
	} {
		ids := takeIDs(t, tt.env, append([]string{"--store", store}, tt.args...)...)
		if got := f.Parse(ids[0]).WorkerID; got != tt.want {
			t.Errorf("%d: worker ID %d, want %d", i, got, tt.want)
		}
	}
	slots := filepath.Join(t.TempDir(), "slots")
	takeIDs(t, []string{"RINGUID_STORE=" + slots, "RINGUID_ASSIGNER=recycled", "RINGUID_WORKER_DIVIDE=1"})
	r := run(t, "", nil, "doctor", "--store", slots, "--assigner", "recycled")
	if r.status != exitOK || !strings.Contains(r.stdout, "2097152 worker IDs") || !strings.Contains(r.stdout, "1 of the worker bits belong") {
		t.Errorf("%+v", r)
	}
	if r := run(t, "", nil, "doctor", "--store", slots, "--assigner", "recycled", "--worker-divide", "2"); r.status != exitFound || !strings.Contains(r.stdout, "the pool has divided by 1 bits, and the flags divided by 2 bits") {
		t.Errorf("another division: %+v", r)
	}
	// Another number of the prefix in as many bits, and the same one.
	prefixed := filepath.Join(t.TempDir(), "slots")
	takeIDs(t, []string{"RINGUID_STORE=" + prefixed, "RINGUID_ASSIGNER=recycled", "RINGUID_WORKER_PREFIX=5/3", "RINGUID_WORKER_DIVIDE=2"})
	for flags, found := range map[string]string{
		"--worker-prefix 4/3 --worker-divide 2": "the pool has prefix 5 in 3 bits; divided by 2 bits, and the flags prefix 4 in 3 bits; divided by 2 bits",
		"--worker-prefix 5/3":                   "and the flags prefix 5 in 3 bits\n",
		"--worker-divide 5":                     "and the flags divided by 5 bits\n",
		"--worker-prefix 5/3 --worker-divide 2": "",
		"":                                      "",
	} {
		r := run(t, "", nil, append([]string{"doctor", "--store", prefixed, "--assigner", "recycled"}, strings.Fields(flags)...)...)
		if (r.status == exitFound) != (found != "") || !strings.Contains(r.stdout, found) || !strings.Contains(r.stdout, "5 of the worker bits belong") {
			t.Errorf("%s: %+v", flags, r)
		}
	}
	if r := run(t, "", nil, "doctor", "--store", store, "--worker-divide", "22"); r.status != exitFound || !strings.Contains(r.stdout, "none are left for the store") {
		t.Errorf("all bits: %+v", r)
	}
	fails(t, exitFailed, "corrupt worker file", nil, "next", "--store", slots)
	for _, wrong := range []string{"5", "8/3", "-1/3", "1/0", "x/3", "5/3/1", "1/63"} {
		fails(t, exitUsage, "as in 5/3", nil, "next", "--worker-prefix="+wrong)
	}
	fails(t, exitUsage, "--worker-divide is -1", nil, "next", "--worker-divide=-1")
	fails(t, exitUsage, "must be disposable or recycled", []string{"RINGUID_ASSIGNER=static"}, "next", "--store", store)
	fails(t, exitUsage, `RINGUID_ASSIGNER is "random"; must be disposable, recycled or static`, []string{"RINGUID_ASSIGNER=random"}, "next", "--store", store)
	// The default store is not that of services whose environment has an assigner: their UIDs would be generated a second time.
	fails(t, exitUsage, "RINGUID_ASSIGNER is static", []string{"RINGUID_ASSIGNER=static"}, "next")
	fails(t, exitUsage, "there is no store", []string{"RINGUID_ASSIGNER=disposable"}, "next")
	fails(t, exitUsage, "there is no store", nil, "doctor", "--assigner", "recycled")
	fails(t, exitUsage, "RINGUID_WORKER_ID is ordinal: that worker ID belongs to a process", []string{"RINGUID_WORKER_ID=ordinal"}, "next", "--store", store)
	// A misspelt variable must not lead to another format than that of the services, or to another store.
	for _, name := range []string{"RINGUID_LAYUOT", "RINGUID_STORES"} {
		for _, command := range []string{"next", "doctor", "parse 1", "plan --layout 1-28-22-13", "worker-file show x"} {
			fails(t, exitUsage, name+" is not known; did you mean RINGUID_", []string{name + "=1-41-10-12"}, strings.Fields(command)...)
		}
	}
	fails(t, exitUsage, "RINGUID_COLOR is not known; remove it, or correct its name", []string{"RINGUID_COLOR="}, "next")
	for _, harmless := range []string{"RINGUID_MAX_BATCH=5", "RINGUID_TOKEN=x", "RINGUID_CONFIG=x", "RINGUID_SERVICE_HOST=10.0.0.1", "RINGUIDX=1"} {
		takeIDs(t, []string{harmless}, "--store", store)
	}
	fails(t, exitUsage, "differs from the value of the option", []string{"RINGUID_ASSIGNER=disposable"}, "next", "--store", "file:"+slots+"?assign=recycled")
}

// A server that accepts connections and does not answer does not hold the command, where opening the store means to log in.
func TestNextWithoutAnswer(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	fails(t, exitFailed, "no answer within 100ms (--timeout)", nil, "next", "--timeout", "100ms", "--store", "zookeeper://u:p@"+listener.Addr().String())
}

// What is wrong is an error with its status, and no UID is printed.
func TestNextFails(t *testing.T) {
	directory := t.TempDir()
	fails(t, exitUsage, "-n is 0; must be 1 to 10000000", nil, "next", "-n", "0")
	fails(t, exitUsage, "-n is 10000001", nil, "next", "-n", "10000001")
	fails(t, exitUsage, "--timeout is 0s", nil, "next", "--timeout", "0s")
	fails(t, exitUsage, "unknown flag --many", nil, "next", "--many")
	fails(t, exitUsage, "unexpected argument 7", nil, "next", "7")
	fails(t, exitUsage, "--layout: ", nil, "next", "--layout", "1-2")
	fails(t, exitUsage, "--epoch: ", nil, "next", "--epoch", "yesterday")
	fails(t, exitUsage, "--unit is ", nil, "next", "--unit", "day")
	fails(t, exitUsage, "unit", nil, "next", "--unit", "1ns")
	fails(t, exitUsage, "HOME", []string{"XDG_STATE_HOME="}, "next")
	fails(t, exitUsage, "wrong store", nil, "next", "--store", "ids")
	fails(t, exitFailed, "create the directory", nil, "next", "--store", filepath.Join(directory, "none", "worker"))
	fails(t, exitFailed, "time bits", nil, "next", "--layout", "1-20-22-21") // they have ended
	fails(t, exitFailed, "epoch", nil, "next", "--epoch", "2200-01-01")      // it has not begun
	fails(t, exitFailed, "127.0.0.1:1", []string{"RINGUID_STORE=mysql://u:secret@127.0.0.1:1/ids"}, "next", "--timeout", "100ms")
}

// A command whose context ends is interrupted.
func TestNextInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var stdout, stderr strings.Builder
	status := Run(ctx, []string{"next", "--store", "redis://127.0.0.1:1"}, strings.NewReader(""), &stdout, &stderr, func(string) (string, bool) { return "", false }, nil)
	if status != exitInterrupted || stdout.String() != "" || !strings.Contains(stderr.String(), "interrupted") {
		t.Errorf("status %d, %q, %q", status, &stdout, &stderr)
	}
}

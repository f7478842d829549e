package main

import (
	"bufio"
	"bytes"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
)

// asProgram is the name of an environment variable that makes the test binary run the program instead of the tests.
const asProgram = "TEST_AS_RINGUID"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// The program works as a process.
func TestProgram(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Run("subcommands", func(t *testing.T) { testSubcommands(t, program) })
	t.Run("interrupt", func(t *testing.T) { testInterrupt(t, program) })
}

// Each subcommand works without any server, other program or variable of the environment but the directory of its state;
// and completions are answered.
func testSubcommands(t *testing.T, program string) {
	state := t.TempDir()
	worker := filepath.Join(state, "worker")
	for _, tt := range []struct {
		args   string
		env    string
		want   string
		status int
	}{
		{args: "--help", want: "Commands:"},
		{args: "--version", want: "ringuid "},
		{args: "next -n 3", want: "\n"},
		{args: "next --store " + worker, want: "\n"},
		{args: "parse 962392666547429376", want: "2026-11-21 04:21:53 UTC"},
		{args: "plan --layout 1-28-22-13", want: "4,194,303 worker IDs"},
		{args: "move 1-28-22-13 1-29-21-13", want: "NOT SAFE", status: 3},
		{args: "schema mysql", want: "CREATE TABLE IF NOT EXISTS WORKER_NODE"},
		{args: "doctor", want: "ok       format"},
		{args: "worker-file show " + worker, want: "The last worker ID is 1."},
		{args: "tag create orders --tag-store " + worker, want: `The tag "orders" was created in `},
		{args: "tag create orders --tag-store " + worker, want: "the tag exists already", status: 1},
		{args: "bench --rounds 1 --time 1us", want: "Cached.Next"},
		{args: "completion bash", want: "ringuid"},
		{args: "completion -c zsh", want: program},
		{args: "completion -c fish", want: program},
		{args: "", env: "COMP_LINE=ringuid wor", want: "worker-file\n"},
		{args: "", env: "COMP_LINE=ringuid parse --la", want: "--layout\n"},
		{args: "nothing", want: "unexpected argument", status: 2},
	} {
		cmd := exec.Command(program, strings.Fields(tt.args)...)
		cmd.Env = []string{asProgram + "=1", "XDG_STATE_HOME=" + state, "SYSTEMROOT=" + os.Getenv("SYSTEMROOT"), "TMPDIR=" + os.TempDir(), "TMP=" + os.TempDir()}
		if tt.env != "" {
			cmd.Env = append(cmd.Env, tt.env)
		}
		out, err := cmd.CombinedOutput()
		status := 0
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			status = exit.ExitCode()
		} else if err != nil {
			t.Fatal(err)
		}
		if status != tt.status || !strings.Contains(string(out), tt.want) || bytes.ContainsRune(out, '\x1b') {
			t.Errorf("ringuid %s: status %d\n%s\nwant status %d, and %q", tt.args, status, out, tt.status, tt.want)
		}
	}
}

// environ returns the environment without the variables of the tests, which the command does not know.
func environ() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "RINGUID_") })
}

// A command that waits for a server ends with an interrupt, prints no UID, and has the status for that.
func testInterrupt(t *testing.T, program string) {
	if runtime.GOOS == "windows" {
		testkit.Missing(t, "Windows cannot send a signal to one process")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0") // a server that never answers
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	cmd := exec.Command(program, "next", "--store", "redis://"+listener.Addr().String(), "--timeout", "10m")
	cmd.Env = append(environ(), asProgram+"=1")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop := time.AfterFunc(5*time.Minute, func() {
		cmd.Process.Kill()
		listener.Close()
	})
	defer stop.Stop()
	defer cmd.Process.Kill()
	conn, err := listener.Accept() // it waits now
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := bufio.NewReader(conn).ReadByte(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	if status := cmd.ProcessState.ExitCode(); status != 130 || stdout.Len() > 0 || !strings.Contains(stderr.String(), "interrupted") {
		t.Errorf("status %d, stdout %q, stderr %q", status, &stdout, &stderr)
	}
}

// The command uses the library by its public packages only, as any program of a user.
func TestPublicPackagesOnly(t *testing.T) {
	out, err := output(".", nil, "go", "list", "-f", "{{range .Imports}}{{.}}\n{{end}}", "./...")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !strings.Contains(out, "github.com/ringuid/ringuid/uid\n") {
		t.Fatalf("the imports are\n%s", out)
	}
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "github.com/ringuid/ringuid/internal/") {
			t.Errorf("it imports %s", line)
		}
	}
}

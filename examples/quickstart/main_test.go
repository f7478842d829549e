package main

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/ringuid/ringuid/internal/testkit/leaktest"
)

func TestStateDir(t *testing.T) {
	home, noHome := "/home/me", errors.New("$HOME is not defined")
	absolute := filepath.Join(t.TempDir(), "state")
	for _, tc := range []struct {
		name, goos, variable, value, home, want string
	}{
		{"Linux", "linux", "", "", home, filepath.Join(home, ".local", "state")},
		{"Linux, XDG", "linux", "XDG_STATE_HOME", absolute, "", absolute},
		{"Linux, XDG is relative", "linux", "XDG_STATE_HOME", "state", home, filepath.Join(home, ".local", "state")},
		{"Linux, no home", "linux", "", "", "", ""},
		{"FreeBSD", "freebsd", "", "", home, filepath.Join(home, ".local", "state")},
		{"macOS", "darwin", "XDG_STATE_HOME", absolute, home, filepath.Join(home, "Library", "Application Support")},
		{"macOS, no home", "darwin", "", "", "", ""},
		{"Windows", "windows", "LocalAppData", `C:\Users\me\AppData\Local`, "", `C:\Users\me\AppData\Local`},
		{"Windows, no home", "windows", "", "", home, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			getenv := func(name string) string {
				if name == tc.variable {
					return tc.value
				}
				return ""
			}
			got, err := stateDir(tc.goos, getenv, func() (string, error) {
				if tc.home == "" {
					return "", noHome
				}
				return tc.home, nil
			})
			if got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
			if (err != nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), "-worker-file") {
				t.Errorf("error %v; without a directory it must say how to choose a file", err)
			}
		})
	}
}

// Without a flag the worker file is in the state directory, and the output says where. The next run
// takes the next worker ID from it, also if it is told where the file is.
func TestRun(t *testing.T) {
	leaktest.Check(t)
	dir := t.TempDir()
	switch runtime.GOOS {
	case "windows":
		t.Setenv("LocalAppData", dir)
	case "darwin", "ios":
		t.Setenv("HOME", dir)
		dir = filepath.Join(dir, "Library", "Application Support")
	default:
		t.Setenv("XDG_STATE_HOME", dir)
	}
	path := filepath.Join(dir, "ringuid", "quickstart.worker")
	worker := regexp.MustCompile(`worker ([0-9]+), sequence 0`)
	seen := map[string]bool{}
	for _, file := range []string{"", path} {
		var out strings.Builder
		if err := run(&out, file); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), path) {
			t.Errorf("the output does not name %s:\n%s", path, &out)
		}
		m := worker.FindStringSubmatch(out.String())
		if m == nil || seen[m[1]] {
			t.Fatalf("no worker ID, or one of %v:\n%s", seen, &out)
		}
		seen[m[1]] = true
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}

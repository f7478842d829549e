package workerassign

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/leaktest"
)

// assign returns the worker ID of a new lease, and fails the test if there is an error.
func assign(tb testing.TB, a Assigner) int64 {
	tb.Helper()
	l, err := a.Assign(testkit.Patient(tb), Request{})
	if err != nil {
		tb.Fatal(err)
	}
	return l.WorkerID()
}

// The worker IDs of a file are 1, 2, 3 and so on, also after a restart.
func TestFile(t *testing.T) {
	leaktest.Check(t)
	path := filepath.Join(t.TempDir(), "worker")
	for want := int64(1); want <= 50; want++ {
		if got := assign(t, NewFile(path)); got != want { // a new File each time, as after a restart
			t.Fatalf("worker ID %d, want %d", got, want)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil || string(text) != "ringuid-worker v1 50 crc32c=64eaeaeb\n" {
		t.Errorf("the file holds %q, %v", text, err)
	}
	l, err := NewFile(path).Assign(context.Background(), Request{})
	if err != nil {
		t.Fatal(err)
	}
	granted, err := l.Reserve(context.Background(), time.Now())
	if !l.NotBefore().IsZero() || !granted.Until.Equal(Unbounded()) || err != nil || l.Release(context.Background(), time.Time{}) != nil {
		t.Errorf("the lease is from %v to %v, %v; want it unbounded", l.NotBefore(), granted.Until, err)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 2 {
		t.Errorf("%d files are in the directory, %v; want 2, the counter and its lock file", len(entries), err)
	}
	for _, e := range entries {
		if info, err := e.Info(); err != nil || info.Mode().Perm() != 0o600 && runtime.GOOS != "windows" {
			t.Errorf("%s: %v, %v", e.Name(), info.Mode(), err)
		}
	}
}

// Files that cannot be used are an error that names them.
func TestUnusableFile(t *testing.T) {
	leaktest.Check(t)
	directory := t.TempDir()
	for _, tt := range []struct {
		name, path string
		prepare    func(path string) error
		want       error
		text       string
	}{
		{"no directory", filepath.Join(directory, "none", "worker"), nil, fs.ErrNotExist, "create the directory " + filepath.Join(directory, "none")},
		{"a directory", filepath.Join(directory, "directory"), func(p string) error { return os.Mkdir(p, 0o700) }, ErrFile, "directory"},
		{"a link to nowhere", filepath.Join(directory, "link"), func(p string) error { return os.Symlink(filepath.Join(directory, "nowhere"), p) }, ErrFile, "link"},
		{"at the end", filepath.Join(directory, "end"), func(p string) error {
			return os.WriteFile(p, []byte(formatCounter(math.MaxInt64)), 0o600)
		}, ErrFile, "9223372036854775807"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.prepare != nil {
				if err := tt.prepare(tt.path); errors.As(err, new(*os.LinkError)) {
					testkit.Missing(t, "this system has no links: ", err)
				} else if err != nil {
					t.Fatal(err)
				}
			}
			l, err := NewFile(tt.path).Assign(context.Background(), Request{})
			if l != nil || !errors.Is(err, tt.want) || !errors.Is(err, ErrFile) || !strings.Contains(err.Error(), tt.text) || !strings.Contains(err.Error(), tt.path) {
				t.Errorf("Assign() = %v, %v; want %v with %q", l, err, tt.want, tt.text)
			}
		})
	}
	if _, err := os.Stat(filepath.Join(directory, "nowhere")); err == nil {
		t.Error("a link to nowhere was followed")
	}
}

// A symbolic link and a relative path lead to the same counter.
func TestFileByLinkAndRelativePath(t *testing.T) {
	directory, other := t.TempDir(), t.TempDir()
	path, link := filepath.Join(directory, "worker"), filepath.Join(other, "link")
	if err := os.Symlink(directory, filepath.Join(other, "directory")); err != nil {
		testkit.Missing(t, "this system has no links: ", err)
	}
	if got := assign(t, NewFile(filepath.Join(other, "directory", "worker"))); got != 1 {
		t.Errorf("worker ID %d, want 1", got)
	}
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if got := assign(t, NewFile(link)); got != 2 {
		t.Errorf("worker ID %d, want 2", got)
	}
	t.Chdir(directory)
	relative := NewFile("worker")
	t.Chdir(other)
	if got := assign(t, relative); got != 3 {
		t.Errorf("worker ID %d, want 3", got)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link was changed to %v, %v", info, err)
	}
}

// D11: an invalid option is an error that names it.
func TestD11FileOptions(t *testing.T) {
	for _, tt := range []struct {
		path   string
		option FileOption
		want   string
	}{
		{"", WithTimeout(time.Second), "the path of the worker file is empty"},
		{"x", nil, "an option is nil"},
		{"x", WithTimeout(0), "timeout is 0s"},
		{"x", WithLogger(nil), "the logger is nil"},
	} {
		if l, err := NewFile(tt.path, tt.option).Assign(context.Background(), Request{}); l != nil || !errors.Is(err, ErrOption) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Assign() = %v, %v; want ErrOption with %q", l, err, tt.want)
		}
	}
}

// A File that was not created by NewFile returns an error and does not panic.
func TestZeroFile(t *testing.T) {
	var nilFile *File
	for _, f := range []*File{nilFile, new(File), {}} {
		for name, a := range map[string]Assigner{"as it is": f, "divided": Divide(f, 1), "prefix": Prefix(f, 0, 1)} {
			if l, err := a.Assign(context.Background(), request10Bits); l != nil || !errors.Is(err, ErrOption) || !strings.Contains(err.Error(), "NewFile") {
				t.Errorf("%s: Assign() = %v, %v; want ErrOption", name, l, err)
			}
		}
	}
}

package workerassign

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/lockedfile"
	"github.com/ringuid/ringuid/internal/sqlattempt"
	"github.com/ringuid/ringuid/internal/workerfile"
)

// A file that cannot be trusted is refused, and never replaced: Assign does not fall back to Static.
func TestStaticFileIsRefused(t *testing.T) {
	write := func(t *testing.T, path string, text []byte) {
		t.Helper()
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	remove := func(t *testing.T, path string) {
		t.Helper()
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	for name, test := range map[string]struct {
		damage func(t *testing.T, path string, old []byte) // old is an earlier content
		want   string
	}{
		"missing":   {func(t *testing.T, path string, _ []byte) { remove(t, path) }, "is missing"},
		"empty":     {func(t *testing.T, path string, _ []byte) { write(t, path, nil) }, "not what this package wrote"},
		"directory": {func(t *testing.T, path string, _ []byte) { remove(t, path); os.Mkdir(path, 0o700) }, "not a regular file"},
		"changed": {func(t *testing.T, path string, old []byte) {
			write(t, path, bytes.Replace(old, []byte("worker 5"), []byte("worker 6"), 1))
		},
			"not what this package wrote"},
		"a counter": {func(t *testing.T, path string, _ []byte) { write(t, path, []byte(formatCounter(5))) }, "do not change or delete it"},
		"a slot file": {func(t *testing.T, path string, _ []byte) {
			write(t, path, []byte(workerfile.SlotsHeader+" \"h\" \"1\" \"2\"\n"))
		}, "do not change or delete it"},
		"older content": {func(t *testing.T, path string, old []byte) { write(t, path, old) }, "is a copy"},
		"renamed copy": {func(t *testing.T, path string, old []byte) {
			write(t, path+".old", old)
			if err := os.Rename(path+".old", path); err != nil {
				t.Fatal(err)
			}
		}, "is a copy"},
		"both copied": {func(t *testing.T, path string, old []byte) {
			remove(t, path)
			remove(t, path+".lock")
			write(t, path, old)
			write(t, path+".lock", []byte(workerfile.LockMarker))
		}, "is a copy"},
		"lock file deleted": {func(t *testing.T, path string, _ []byte) { remove(t, path+".lock") }, "is a copy"},
	} {
		t.Run(name, func(t *testing.T) {
			for writes := 1; writes <= 4; writes++ { // inode numbers are used alternately
				path := filepath.Join(t.TempDir(), "static")
				l := mustAssignAt(t, newTestStaticFile(path, "m", WithNewFile()), clockAt(start))
				old, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				for n := range writes {
					mustReserve(t, l, l.NotBefore().Add(time.Duration(n+1)*time.Second))
				}
				endProcess(l)
				time.Sleep(5 * time.Millisecond) // the resolution of the time of creation
				test.damage(t, path, old)
				before, _ := os.ReadFile(path)
				for _, opts := range [][]StaticFileOption{nil, {WithNewFile()}} {
					l, err := newTestStaticFile(path, "m", opts...).Assign(context.Background(), clockAt(start))
					if l != nil || !sqlattempt.IsAnyOf(err, ErrCorrupt, ErrFile) || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), path) {
						t.Errorf("after %d writes Assign() = %v, %v; want an error with the path and %q", writes, l, err, test.want)
					}
				}
				if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
					t.Errorf("the file was changed from %q to %q", before, after)
				}
			}
		})
	}
}

// A copy from another machine is refused, even if its inode numbers were equal. A machine without an identity
// is like one machine.
func TestStaticFileOfAnotherMachine(t *testing.T) {
	for _, test := range []struct {
		written, read string
		ok            bool
	}{{"a", "a", true}, {"", "", true}, {"a", "b", false}, {"a", "", false}, {"", "a", false}} {
		path := filepath.Join(t.TempDir(), "static")
		endProcess(mustAssignAt(t, newTestStaticFile(path, test.written), clockAt(start)))
		l, err := newTestStaticFile(path, test.read).Assign(context.Background(), clockAt(start))
		if test.ok != (err == nil) || !test.ok && (!errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "another machine")) {
			t.Errorf("written on %q, read on %q: %v, %v", test.written, test.read, l, err)
		}
		if err == nil {
			endProcess(l)
		}
	}
	if id := lockedfile.MachineID(); strings.ContainsAny(id, " \n") || len(id) != 0 && len(id) != 32 {
		t.Errorf("lockedfile.MachineID() = %q", id)
	}
}

// A worker ID is leased to one generator. The file of another worker ID is refused.
func TestStaticFileInUse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "static")
	a := newTestStaticFile(path, "m")
	l := mustAssignAt(t, a, clockAt(start))
	for _, other := range []Assigner{a, newTestStaticFile(path, "m"), StaticFile(6, path)} {
		if got, err := other.Assign(context.Background(), clockAt(start)); got != nil || !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), path) {
			t.Errorf("Assign() of a file in use = %v, %v; want ErrInUse with the path", got, err)
		}
	}
	if err := l.Release(context.Background(), time.Time{}); err != nil {
		t.Fatal(err)
	}
	other := newTestStaticFile(path, "m")
	other.id = 6
	if got, err := other.Assign(context.Background(), clockAt(start)); got != nil || !errors.Is(err, ErrOption) || !strings.Contains(err.Error(), "worker ID 5") {
		t.Errorf("Assign() of another worker ID = %v, %v; want ErrOption", got, err)
	}
	endProcess(mustAssignAt(t, a, clockAt(start))) // the failed Assigns hold no lock
}

// Invalid arguments are errors of Assign.
func TestStaticFileOptions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "static")
	for name, a := range map[string]Assigner{
		"negative": StaticFile(-1, path), "no path": StaticFile(1, ""), "nil option": StaticFile(1, path, nil), "horizon": StaticFile(1, path, WithFileHorizon(0)),
	} {
		if l, err := a.Assign(context.Background(), Request{}); l != nil || !errors.Is(err, ErrOption) {
			t.Errorf("%s: Assign() = %v, %v; want ErrOption", name, l, err)
		}
	}
	if l, err := StaticFile(1, filepath.Join(path, "missing", "static")).Assign(context.Background(), Request{}); l != nil || !errors.Is(err, ErrFile) {
		t.Errorf("without a directory: Assign() = %v, %v; want ErrFile", l, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if l, err := StaticFile(1, path).Assign(ctx, Request{}); l != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: Assign() = %v, %v", l, err)
	}
}

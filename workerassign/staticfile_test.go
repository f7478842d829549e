package workerassign

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// newTestStaticFile returns an assigner of a machine.
func newTestStaticFile(path, machine string, opts ...StaticFileOption) *staticFile {
	s := StaticFile(5, path, append([]StaticFileOption{quiet}, opts...)...).(*staticFile)
	s.machine = func() string { return machine }
	return s
}

// start is the start time of the clocks in these tests.
var start = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// clockAt returns the request of a generator whose clock shows now.
func clockAt(now time.Time) Request { return Request{Now: func() time.Time { return now }} }

// mustAssignAt returns the lease of an Assign that must succeed.
func mustAssignAt(t *testing.T, a Assigner, r Request) Lease {
	t.Helper()
	l, err := a.Assign(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// mustReserve returns what a lease was granted.
func mustReserve(t *testing.T, l Lease, until time.Time) time.Time {
	t.Helper()
	granted, err := l.Reserve(context.Background(), until)
	if err != nil {
		t.Fatal(err)
	}
	return granted
}

// endProcess ends a lease as the end of its process does: without Release.
func endProcess(l Lease) { l.(*staticFileLease).held.close() }

// R3: a lease begins at the end of what was granted or used before, whatever the clock shows and however the
// process ended.
func TestR3StaticFileSpansAreDisjoint(t *testing.T) {
	path := filepath.Join(t.TempDir(), "static")
	end := start
	for n, at := range []time.Duration{0, time.Hour, -24 * time.Hour, time.Minute, 0, 48 * time.Hour, -time.Hour} {
		now := start.Add(at)
		l := mustAssignAt(t, newTestStaticFile(path, "m", WithNewFile()), clockAt(now))
		if l.WorkerID() != 5 || l.NotBefore().Before(end) {
			t.Errorf("lease %d of worker ID %d begins at %v; want at least %v", n, l.WorkerID(), l.NotBefore(), end)
		}
		granted := mustReserve(t, l, now.Add(30*time.Second))
		if want := later(l.NotBefore(), now.Add(30*time.Second)); !granted.Equal(want) {
			t.Errorf("lease %d is granted until %v, want %v", n, granted, want)
		}
		if n%2 == 0 {
			endProcess(l)
			end = granted
			continue
		}
		used := earlier(l.NotBefore().Add(10*time.Second), granted)
		if err := l.Release(context.Background(), used); err != nil {
			t.Error(err)
		}
		if err := l.Release(context.Background(), granted); err != nil {
			t.Errorf("the second Release() = %v", err)
		}
		end = used
	}
}

// R6: no grant reaches beyond the horizon, and Reserve does not fail because of that.
func TestR6StaticFileHorizon(t *testing.T) {
	path := filepath.Join(t.TempDir(), "static")
	l := mustAssignAt(t, newTestStaticFile(path, "m", WithNewFile(), WithFileHorizon(10*time.Second)), clockAt(start))
	if h := l.(BoundedLease).Horizon(); h != 10*time.Second {
		t.Errorf("Horizon() = %v", h)
	}
	for range 2 {
		if granted := mustReserve(t, l, start.Add(time.Minute)); !granted.Equal(start.Add(10 * time.Second)) {
			t.Errorf("granted until %v", granted)
		}
	}
}

// R1: Release sets the mark between the beginning of the lease and what was granted, and nothing is
// granted after it.
func TestR1StaticFileRelease(t *testing.T) {
	path := filepath.Join(t.TempDir(), "static")
	begin := start
	for used, want := range map[time.Duration]time.Duration{-time.Hour: 0, 0: 0, 1: time.Millisecond, time.Second: time.Second, time.Hour: 20 * time.Second} {
		os.RemoveAll(path)
		os.RemoveAll(path + ".lock")
		l := mustAssignAt(t, newTestStaticFile(path, "m", WithNewFile()), clockAt(begin))
		from := l.NotBefore()
		mustReserve(t, l, from.Add(20*time.Second))
		if err := l.Release(context.Background(), from.Add(used)); err != nil {
			t.Error(err)
		}
		if granted, err := l.Reserve(context.Background(), begin.Add(time.Minute)); !errors.Is(err, ErrReleased) {
			t.Errorf("Reserve() after Release() = %v, %v; want ErrReleased", granted, err)
		}
		next := mustAssignAt(t, newTestStaticFile(path, "m"), clockAt(begin))
		if got := next.NotBefore(); !got.Equal(from.Add(want)) {
			t.Errorf("after the release of a lease from %v that used %v, the next one begins at %v", from, used, got)
		}
		endProcess(next)
	}
}

// Without both files it is not known whether they were lost: the first lease begins after the horizon,
// unless the caller says that the file is new.
func TestStaticFileFirstLease(t *testing.T) {
	for name, test := range map[string]struct {
		opts []StaticFileOption
		want time.Duration
	}{
		"default":          {nil, DefaultHorizon},
		"horizon":          {[]StaticFileOption{WithFileHorizon(time.Hour)}, time.Hour},
		"declared new":     {[]StaticFileOption{WithNewFile()}, time.Millisecond},
		"new, and horizon": {[]StaticFileOption{WithNewFile(), WithFileHorizon(time.Hour)}, time.Millisecond},
	} {
		path := filepath.Join(t.TempDir(), "static")
		l := mustAssignAt(t, newTestStaticFile(path, "m", test.opts...), clockAt(start))
		if begin := l.NotBefore(); !begin.Equal(start.Add(test.want)) {
			t.Errorf("%s: the first lease begins at %v, want %v later than %v", name, begin, test.want, start)
		}
		endProcess(l) // the file remembers the beginning
		again := mustAssignAt(t, newTestStaticFile(path, "m", WithNewFile()), clockAt(start))
		if !again.NotBefore().Equal(l.NotBefore()) {
			t.Errorf("%s: the second lease begins at %v, want %v", name, again.NotBefore(), l.NotBefore())
		}
		endProcess(again)
	}
}

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
		"a counter":     {func(t *testing.T, path string, _ []byte) { write(t, path, []byte(formatCounter(5))) }, "not what this package wrote"},
		"a slot file":   {func(t *testing.T, path string, _ []byte) { write(t, path, slotFileExample().encode()) }, "not what this package wrote"},
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
			write(t, path+".lock", []byte(lockFileMarker))
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
					if l != nil || !isAnyOf(err, ErrCorrupt, ErrFile) || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), path) {
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
	if id := machineID(); strings.ContainsAny(id, " \n") || len(id) != 0 && len(id) != 32 {
		t.Errorf("machineID() = %q", id)
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

// A crash at any step of Assign, Reserve and Release leaves a file with which the next lease begins at or
// after the end of all that was granted.
func TestStaticFileCrashAfterEachStep(t *testing.T) {
	for at := range stepCount {
		t.Run(fmt.Sprint("step ", int(at)), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "static")
			end := time.Time{} // of what was granted and not given back
			for round := range 6 {
				s := newTestStaticFile(path, "m", WithNewFile())
				reached, crashAt := 0, round // at each time that the step is reached
				s.file.afterStep = func(now step) error {
					if now == at {
						if reached++; reached > crashAt {
							return errCrash
						}
					}
					return nil
				}
				now := start.Add(time.Duration(round) * time.Second)
				if l, err := s.Assign(context.Background(), clockAt(now)); err == nil {
					granted, err := l.Reserve(context.Background(), now.Add(20*time.Second))
					if err == nil {
						end = later(end, granted)
						err = l.Release(context.Background(), granted)
					}
					if err != nil && !errors.Is(err, errCrash) {
						t.Fatal(err)
					}
					endProcess(l)
				} else if !errors.Is(err, errCrash) {
					t.Fatal(err)
				}
				next := mustAssignAt(t, newTestStaticFile(path, "m", WithNewFile()), clockAt(start))
				if next.NotBefore().Before(end) {
					t.Errorf("a lease begins at %v, but %v was granted", next.NotBefore(), end)
				}
				endProcess(next)
			}
		})
	}
}

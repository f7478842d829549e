package workerassign

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/lockedfile"
	"github.com/ringuid/ringuid/internal/millis"
)

// quiet discards log records.
var quiet = WithLogger(slog.New(slog.DiscardHandler))

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
	return granted.Until
}

// endProcess ends a lease as the end of its process does: without Release.
func endProcess(l Lease) { l.(*staticFileLease).held.Close() }

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
		if want := millis.Later(l.NotBefore(), now.Add(30*time.Second)); !granted.Equal(want) {
			t.Errorf("lease %d is granted until %v, want %v", n, granted, want)
		}
		if n%2 == 0 {
			endProcess(l)
			end = granted
			continue
		}
		used := millis.Earlier(l.NotBefore().Add(10*time.Second), granted)
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
	if g, err := l.Reserve(t.Context(), start); err != nil || g.Horizon != 10*time.Second {
		t.Errorf("Reserve() = %+v, %v; want a horizon of 10 s", g, err)
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
			t.Errorf("Reserve() after Release() = %v, %v; want ErrReleased", granted.Until, err)
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

// A crash at any step of Assign, Reserve and Release leaves a file with which the next lease begins at or
// after the end of all that was granted.
func TestStaticFileCrashAfterEachStep(t *testing.T) {
	for at := range lockedfile.StepCount {
		t.Run(fmt.Sprint("step ", int(at)), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "static")
			end := time.Time{} // of what was granted and not given back
			for round := range 6 {
				s := newTestStaticFile(path, "m", WithNewFile())
				reached, crashAt := 0, round // at each time that the step is reached
				s.file.Hook = func(now lockedfile.Step) error {
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
						end = millis.Later(end, granted.Until)
						err = l.Release(context.Background(), granted.Until)
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

// StaticFile and Saved grant nothing if the new mark cannot be written, or if their lock file was deleted, so that another
// process could have locked a new one.
func TestHeldFileIsVerified(t *testing.T) {
	errDisk := errors.New("disk error")
	diskFails := false
	for name, c := range map[string]struct {
		fail func(path string) error
		want error
	}{
		"deleted":     {func(path string) error { return os.Remove(path + ".lock") }, ErrFile},
		"not written": {func(string) error { diskFails = true; return nil }, errDisk},
	} {
		diskFails = false
		path := filepath.Join(t.TempDir(), "static")
		a := newTestStaticFile(path, "machine", WithNewFile(), quiet)
		a.file.Hook = func(s lockedfile.Step) error {
			if diskFails && s == lockedfile.StepWritten {
				return errDisk
			}
			return nil
		}
		l := mustAssignAt(t, a, clockAt(start))
		mustReserve(t, l, start.Add(time.Second))
		if err := c.fail(path); err != nil {
			t.Fatal(err)
		}
		if granted, err := l.Reserve(t.Context(), start.Add(2*time.Second)); !errors.Is(err, c.want) || !granted.Until.IsZero() {
			t.Errorf("%s: Reserve() = %v, %v; want %v", name, granted.Until, err, c.want)
		}
		endProcess(l)
	}
}

// The lock file of a file that one process holds is marked once, with the first record.
func TestHeldFileIsMarkedOnce(t *testing.T) {
	a, marked := newTestStaticFile(filepath.Join(t.TempDir(), "static"), "machine", WithNewFile(), quiet), 0
	a.file.Hook = func(s lockedfile.Step) error {
		if s == lockedfile.StepMarked {
			marked++
		}
		return nil
	}
	l := mustAssignAt(t, a, clockAt(start))
	for n := range 3 {
		mustReserve(t, l, start.Add(time.Duration(n+1)*time.Second))
	}
	if marked != 1 {
		t.Errorf("the lock file was marked %d times, want once", marked)
	}
	endProcess(l)
}

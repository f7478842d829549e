package workerassign

import (
	"bytes"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A warning is logged if a lease of a static worker ID begins more than a second ahead of the clock.
func TestStaticAheadWarning(t *testing.T) {
	for ahead, want := range map[time.Duration]int{time.Second: 0, time.Second + time.Millisecond: 1} {
		synctest.Test(t, func(t *testing.T) {
			var log bytes.Buffer
			r := clockAt(start)
			r.Logger = slog.New(slog.NewTextHandler(&log, nil))
			check := func(what string) {
				t.Helper()
				synctest.Wait() // a goroutine writes the log
				if n := strings.Count(log.String(), "a static worker ID"); n != want {
					t.Errorf("%s, %v ahead: %d warnings, want %d: %s", what, ahead, n, want, log.String())
				}
				log.Reset()
			}
			a := Static(3)
			mustRelease(t, mustAssignAt(t, a, r), start.Add(ahead))
			mustAssignAt(t, a, r)
			check("Static")

			path := filepath.Join(t.TempDir(), "static")
			l := mustAssignAt(t, StaticFile(3, path, WithNewFile()), r)
			mustReserve(t, l, start.Add(ahead))
			endProcess(l)
			l = mustAssignAt(t, StaticFile(3, path), r)
			check("StaticFile")
			endProcess(l)
		})
	}
}

// Worker ID 0 is a worker ID like others.
func TestStaticFileOfWorkerIDZero(t *testing.T) {
	l := mustAssignAt(t, StaticFile(0, filepath.Join(t.TempDir(), "static"), WithNewFile(), quiet), clockAt(start))
	if l.WorkerID() != 0 {
		t.Errorf("the worker ID is %d", l.WorkerID())
	}
	endProcess(l)
}

package workerassign

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

// A wrapped assigner that logs does not hold a lock of Divide that the log handler may wait for. A
// handler that calls Assign of the same Divide delays Assign only for a bounded time.
func TestDivideLogsWithoutLock(t *testing.T) {
	directory := t.TempDir()
	for name, inner := range map[string]func(t *testing.T) Assigner{
		"a File that waits for its lock": func(t *testing.T) Assigner {
			path := filepath.Join(directory, "worker")
			lock, err := NewFile(path).file.Open(context.Background(), discardQueue())
			if err != nil {
				t.Fatal(err)
			}
			time.AfterFunc(1500*time.Millisecond, func() { lock.Close() })
			return NewFile(path)
		},
		"a Static that was used ahead of the clock": func(t *testing.T) Assigner {
			a := Static(1)
			l := mustAssign(t, a)
			mustRelease(t, l, time.Now().Add(time.Hour))
			return a
		},
		"a Divide that lost its lease": func(t *testing.T) Assigner {
			store, _ := newScriptedStore(scriptedLease{
				reserve: func(context.Context, time.Time) (time.Time, error) { return time.Time{}, errLeaseGone },
				release: func(context.Context, time.Time) error { return errLeaseGone },
			})
			a := Divide(store, 1)
			r := request10Bits
			r.MaxWorkerID = 1<<9 - 1 // what the outer Divide passes
			l, err := a.Assign(context.Background(), r)
			if err != nil {
				t.Fatal(err)
			}
			l.Reserve(context.Background(), time.Now().Add(time.Hour))
			mustRelease(t, l, time.Time{})
			return a
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, logged := Divide(inner(t), 1), make(chan error, 1)
				r := request10Bits
				r.Logger = slog.New(callbackHandler{slog.NewTextHandler(io.Discard, nil), func() {
					ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
					defer cancel()
					_, err := a.Assign(ctx, request10Bits)
					logged <- err
				}})
				begin := time.Now()
				if _, err := a.Assign(context.Background(), r); err != nil {
					t.Error(err)
				}
				if took := time.Since(begin); took > 4*time.Second {
					t.Errorf("Assign took %v", took)
				}
				select {
				case err := <-logged:
					if err != nil && !errors.Is(err, ErrInUse) {
						t.Errorf("the handler's Assign() = %v", err)
					}
				case <-time.After(time.Minute):
					t.Error("nothing was logged")
				}
			})
		})
	}
}

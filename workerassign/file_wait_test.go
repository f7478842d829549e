package workerassign

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/lockedfile"
	"github.com/ringuid/ringuid/internal/safelog"
)

// If the lock file is replaced repeatedly, Assign tries again at a bounded rate until its context ends.
func TestReplacedLockFileDoesNotSpin(t *testing.T) {
	requireOpenFileDeletion(t)
	directory := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(directory, "worker")
		f, attempts := NewFile(path), 0
		f.file.Hook = func(at lockedfile.Step) error {
			if at == lockedfile.StepOpened {
				if attempts++; attempts > 10_000 {
					return errors.New("too many attempts")
				}
				if err := os.Remove(path + ".lock"); err != nil {
					return err
				}
			}
			return nil
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_, err := f.Assign(ctx, Request{})
		// After some attempts a pause is at least 10 ms.
		if !errors.Is(err, context.DeadlineExceeded) || attempts > 110 {
			t.Errorf("%d attempts in a second: %v", attempts, err)
		}
	})
}

// A long wait for the lock is logged once, within two seconds: to the logger of WithLogger, else to the
// generator's, else to slog.Default().
func TestFileLogsLockWait(t *testing.T) {
	var fallback, generators, own bytes.Buffer
	previous := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&fallback, nil)))
	defer slog.SetDefault(previous)
	to := func(b *bytes.Buffer) *slog.Logger { return slog.New(slog.NewTextHandler(b, nil)) }
	for _, tt := range []struct {
		name   string
		opts   []FileOption
		logger *slog.Logger
		want   *bytes.Buffer
	}{
		{"no logger", nil, nil, &fallback},
		{"the generator's", nil, to(&generators), &generators},
		{"the assigner's", []FileOption{WithLogger(to(&own))}, to(&generators), &own},
	} {
		directory := t.TempDir()
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fallback.Reset()
				generators.Reset()
				own.Reset()
				path := filepath.Join(directory, "worker")
				lock, err := NewFile(path).file.Open(context.Background(), discardQueue())
				if err != nil {
					t.Fatal(err)
				}
				time.AfterFunc(2*time.Second, func() {
					synctest.Wait() // the record is written
					for _, b := range []*bytes.Buffer{&fallback, &generators, &own} {
						n := strings.Count(b.String(), "still waiting for a lock")
						if (n == 1) != (b == tt.want) || n > 1 || n == 1 && !strings.Contains(b.String(), path+".lock") {
							t.Errorf("after 2 s the log is %q", b.String())
						}
					}
				})
				time.AfterFunc(5*time.Second, func() { lock.Close() })
				l, err := NewFile(path, tt.opts...).Assign(context.Background(), Request{Logger: tt.logger})
				if err != nil || l.WorkerID() != 1 {
					t.Errorf("Assign() = %v, %v", l, err)
				}
				if n := strings.Count(fallback.String()+generators.String()+own.String(), "\n"); n != 1 {
					t.Errorf("%d records were logged, want 1", n)
				}
			})
		})
	}
}

// discardQueue returns a queue that discards all records.
func discardQueue() *safelog.Queue { return safelog.NewQueue(slog.New(slog.DiscardHandler)) }

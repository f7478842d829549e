package workerassign

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/safelog"
)

// While somebody replaces the lock file again and again, Assign tries at a bounded rate, and
// no longer than it may.
func TestReplacedLockFileIsNoSpin(t *testing.T) {
	requireOpenFileDeletion(t)
	directory := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(directory, "worker")
		f, tries := NewFile(path), 0
		f.afterStep = func(at step) error {
			if at == stepOpened {
				if tries++; tries > 10_000 {
					return errors.New("spins")
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
		// A pause is 10 ms at least, once it has grown.
		if !errors.Is(err, context.DeadlineExceeded) || tries > 110 {
			t.Errorf("%d tries in a second: %v", tries, err)
		}
	})
}

// A wait for the lock is logged within two seconds, once: to the assigner's own logger, else to
// the generator's, else to the default. A logger that panics ends nothing.
func TestFileLogsAWait(t *testing.T) {
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
		{"its own", []FileOption{WithLogger(to(&own))}, to(&generators), &own},
		{"one that panics", nil, slog.New(callbackHandler{slog.NewTextHandler(io.Discard, nil), func() { panic("logger") }}), nil},
	} {
		directory := t.TempDir()
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fallback.Reset()
				generators.Reset()
				own.Reset()
				path := filepath.Join(directory, "worker")
				lock, err := NewFile(path).acquireLock(context.Background(), discardQueue(), path+".lock")
				if err != nil {
					t.Fatal(err)
				}
				time.AfterFunc(2*time.Second, func() {
					synctest.Wait() // the record is written
					for _, b := range []*bytes.Buffer{&fallback, &generators, &own} {
						n := strings.Count(b.String(), "still waiting for a lock")
						if (n == 1) != (b == tt.want) || n > 1 || n == 1 && !strings.Contains(b.String(), path+".lock") {
							t.Errorf("after 2 s the log says %q", b.String())
						}
					}
				})
				time.AfterFunc(5*time.Second, func() { lock.Close() })
				l, err := NewFile(path, tt.opts...).Assign(context.Background(), Request{Logger: tt.logger})
				if err != nil || l.WorkerID() != 1 {
					t.Errorf("Assign() = %v, %v", l, err)
				}
				if n := strings.Count(fallback.String()+generators.String()+own.String(), "\n"); tt.want != nil && n != 1 {
					t.Errorf("logged %d times", n)
				}
			})
		})
	}
}

// quietQueue is a log that nobody reads.
func discardQueue() *safelog.Queue { return safelog.NewQueue(slog.New(slog.DiscardHandler)) }

// A File that NewFile did not make is an error, not a fault.
func TestZeroFile(t *testing.T) {
	var none *File
	for _, f := range []*File{none, new(File), {}} {
		for name, a := range map[string]Assigner{"as it is": f, "divided": Divide(f, 1), "prefix": Prefix(f, 0, 1)} {
			if l, err := a.Assign(context.Background(), request10Bits); l != nil || !errors.Is(err, ErrOption) || !strings.Contains(err.Error(), "NewFile") {
				t.Errorf("%s: Assign() = %v, %v; want ErrOption", name, l, err)
			}
		}
	}
}

package safelog

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// callbackHandler is a handler that calls a function for each record.
type callbackHandler struct {
	slog.Handler
	f func(r slog.Record)
}

func (h callbackHandler) Handle(ctx context.Context, r slog.Record) error {
	h.f(r)
	return h.Handler.Handle(ctx, r)
}

// A Queue writes records in order, and only those of an enabled level.
func TestQueueKeepsOrder(t *testing.T) {
	var out bytes.Buffer
	q := NewQueue(slog.New(slog.NewTextHandler(&out, nil)))
	for n := range 50 {
		q.Log(slog.LevelInfo, fmt.Sprintf("m%d", n), "n", n)
	}
	q.Log(slog.LevelDebug, "hidden")
	if !q.Flush(time.Minute) {
		t.Fatal("Flush returned false after a minute")
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 50 {
		t.Fatalf("%d lines were written, want 50:\n%s", len(lines), out.String())
	}
	for n, line := range lines {
		if !strings.Contains(line, fmt.Sprintf("msg=m%d n=%d", n, n)) {
			t.Errorf("line %d is %q", n, line)
		}
	}
}

// A handler that blocks or logs to the queue itself does not block Log.
func TestQueueWithBlockingHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q *Queue
		release := make(chan struct{})
		written := 0
		q = NewQueue(slog.New(callbackHandler{slog.NewTextHandler(new(bytes.Buffer), nil), func(r slog.Record) {
			<-release
			written++
			if r.Message == "first" {
				q.Log(slog.LevelInfo, "by the handler")
			}
		}}))
		q.Log(slog.LevelInfo, "first")
		synctest.Wait() // until the handler blocks
		for range 3 * maxQueued {
			q.Log(slog.LevelInfo, "more")
		}
		if q.Flush(time.Second) {
			t.Error("Flush returned true while the handler is blocked")
		}
		close(release)
		if !q.Flush(time.Second) {
			t.Error("Flush returned false after the handler was released")
		}
		// The first record, the queued ones, and one that reports the dropped ones. The record that the
		// handler logged was dropped.
		if want := 1 + maxQueued + 1; written != want {
			t.Errorf("%d records were written, want %d", written, want)
		}
	})
}

// If a handler calls runtime.Goexit, later records are written nevertheless.
func TestQueueWithExitingHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var written []string
		q := NewQueue(slog.New(callbackHandler{slog.NewTextHandler(new(bytes.Buffer), nil), func(r slog.Record) {
			if r.Message == "first" {
				runtime.Goexit()
			}
			written = append(written, r.Message)
		}}))
		for _, msg := range []string{"first", "second"} {
			q.Log(slog.LevelInfo, msg)
			if !q.Flush(time.Second) {
				t.Fatalf("%q: Flush returned false after a second", msg)
			}
		}
		if len(written) != 1 || written[0] != "second" {
			t.Errorf("the records %q were written, want only the second", written)
		}
	})
}

// The same if the queue is full then.
func TestFullQueueWithExitingHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var written atomic.Int64
		q := NewQueue(slog.New(callbackHandler{slog.NewTextHandler(new(bytes.Buffer), nil), func(r slog.Record) {
			<-release
			if r.Message == "first" {
				runtime.Goexit()
			}
			written.Add(1)
		}}))
		q.Log(slog.LevelInfo, "first")
		synctest.Wait()
		for range maxQueued {
			q.Log(slog.LevelInfo, "more")
		}
		close(release)
		synctest.Wait()
		q.Log(slog.LevelInfo, "later")
		synctest.Wait()
		if n := written.Load(); n < maxQueued {
			t.Errorf("%d records were written, want those that waited, %d", n, maxQueued)
		}
	})
}

// NewQueue(nil) writes to slog.Default().
func TestQueueOfDefaultLogger(t *testing.T) {
	var out bytes.Buffer
	before := slog.Default()
	defer slog.SetDefault(before)
	slog.SetDefault(slog.New(slog.NewTextHandler(&out, nil)))
	q := NewQueue(nil)
	q.Log(slog.LevelInfo, "message")
	if !q.Flush(time.Minute) || !strings.Contains(out.String(), "msg=message") {
		t.Errorf("the log is %q", out.String())
	}
}

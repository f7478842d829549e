package safelog

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
)

// panickingHandler is a handler whose methods panic. If enabled is set, Enabled does not.
type panickingHandler struct{ enabled bool }

func (p panickingHandler) Enabled(context.Context, slog.Level) bool {
	if p.enabled {
		return true
	}
	panic("Enabled")
}
func (panickingHandler) Handle(context.Context, slog.Record) error { panic("Handle") }
func (panickingHandler) WithAttrs([]slog.Attr) slog.Handler        { panic("WithAttrs") }
func (panickingHandler) WithGroup(string) slog.Handler             { panic("WithGroup") }

// Panics of the handler do not reach the caller.
func TestPanickingHandler(t *testing.T) {
	for _, h := range []slog.Handler{panickingHandler{}, panickingHandler{enabled: true}} {
		l := Wrap(slog.New(h))
		l.Info("one", "key", 1)
		l.With("key", 1).WithGroup("group").Info("two")
		if err := l.Handler().Handle(context.Background(), slog.Record{}); err == nil || !strings.Contains(err.Error(), "Handle") {
			t.Errorf("Handle() = %v, want an error with the panic", err)
		}
	}
}

// Records, attributes, groups and the level pass through the wrapped logger.
func TestWrapPassesRecords(t *testing.T) {
	var out bytes.Buffer
	l := Wrap(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelInfo})))
	if l.Enabled(context.Background(), slog.LevelDebug) {
		t.Error("debug records are enabled, want the level of the wrapped logger")
	}
	Wrap(l).WithGroup("g").With("a", 1).Info("message", "b", 2)
	if s := out.String(); !strings.Contains(s, "msg=message g.a=1 g.b=2") {
		t.Errorf("the log is %q", s)
	}
}

// Wrap(nil) writes to slog.Default().
func TestWrapNil(t *testing.T) {
	var out bytes.Buffer
	before := slog.Default()
	defer slog.SetDefault(before)
	slog.SetDefault(slog.New(slog.NewTextHandler(&out, nil)))
	Wrap(nil).Info("message")
	if !strings.Contains(out.String(), "msg=message") {
		t.Errorf("the log is %q", out.String())
	}
}

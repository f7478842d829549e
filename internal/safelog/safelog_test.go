package safelog

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
)

// panicking is a handler whose methods all panic but for those that are told not to.
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

func TestPanickingHandler(t *testing.T) {
	for _, h := range []slog.Handler{panickingHandler{}, panickingHandler{enabled: true}} {
		l := Wrap(slog.New(h))
		l.Info("one", "key", 1)
		l.With("key", 1).WithGroup("group").Info("two")
		if err := l.Handler().Handle(context.Background(), slog.Record{}); err == nil || !strings.Contains(err.Error(), "Handle") {
			t.Errorf("Handle returned %v", err)
		}
	}
}

func TestPassesRecords(t *testing.T) {
	var out bytes.Buffer
	l := Wrap(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelInfo})))
	if l.Enabled(context.Background(), slog.LevelDebug) {
		t.Error("the level is lost")
	}
	Wrap(l).WithGroup("g").With("a", 1).Info("said", "b", 2)
	if s := out.String(); !strings.Contains(s, "msg=said g.a=1 g.b=2") {
		t.Errorf("wrote %q", s)
	}
}

func TestNilIsDefault(t *testing.T) {
	var out bytes.Buffer
	before := slog.Default()
	defer slog.SetDefault(before)
	slog.SetDefault(slog.New(slog.NewTextHandler(&out, nil)))
	Wrap(nil).Info("said")
	if !strings.Contains(out.String(), "msg=said") {
		t.Errorf("wrote %q", out.String())
	}
}

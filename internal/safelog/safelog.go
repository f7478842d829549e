// Package safelog writes log records to the user's logger, and protects the caller from the user's log
// handler. Wrap recovers its panics. Queue also calls it in a separate goroutine.
package safelog

import (
	"context"
	"fmt"
	"log/slog"
)

// Wrap returns a logger that writes to l, or to slog.Default() if l is nil. It recovers panics of l's
// handler: the record is lost, and the caller continues. The handler may still block, so do not call the
// logger while holding a lock.
func Wrap(l *slog.Logger) *slog.Logger {
	if l == nil {
		l = slog.Default()
	}
	if _, ok := l.Handler().(handler); ok {
		return l
	}
	return slog.New(handler{l.Handler()})
}

// handler is a slog.Handler that calls the next handler and returns its panics as errors.
type handler struct{ next slog.Handler }

// Enabled implements slog.Handler. If the next handler panics, it returns false.
func (h handler) Enabled(ctx context.Context, level slog.Level) (enabled bool) {
	defer func() {
		if recover() != nil {
			enabled = false
		}
	}()
	return h.next.Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (h handler) Handle(ctx context.Context, r slog.Record) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("the log handler panicked: %v", v)
		}
	}()
	return h.next.Handle(ctx, r)
}

// WithAttrs implements slog.Handler. If the next handler panics, the attributes are lost.
func (h handler) WithAttrs(attrs []slog.Attr) (with slog.Handler) {
	defer func() {
		if recover() != nil {
			with = h
		}
	}()
	return handler{h.next.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler. If the next handler panics, the group is lost.
func (h handler) WithGroup(name string) (with slog.Handler) {
	defer func() {
		if recover() != nil {
			with = h
		}
	}()
	return handler{h.next.WithGroup(name)}
}

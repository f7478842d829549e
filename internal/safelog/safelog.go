// Package safelog keeps a panic of the user's logger from ending what logs.
package safelog

import (
	"context"
	"fmt"
	"log/slog"
)

// Wrap returns a logger that writes to l, or to slog.Default() if l is nil, and to which a
// panic of l's handler is an error that nobody reads: the record is lost, the caller goes on.
// It does not keep a handler from blocking, so it must not be called under a lock.
func Wrap(l *slog.Logger) *slog.Logger {
	if l == nil {
		l = slog.Default()
	}
	if _, ok := l.Handler().(handler); ok {
		return l
	}
	return slog.New(handler{l.Handler()})
}

// handler is a slog.Handler that returns panics of the one beneath as errors.
type handler struct{ next slog.Handler }

// Enabled implements slog.Handler. A handler that panics is not enabled.
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

// WithAttrs implements slog.Handler. Where the handler beneath panics, the attributes are lost.
func (h handler) WithAttrs(attrs []slog.Attr) (with slog.Handler) {
	defer func() {
		if recover() != nil {
			with = h
		}
	}()
	return handler{h.next.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler. Where the handler beneath panics, the group is lost.
func (h handler) WithGroup(name string) (with slog.Handler) {
	defer func() {
		if recover() != nil {
			with = h
		}
	}()
	return handler{h.next.WithGroup(name)}
}

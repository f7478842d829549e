package safelog

import (
	"bytes"
	"context"
	"log/slog"
	"time"
)

// JSON returns a group as a JSON object: what slog.JSONHandler writes of its attributes. So what is logged of a value and its JSON
// have the same names. The group must not have an attribute level, msg or time.
func JSON(group slog.Value) ([]byte, error) {
	var out bytes.Buffer
	handler := slog.NewJSONHandler(&out, &slog.HandlerOptions{ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) == 0 && (a.Key == slog.LevelKey || a.Key == slog.MessageKey) {
			return slog.Attr{}
		}
		if t := a.Value; t.Kind() == slog.KindTime && (t.Time().Year() < 0 || t.Time().Year() > 9999) { // slog has no JSON for it
			return slog.String(a.Key, t.Time().Format(time.RFC3339Nano))
		}
		return a
	}})
	record := slog.NewRecord(time.Time{}, slog.LevelInfo, "", 0)
	record.AddAttrs(group.Group()...)
	err := handler.Handle(context.Background(), record)
	return bytes.TrimSpace(out.Bytes()), err
}

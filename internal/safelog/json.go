package safelog

import (
	"bytes"
	"context"
	"log/slog"
	"time"
)

// Time returns an attribute for a time. If the year has more than four digits, the value is text: slog.JSONHandler writes such a time
// as invalid JSON.
func Time(key string, t time.Time) slog.Attr {
	if year := t.Year(); year < 0 || year > 9999 {
		return slog.String(key, t.Format(time.RFC3339Nano))
	}
	return slog.Time(key, t)
}

// AppendTime appends an attribute for a time, unless it is the zero time.
func AppendTime(attrs []slog.Attr, key string, t time.Time) []slog.Attr {
	if t.IsZero() {
		return attrs
	}
	return append(attrs, Time(key, t))
}

// AppendError appends an attribute for the text of an error, unless it is nil.
func AppendError(attrs []slog.Attr, key string, err error) []slog.Attr {
	if err == nil {
		return attrs
	}
	return append(attrs, slog.String(key, err.Error()))
}

// JSON returns a group as a JSON object: what slog.JSONHandler writes of its attributes. So what is logged of a value and its JSON
// have the same names. The group must not have an attribute level or msg, and its times are those of Time.
func JSON(group slog.Value) ([]byte, error) {
	var out bytes.Buffer
	handler := slog.NewJSONHandler(&out, &slog.HandlerOptions{ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) == 0 && (a.Key == slog.LevelKey || a.Key == slog.MessageKey) {
			return slog.Attr{}
		}
		return a
	}})
	record := slog.NewRecord(time.Time{}, slog.LevelInfo, "", 0)
	record.AddAttrs(group.Group()...)
	err := handler.Handle(context.Background(), record)
	return bytes.TrimSpace(out.Bytes()), err
}

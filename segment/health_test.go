package segment

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestHealth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newMemorySource(100)
		s := newTestSequence(t, src, WithStepPolicy(FixedStep{}))
		if h := s.Health(); h != (Health{Buffered: 200}) || !h.OK() {
			t.Errorf("Health() = %+v", h)
		}
		for v := int64(1); v <= 101; v++ {
			time.Sleep(100 * time.Millisecond)
			mustNext(t, s, v)
		}
		synctest.Wait()
		h := s.Health()
		// The last take wakes the goroutine that requests the range. It counts 100 or 101 numbers in 10.1 s.
		if !h.OK() || h.Buffered != 199 || h.For < 19*time.Second || h.For > 20100*time.Millisecond || h.LastError != nil {
			t.Errorf("Health() = %+v, want 19.9s or 20.1s", h)
		}
		src.fail(down)
		time.Sleep(time.Second)
		for v := int64(102); v <= 201; v++ {
			mustNext(t, s, v)
		}
		since := time.Now()
		synctest.Wait()
		time.Sleep(time.Minute)
		h = s.Health()
		if !h.OK() || h.Buffered != 99 || !errors.Is(h.LastError, errDown) || !h.FailingSince.Equal(since) || h.For < 9*time.Second || h.For > 10*time.Second {
			t.Errorf("Health() = %+v: the source is down, and numbers are in memory", h)
		}
		for v := int64(202); v <= 300; v++ {
			mustNext(t, s, v)
		}
		h = s.Health()
		var empty *EmptyError
		if h.OK() || h.Buffered != 0 || h.For != 0 || !errors.As(h.Err, &empty) || !errors.Is(h.Err, errDown) || !empty.Since.Equal(since) {
			t.Errorf("Health() = %+v", h)
		}
		src.fail(func(context.Context, Request) error { return ErrNoTag })
		time.Sleep(2 * time.Second)
		if h = s.Health(); !errors.Is(h.Err, ErrNoTag) {
			t.Errorf("Health() = %+v", h)
		}
		src.fail(nil)
		time.Sleep(2 * time.Second)
		if h = s.Health(); !h.OK() || h.LastError != nil || !h.FailingSince.IsZero() || h.Buffered != 200 {
			t.Errorf("Health() = %+v", h)
		}
		s.Close()
		if h = s.Health(); h.Err != ErrClosed || h.Buffered != 0 || h.For != 0 {
			t.Errorf("Health() after Close = %+v", h)
		}
	})
}

func TestHealthJSONAndLog(t *testing.T) {
	since := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	full := Health{Err: errors.New("e"), Buffered: 5, For: 2 * time.Second, Known: true, FailingSince: since, LastError: errors.New("c")}
	for _, test := range []struct {
		h         Health
		json, log string
	}{
		{full, `{"ok":false,"buffered":5,"for":2000000000,"err":"e","failing_since":"2026-11-22T10:00:00Z","last_error":"c"}`,
			`h.ok=false h.buffered=5 h.for=2s h.err=e h.failing_since=2026-11-22T10:00:00.000Z h.last_error=c`},
		{Health{}, `{"ok":true,"buffered":0}`, `h.ok=true h.buffered=0`},
	} {
		if got, err := json.Marshal(test.h); err != nil || string(got) != test.json {
			t.Errorf("%s, %v; want %s", got, err, test.json)
		}
		var out bytes.Buffer
		slog.New(slog.NewTextHandler(&out, nil)).Info("x", "h", test.h)
		if !strings.HasSuffix(strings.TrimSpace(out.String()), test.log) {
			t.Errorf("%s, want %s", out.String(), test.log)
		}
	}
	checkKeys(t, full, 6)
}

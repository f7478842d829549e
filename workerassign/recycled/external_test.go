package recycled_test

import (
	"io"
	"log/slog"
	"time"

	"github.com/ringuid/ringuid/workerassign/assigntest"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

var _ = func() any {
	recycled.NewMemory = func(now func() time.Time) (recycled.Store, func()) {
		m := assigntest.NewMemory(assigntest.WithClock(now), assigntest.WithNoLoss(), assigntest.WithHostClock())
		return m, func() { m.Failover(0) }
	}
	return nil
}()

// discardLog returns an option that discards log records.
func discardLog() recycled.Option { return recycled.WithLogger(slog.New(slog.DiscardHandler)) }

// logTo returns an option that writes log records to w.
func logTo(w io.Writer) recycled.Option {
	return recycled.WithLogger(slog.New(slog.NewTextHandler(w, nil)))
}

package workerassign

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/DATA-DOG/go-sqlmock"
	"github.com/go-sql-driver/mysql"
)

// Failed and slow attempts are logged within two seconds: to the logger of WithLogger, else to the
// generator's, else to slog.Default().
func TestLoggers(t *testing.T) {
	var own, generators, standard bytes.Buffer
	to := func(b *bytes.Buffer) *slog.Logger { return slog.New(slog.NewTextHandler(b, nil)) }
	before := slog.Default()
	slog.SetDefault(to(&standard))
	defer slog.SetDefault(before)
	for _, tt := range []struct {
		name    string
		own     *slog.Logger
		request Request
		want    *bytes.Buffer
	}{
		{"own", to(&own), Request{Logger: to(&generators)}, &own},
		{"generator's", nil, Request{Logger: to(&generators)}, &generators},
		{"default", nil, Request{}, &standard},
	} {
		for _, fault := range []string{"an error", "silence"} {
			t.Run(tt.name+" of "+fault, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					d, m := newMockDisposable(t)
					d.cfg.logger, d.cfg.server = tt.own, "db:3306"
					own.Reset()
					generators.Reset()
					standard.Reset()
					want := `level=WARN msg="workerassign: waiting for the database" table=WORKER_NODE server=db:3306 "waiting for"="the insert" since=1s`
					if fault == "silence" {
						expectInsert(m).WillDelayFor(1500 * time.Millisecond).WillReturnResult(sqlmock.NewResult(1, 1))
						expectCommit(m)
					} else {
						want = `level=WARN msg="workerassign: insert failed, trying again" table=WORKER_NODE server=db:3306 attempts=1 err="Error 1205: locked" advice=`
						expectFailure(m, &mysql.MySQLError{Number: 1205, Message: "locked"})
						expectSuccess(m, 1)
					}
					if _, err := d.Assign(context.Background(), tt.request); err != nil {
						t.Fatal(err)
					}
					if got := tt.want.String(); !strings.Contains(got, want) || strings.Count(got, "\n") != 1 {
						t.Errorf("the log is %q, want a line with %q", got, want)
					}
					if n := own.Len() + generators.Len() + standard.Len(); n != tt.want.Len() {
						t.Errorf("%d bytes were written to the other logs, want 0", n-tt.want.Len())
					}
				})
			})
		}
	}
}

// hookHandler calls a function for each record.
type hookHandler struct {
	slog.Handler
	hook func()
}

func (h hookHandler) Enabled(context.Context, slog.Level) bool { return true }

func (h hookHandler) Handle(context.Context, slog.Record) error {
	h.hook()
	return nil
}

// A log handler that waits for Assign delays it only for a bounded time.
func TestLogHandlers(t *testing.T) {
	assign := func(t *testing.T, hook func()) {
		d, m := newMockDisposable(t)
		d.cfg.logger = slog.New(hookHandler{slog.DiscardHandler, hook})
		expectFailure(m, &mysql.MySQLError{Number: 1205})
		expectSuccess(m, 1)
		begin := time.Now()
		if l, err := d.Assign(context.Background(), Request{}); err != nil || l.WorkerID() != 1 || time.Since(begin) > 2*time.Second {
			t.Errorf("Assign() = %v, %v after %v", l, err, time.Since(begin))
		}
	}
	synctest.Test(t, func(t *testing.T) {
		var done sync.WaitGroup
		done.Add(1)
		assign(t, done.Wait)
		done.Done()
	})
}

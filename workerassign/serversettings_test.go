package workerassign

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/DATA-DOG/go-sqlmock"
)

const settingsQuery = "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('innodb_flush_log_at_trx_commit', 'sync_binlog', 'log_bin')"

// Settings with which a server can lose committed rows are logged, once.
func TestRiskySettings(t *testing.T) {
	for _, tt := range []struct {
		name              string
		flush, binlog, on string
		want              []string
	}{
		{"durable", "1", "1", "ON", nil},
		{"no binlog", "1", "0", "OFF", nil},
		{"not flushed", "0", "1", "ON", []string{"setting=innodb_flush_log_at_trx_commit value=0"}},
		{"flushed each second", "2", "0", "0", []string{"setting=innodb_flush_log_at_trx_commit value=2"}},
		{"binlog", "1", "0", "1", []string{"setting=sync_binlog value=0"}},
		{"both", "0", "1000", "ON", []string{"setting=innodb_flush_log_at_trx_commit value=0", "setting=sync_binlog value=1000"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				d, m := newMockDisposable(t, WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
				d.settingsChecked.Store(false)
				expectSuccess(m, 1)
				m.ExpectQuery(settingsQuery).WillReturnRows(sqlmock.NewRows([]string{"Variable_name", "Value"}).
					AddRow("innodb_flush_log_at_trx_commit", tt.flush).AddRow("sync_binlog", tt.binlog).AddRow("LOG_BIN", tt.on))
				expectRollback(m)
				for key := int64(1); key <= 3; key++ {
					if key > 1 {
						expectSuccess(m, key)
					}
					if _, err := d.Assign(context.Background(), Request{}); err != nil {
						t.Fatal(err)
					}
				}
				if n := strings.Count(log.String(), "\n"); n != len(tt.want) {
					t.Errorf("%d lines were logged, want %d: %s", n, len(tt.want), log.String())
				}
				for _, want := range tt.want {
					if !strings.Contains(log.String(), want) {
						t.Errorf("the log is %s, want %q", log.String(), want)
					}
				}
			})
		})
	}
}

// It is not an error if the account lacks the privilege to read the settings, or if the server does not
// have them.
func TestMissingSettings(t *testing.T) {
	for name, prepare := range map[string]func(sqlmock.Sqlmock){
		"access denied": func(m sqlmock.Sqlmock) { m.ExpectQuery(settingsQuery).WillReturnError(errors.New("denied")) },
		"no rows": func(m sqlmock.Sqlmock) {
			m.ExpectQuery(settingsQuery).WillReturnRows(sqlmock.NewRows([]string{"Variable_name", "Value"}))
		},
		"other columns": func(m sqlmock.Sqlmock) {
			m.ExpectQuery(settingsQuery).WillReturnRows(sqlmock.NewRows([]string{"a"}).AddRow(1))
		},
		"row error": func(m sqlmock.Sqlmock) {
			m.ExpectQuery(settingsQuery).WillReturnRows(sqlmock.NewRows([]string{"a", "b"}).AddRow("x", "y").RowError(0, errors.New("connection lost")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				d, m := newMockDisposable(t, WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
				d.settingsChecked.Store(false)
				expectSuccess(m, 7)
				prepare(m)
				expectRollback(m)
				open := d.db.Stats().OpenConnections
				if l, err := d.Assign(context.Background(), Request{}); err != nil || l.WorkerID() != 7 || log.Len() > 0 {
					t.Errorf("Assign() = %v, %v; the log is %q", l, err, log.String())
				}
				if got := d.db.Stats().OpenConnections; got != open+1 {
					t.Errorf("the pool has %d connections, and had %d before Assign; must keep that of Assign", got, open)
				}
			})
		})
	}
}

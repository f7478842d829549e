package workerassign

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/ringuid/ringuid/internal/sqlstore"
)

// try calls f with a connection. If f fails so that nothing was written, and another connection or another
// try may help, it calls f again. After an error of f, the connection is discarded.
func (t *slotTable) try(ctx context.Context, f func(context.Context, *sql.Conn, dialect) error, reading bool) error {
	if t.cfg.err != nil {
		return t.cfg.err
	}
	idle := t.db.Stats().Idle // connections that may lead to the same failed server
	for attempt := 0; ; attempt++ {
		failed := t.tryOnce(ctx, f)
		switch {
		case failed == nil:
			return nil
		case ctx.Err() != nil:
		case failed.returnAsIs:
			return failed.err
		case failed.action == sqlstore.Stop:
			return &DatabaseError{Table: t.cfg.slotTable, Server: t.cfg.server, Advice: failed.reason.Advice(sqlstore.Slots), Err: failed.err}
		case reading && failed.rolledBack && attempt < maxRolledBack,
			failed.action == sqlstore.Reconnect && (reading || failed.refused) && attempt <= idle:
			continue
		}
		return fmt.Errorf("workerassign: %s: %w; %s", t, failed.err, failed.reason.Advice(sqlstore.Slots))
	}
}

// tryOnce is one attempt of try.
func (t *slotTable) tryOnce(ctx context.Context, f func(context.Context, *sql.Conn, dialect) error) (failed *slotFailure) {
	var conn *sql.Conn
	defer func() {
		if v := recover(); v != nil {
			if conn != nil {
				sqlstore.AbandonConn(conn)
			}
			err := fmt.Errorf("the driver, or a function that it calls, panicked: %v", v)
			failed = &slotFailure{failure: failure{err: err, action: sqlstore.Stop, reason: sqlstore.ReasonUnknown}}
		}
	}()
	begin := time.Now()
	callCtx, cancel := context.WithTimeout(ctx, slotCallTimeout)
	defer cancel()
	c, err := t.db.Conn(callCtx)
	if err != nil {
		f := t.classify(callCtx, begin, nil, err)
		f.refused = true
		if s := t.db.Stats(); callCtx.Err() != nil && s.MaxOpenConnections > 0 && s.InUse >= s.MaxOpenConnections {
			f.reason = sqlstore.ReasonPool
		}
		return &f
	}
	conn = c
	d, err := t.detect(callCtx, conn)
	if err == nil {
		err = f(callCtx, conn, d)
	}
	discardUnless(err == nil, conn) // not after a panic
	if err != nil {
		f := t.classify(callCtx, begin, d, err)
		return &f
	}
	return nil
}

// classify returns a failure for an error of an attempt.
func (t *slotTable) classify(ctx context.Context, begin time.Time, d dialect, err error) slotFailure {
	var known *slotFailure
	switch {
	case errors.As(err, &known):
		return *known
	case ctx.Err() != nil: // whatever error the driver returns
		return slotFailure{failure: failure{action: sqlstore.Reconnect, reason: sqlstore.ReasonNoAnswer,
			err: &slotTimeoutError{elapsed: time.Since(begin), err: maskOwnErrors(err)}}}
	case d == nil:
		return classifyUnknown(err)
	}
	return d.classify(err)
}

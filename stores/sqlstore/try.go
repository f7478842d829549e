package sqlstore

import (
	"context"
	"fmt"

	"github.com/ringuid/ringuid/internal/sqlattempt"
	"github.com/ringuid/ringuid/workerassign"
)

// try calls f with a connection. If f fails so that nothing was written, and another connection or another
// try may help, it calls f again. After an error of f, the connection is discarded.
func (t *Store) try(ctx context.Context, f func(context.Context, *sqlattempt.Attempt, dialect) error, reading bool) error {
	if t == nil || t.db == nil && t.cfg.err == nil {
		return fmt.Errorf("%w: sqlstore: the Store must be created by New", workerassign.ErrOption)
	}
	if t.cfg.err != nil {
		return t.cfg.err
	}
	runner := sqlattempt.Runner{DB: t.db, Timeout: t.cfg.attemptTimeout, Hidden: hiddenErrors()}
	idle := t.db.Stats().Idle // connections that may lead to the same failed server
	for attempt := 0; ; attempt++ {
		failed := runner.Run(ctx, func(ctx context.Context, a *sqlattempt.Attempt) error {
			a.Wait("the server's version")
			d, err := t.detect(ctx, a.Conn)
			if err == nil {
				a.Dialect = d.Base()
				err = f(ctx, a, d)
			}
			if err != nil {
				a.Discard()
			}
			return err
		})
		switch {
		case failed == nil:
			return nil
		case ctx.Err() != nil:
		case failed.Action == sqlattempt.Stop:
			t.forgetDialect()
			return &workerassign.DatabaseError{Table: t.cfg.slotTable, Server: t.cfg.server, Advice: failed.Reason.Advice(sqlattempt.Slots), Err: failed.Err}
		case reading && failed.RolledBack && attempt < maxRolledBack,
			failed.Action == sqlattempt.Reconnect && (reading || failed.Unwritten) && attempt <= idle:
			continue
		}
		return fmt.Errorf("sqlstore: %s: %w; %s", t, failed.Err, failed.Reason.Advice(sqlattempt.Slots))
	}
}

// wroteNothing reports whether err says that the server has rolled the transaction back, or that a row exists already.
func wroteNothing(err error) bool { return sqlattempt.IsRolledBack(err) || sqlattempt.IsDuplicate(err) }

// hiddenErrors returns the errors that have a meaning for generators. They are not found in an error of the driver, or of a function
// that the user gave to the driver.
func hiddenErrors() []error {
	return []error{workerassign.ErrOption, workerassign.ErrWidth, workerassign.ErrRenewal, workerassign.ErrNoKey, workerassign.ErrTooLow, workerassign.ErrPermanent,
		workerassign.ErrGaveUp, workerassign.ErrCorrupt, workerassign.ErrFile, workerassign.ErrInUse, workerassign.ErrReleased, workerassign.ErrLeaseLost, workerassign.ErrVoid}
}

package workerassign

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/ringuid/ringuid/internal/errmask"
	"github.com/ringuid/ringuid/internal/safelog"
	"github.com/ringuid/ringuid/internal/sqlattempt"
)

// assignment is the state of one Assign. Its attempts run one after the other.
type assignment struct {
	d    *Disposable
	log  *safelog.Queue
	node node

	// With WithVerification: the token in the row of the current attempt, and the server's clock at its insert.
	token      string
	insertedAt time.Time
}

// attempt inserts a row, commits it and returns its key.
func (t *assignment) attempt(ctx context.Context) (key int64, failed *sqlattempt.Failure) {
	runner := t.d.runner()
	runner.SlowAfter, runner.Slow = slowPhaseWarning, func(waiting string) {
		t.log.Log(slog.LevelWarn, "workerassign: waiting for the database", "table", t.d.cfg.table, "server", t.d.cfg.server,
			"waiting for", waiting, "since", slowPhaseWarning)
	}
	target := t.d.target.Load()
	failed = runner.Run(ctx, func(attemptCtx context.Context, a *sqlattempt.Attempt) (err error) {
		if key, err = t.insertRow(attemptCtx, a, target); err == nil {
			t.checkDurability(ctx, a.Conn, target)
		}
		return err
	})
	if failed == nil {
		return key, nil
	}
	if corrected, err := t.d.correctGuess(target, failed.Err); err != nil {
		failed = sqlattempt.Found(err, "")
	} else if corrected {
		return t.attempt(ctx) // at most once: the corrected dialect is no guess
	}
	return 0, failed
}

// insertRow inserts a row in a transaction, commits it and returns its key. It executes START
// TRANSACTION and COMMIT as ordinary statements, because the Commit method of sql.Tx takes no context.
func (t *assignment) insertRow(ctx context.Context, a *sqlattempt.Attempt, target *insertTarget) (int64, error) {
	a.Dialect = target.Dialect
	if err := a.Begin(ctx, target.Begin()); err != nil {
		return 0, err
	}
	a.MayWait = true
	key, err := t.execInsert(ctx, a, target)
	switch {
	case err != nil:
		return 0, err
	case key <= 0:
		return 0, sqlattempt.Found(fmt.Errorf("%w: the key is %d; must be at least 1", ErrNoKey, key), target.reasonKey)
	case key < t.d.cfg.minWorkerID:
		return 0, sqlattempt.Found(fmt.Errorf("%w: the key is %d; must be at least %d (WithMinWorkerID)", ErrTooLow, key, t.d.cfg.minWorkerID), target.reasonTooLow)
	}
	if t.d.cfg.verification != nil {
		if err := t.readBack(ctx, a, key); err != nil {
			return 0, err
		}
	}
	a.Unsure = true
	if _, err := a.Exec(ctx, "the commit", target.Commit()); err != nil {
		return 0, err
	}
	// lib/pq cancels the statement when the context ends. If a commit that waits for a synchronous standby is
	// canceled, PostgreSQL acknowledges it, although no standby has it.
	if target.Kind == sqlattempt.Postgres {
		return key, ctx.Err()
	}
	return key, nil
}

// execInsert executes the insert statement and returns the key.
func (t *assignment) execInsert(ctx context.Context, a *sqlattempt.Attempt, target *insertTarget) (int64, error) {
	returnsKey := target.Kind == sqlattempt.Postgres
	n := node{fitColumn(t.node.hostName), fitColumn(t.node.port), t.node.kind}
	if t.d.cfg.verification != nil && returnsKey {
		return 0, sqlattempt.Found(fmt.Errorf("%w: WithVerification does not support PostgreSQL", ErrOption), sqlattempt.ReasonVerificationPostgres)
	}
	if t.d.cfg.verification != nil {
		t.token = rand.Text() // of its own for each attempt, which may insert a row of its own (R4)
		n.port = verifiedPort(t.node.port, t.token)
	}
	statement, args := target.insert(target.table, n)
	if !returnsKey {
		result, err := a.Exec(ctx, "the insert", statement, args...)
		if err != nil {
			return 0, err
		}
		key, err := result.LastInsertId()
		if err != nil {
			return 0, sqlattempt.Found(fmt.Errorf("%w: %w", ErrNoKey, errmask.Mask(err, ownErrors()...)), sqlattempt.ReasonNoKeys)
		}
		return key, nil
	}
	var value, setting any
	a.Wait("the insert")
	switch err := a.Conn.QueryRowContext(ctx, statement, args...).Scan(&value, &setting); {
	case errors.Is(err, sql.ErrNoRows): // a trigger or a rule has prevented the insert
		return 0, sqlattempt.Found(fmt.Errorf("%w: the insert returned no row", ErrNoKey), target.reasonKey)
	case err != nil:
		return 0, err
	}
	key, ok := value.(int64)
	if !ok {
		return 0, sqlattempt.Found(fmt.Errorf("%w: the key %v is not an integer", ErrNoKey, value), target.reasonKey)
	}
	return key, nil
}

// readBack looks for the row that was inserted, for the server's clock after the insert, and so that a missing
// privilege is found at once.
func (t *assignment) readBack(ctx context.Context, a *sqlattempt.Attempt, key int64) (err error) {
	t.insertedAt, err = t.d.look(ctx, a, key, t.token)
	if sqlattempt.IsAnyOf(err, errRowLost, errRowMissing) {
		return sqlattempt.Found(fmt.Errorf("%w: the row with the key %d cannot be found after its insert: %w", ErrNoKey, key, err), sqlattempt.ReasonUnknown)
	}
	return err
}

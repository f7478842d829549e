package sqlattempt

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"sync/atomic"
	"time"

	"github.com/ringuid/ringuid/internal/errmask"
)

// A Runner runs attempts, each with a connection of a pool.
type Runner struct {
	DB        DB
	Timeout   time.Duration        // of an attempt
	Hidden    []error              // the errors of the package, which cannot be found in those of the driver
	Slow      func(waiting string) // unless it is nil: called if an attempt takes longer than SlowAfter, with what it waits for
	SlowAfter time.Duration
}

// An Attempt is one use of a connection.
type Attempt struct {
	Conn    *sql.Conn
	Dialect Dialect // the zero value while the server is not known

	Open    bool // whether a transaction may be open: it is rolled back if the attempt fails
	MayWait bool // whether the statements of the attempt may wait for a lock
	Unsure  bool // whether a statement was sent that may have written something durable

	runner  *Runner
	begin   time.Time
	waiting atomic.Value // a string
}

// A Failure is the error of an attempt, and what to do about it.
type Failure struct {
	Err        error // of the driver, without the errors of the package, or one that the package found itself
	Action     Action
	Reason     Reason // "": Err says what to do
	Waiting    string // what the attempt was waiting for
	RolledBack bool   // the server rolled the transaction back because of a conflict: nothing was written
	Unwritten  bool   // it is certain that nothing was written

	found bool // by the package, see Found
}

// Error implements error.
func (f *Failure) Error() string { return f.Err.Error() }

// Unwrap returns Err.
func (f *Failure) Unwrap() error { return f.Err }

// Found returns a failure that a package found itself, with nothing to try again. Its function may return it.
func Found(err error, reason Reason) *Failure {
	return &Failure{Err: err, Action: Stop, Reason: reason, found: true}
}

// Run calls f with a connection, which it returns to the pool without an open transaction, or closes. f may return an error of the
// driver, or a *Failure. A panic of the driver goes on, and its connection is closed.
func (r *Runner) Run(ctx context.Context, f func(context.Context, *Attempt) error) (failed *Failure) {
	a := &Attempt{runner: r, begin: time.Now()}
	a.Wait("a connection")
	ctx, cancel := context.WithTimeout(ctx, r.Timeout)
	defer cancel()
	if r.Slow != nil {
		timer := time.AfterFunc(r.SlowAfter, func() { r.Slow(a.waitingFor()) })
		defer timer.Stop()
	}
	conn, err := r.DB.Conn(ctx)
	if err != nil {
		return a.Failure(ctx, err)
	}
	a.Conn = conn
	returned := false
	defer func() {
		if !returned { // a panic of the driver, which goes on
			abandonConn(conn)
		}
	}()
	if err := f(ctx, a); err != nil {
		failed = a.Failure(ctx, err)
		a.end(ctx, failed)
	}
	conn.Close()
	returned = true
	return failed
}

// end leaves no transaction open on a connection whose attempt has failed, and closes one that should not be used again.
func (a *Attempt) end(ctx context.Context, f *Failure) {
	if f.Action == Reconnect || !f.found && !IsServerError(f.Err) {
		a.Discard()
	} else {
		a.RollBack(ctx)
	}
}

// Failure returns the failure for an error of the driver, or a *Failure.
func (a *Attempt) Failure(ctx context.Context, err error) *Failure {
	if known := (*Failure)(nil); errors.As(err, &known) {
		known.Waiting = a.waitingFor()
		return known
	}
	f := &Failure{Err: errmask.Mask(err, a.runner.Hidden...), Waiting: a.waitingFor()}
	if ctx.Err() != nil { // whatever error the driver returns
		f.Err = &TimeoutError{Waiting: f.Waiting, Elapsed: time.Since(a.begin), Err: f.Err}
		f.Action, f.Reason = Reconnect, ReasonNoAnswer
		if s := a.runner.DB.Stats(); a.Conn == nil && s.MaxOpenConnections > 0 && s.InUse >= s.MaxOpenConnections {
			f.Reason = ReasonPool
		} else if a.MayWait {
			f.Reason = a.Dialect.Locked()
		}
		return f
	}
	f.Action, f.Reason = Classify(err)
	f.RolledBack = IsRolledBack(err)
	// With ErrBadConn, go-sql-driver/mysql did not send the statement. lib/pq may have sent it.
	f.Unwritten = !a.Unsure || IsRefused(err) || errors.Is(err, driver.ErrBadConn) && a.Dialect.Kind == MySQL
	return f
}

// Discard closes the connection, and with it a transaction that may be open.
func (a *Attempt) Discard() {
	a.Open = false
	DiscardConn(a.Conn)
}

// Wait says what the attempt waits for from now on.
func (a *Attempt) Wait(waiting string) { a.waiting.Store(waiting) }

func (a *Attempt) waitingFor() string { return a.waiting.Load().(string) }

// Exec executes a statement that returns no rows.
func (a *Attempt) Exec(ctx context.Context, waiting, statement string, args ...any) (sql.Result, error) {
	a.Wait(waiting)
	return a.Conn.ExecContext(ctx, statement, args...)
}

// Begin begins a transaction.
func (a *Attempt) Begin(ctx context.Context, statement string) error {
	a.Open = true
	_, err := a.Exec(ctx, "the begin of the transaction", statement)
	return err
}

// RollBack ends a transaction that is not to be committed, if one may be open. If that fails, the connection is closed.
func (a *Attempt) RollBack(ctx context.Context) {
	if !a.Open {
		return
	}
	_, err := a.Exec(ctx, "the rollback", a.Dialect.Rollback())
	if err != nil && IsRolledBack(err) { // because of a conflict on another node, before this statement
		_, err = a.Exec(ctx, "the rollback", a.Dialect.Rollback())
	}
	if err != nil {
		DiscardConn(a.Conn)
	}
}

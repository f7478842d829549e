package workerassign

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ringuid/ringuid/internal/backoff"
	"github.com/ringuid/ringuid/internal/millis"
	"github.com/ringuid/ringuid/internal/sqlattempt"
)

// Verification configures WithVerification. A field that is 0 has its default. All services that use the
// table must have the same values.
type Verification struct {
	Horizon time.Duration // H: no grant reaches further beyond the server's clock; the default is DefaultHorizon
	Fencing time.Duration // F: how long an old primary may go on acknowledging until it is fenced; the default is DefaultFencing
	Skew    time.Duration // m: the greatest difference between the clocks of two servers, steps included; the default is DefaultSkew
}

// WithVerification makes a Disposable look for its row now and then, for tables whose server may lose its last
// rows in a failover. After that, a new primary assigns the lost keys a second time.
//
//   - The row has a random token, after the port in the column PORT. The table does not change.
//   - Each look grants UID time up to the server's clock and H. A generator that cannot reach the server goes on to the
//     end of the last grant.
//   - If the row is gone, or has another token, Reserve returns an error that wraps ErrLeaseLost, and the generator
//     takes another worker ID.
//   - A lease begins at the server's clock at the insert plus F + H + m. So it begins after all that was granted with
//     the same key before the failover. Each start and each rollover waits: with the defaults 86 s (Cached, whose
//     borrow limit is 24 s then) or 110 s (Default).
//
// Invariant 1 holds if the servers' clocks differ by at most m, and if a primary that was replaced is fenced within F:
// after that it is read-only or cannot be reached. A fenced server that is read-only grants nothing. All services that
// use the table must have this option with the same values, because a service without it begins at once. The
// account requires the privilege SELECT on two columns, which schema.sql describes under VERIFIED WORKER IDS. Rows of
// running services must not be deleted.
//
// It only looks at the row, so it does not notice a process that is copied while it runs (a snapshot of a machine that is
// resumed twice): both copies generate the same UIDs until one of them ends.
//
// It supports servers of the MySQL family: on PostgreSQL, Assign returns an error that wraps ErrOption and ErrPermanent. A value
// that is negative is an error of Assign that wraps ErrOption.
func WithVerification(v Verification) DisposableOption {
	return disposableOption(func(c *disposableConfig) {
		for _, d := range []struct {
			name      string
			value     *time.Duration
			byDefault time.Duration
		}{{"horizon", &v.Horizon, DefaultHorizon}, {"fencing time", &v.Fencing, DefaultFencing}, {"skew", &v.Skew, DefaultSkew}} {
			if *d.value < 0 || *d.value > millis.MaxDuration {
				c.setError("the %s of the verification is %v; must be 0 (the default) to %v", d.name, *d.value, millis.MaxDuration)
				return
			}
			if *d.value == 0 {
				*d.value = d.byDefault
			}
		}
		c.verification = &v
	})
}

// verificationMark separates the port from the token in the column PORT.
const verificationMark = "#"

// verifiedPort returns the content of the column PORT with a token. It keeps the token and the end of the port.
func verifiedPort(port, token string) string { return fitColumn(port + verificationMark + token) }

// lookStatement returns the statement that looks for a row. UTC_TIMESTAMP is used because UNIX_TIMESTAMP(NOW(3)) is an
// hour off in some time zones when the clock is set back. It has no parameters for the same reason as insertStatement.
func lookStatement(quoted string, key int64) string {
	return "SELECT (SELECT PORT FROM " + quoted + " WHERE ID = " + strconv.FormatInt(key, 10) + "), TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000, @@GLOBAL.read_only"
}

// errRowLost is the error of look if the row is gone or another's.
var errRowLost = errors.New("the row has another token")

// errRowMissing is the error of look if there is no row. A node of a cluster may not have it yet.
var errRowMissing = errors.New("the row is gone")

// errReadOnly is the error of look on a server that does not accept writes.
var errReadOnly = errors.New("the server is read-only: it may have been replaced by another primary")

// look looks for the row of a key, and returns the server's clock.
func (d *Disposable) look(ctx context.Context, a *sqlattempt.Attempt, key int64, token string) (time.Time, error) {
	a.Wait("the look for the row")
	var (
		port     sql.NullString
		millis   int64
		readOnly string
	)
	if err := a.Conn.QueryRowContext(ctx, lookStatement(d.target.Load().table, key)).Scan(&port, &millis, &readOnly); err != nil {
		failed := a.Failure(ctx, err)
		if failed.Reason == sqlattempt.ReasonGrant { // an insert requires other privileges
			failed.Reason = sqlattempt.ReasonLook
		}
		return time.Time{}, failed
	}
	switch {
	case readOnly != "0" && !strings.EqualFold(readOnly, "OFF"):
		failed := sqlattempt.Found(errReadOnly, sqlattempt.ReasonUnknown)
		failed.Action = sqlattempt.Reconnect
		return time.Time{}, failed
	case !port.Valid:
		return time.Time{}, errRowMissing
	case !strings.HasSuffix(port.String, verificationMark+token):
		return time.Time{}, errRowLost
	}
	return time.UnixMilli(millis).UTC(), nil
}

// verifiedLease is a lease of a Disposable with WithVerification.
type verifiedLease struct {
	disposableLease
	d     *Disposable
	token string
	begin time.Time

	mu       sync.Mutex // not held during a look
	granted  time.Time
	lost     error
	released bool
}

// newVerifiedLease returns the lease on a row that was inserted when the server's clock showed now.
func newVerifiedLease(d *Disposable, row disposableLease, token string, now time.Time) *verifiedLease {
	v := d.cfg.verification
	return &verifiedLease{disposableLease: row, d: d, token: token, begin: millis.Up(now.Add(v.Fencing + v.Horizon + v.Skew)),
		granted: millis.Down(now.Add(v.Horizon))}
}

// NotBefore implements Lease.
func (l *verifiedLease) NotBefore() time.Time { return l.begin }

// grant returns the grant up to until. Its horizon assumes that the clocks of host and server differ by at most DefaultClockBound, and
// is never 0, which would mean that there is none.
func (l *verifiedLease) grant(ctx context.Context, until time.Time) (Grant, error) {
	g, err := l.disposableLease.Reserve(ctx, until)
	g.Until, g.Horizon = until, max(l.d.cfg.verification.Horizon-DefaultClockBound, 1)
	return g, err
}

// maxMissingLooks is how many times a row must be missing until it counts as gone, and missingLookPause is the pause
// between two looks: a node of a cluster may lag behind the one with the insert.
const (
	maxMissingLooks  = 5
	missingLookPause = 200 * time.Millisecond
)

// Reserve looks for the row if more is requested than the last look has granted. It grants up to the server's clock and
// the horizon, which may be more or less than until.
func (l *verifiedLease) Reserve(ctx context.Context, until time.Time) (Grant, error) {
	l.mu.Lock()
	granted, lost, released := l.granted, l.lost, l.released
	l.mu.Unlock()
	switch {
	case released:
		return Grant{}, ErrReleased
	case lost != nil:
		return Grant{}, lost
	case !until.After(granted):
		return l.grant(ctx, granted)
	}
	now, err := l.look(ctx)
	for looks := 1; errors.Is(err, errRowMissing) && looks < maxMissingLooks && backoff.Sleep(ctx, missingLookPause) == nil; looks++ {
		now, err = l.look(ctx)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case sqlattempt.IsAnyOf(err, errRowLost, errRowMissing) && ctx.Err() == nil:
		l.lost = fmt.Errorf("%w: worker ID %d in table %s: %w: the server may have lost rows in a failover, or somebody deleted the row", ErrLeaseLost,
			l.WorkerID(), sqlattempt.AtServer(l.d.cfg.table, l.d.cfg.server), err)
		return Grant{}, l.lost
	case err != nil:
		return Grant{}, fmt.Errorf("workerassign: cannot look for the row of worker ID %d in table %s: %w", l.WorkerID(), sqlattempt.AtServer(l.d.cfg.table, l.d.cfg.server), err)
	}
	l.granted = millis.Later(l.granted, millis.Down(now.Add(l.d.cfg.verification.Horizon)))
	return l.grant(ctx, l.granted)
}

// look looks for the row in a transaction of its own, so that it sees the present whatever the session's settings are.
func (l *verifiedLease) look(ctx context.Context) (now time.Time, err error) {
	failed := l.d.runner().Run(ctx, func(ctx context.Context, a *sqlattempt.Attempt) (failed error) {
		a.Dialect = l.d.target.Load().Dialect
		if failed = a.Begin(ctx, a.Dialect.Begin()); failed == nil {
			now, failed = l.d.look(ctx, a, l.WorkerID(), l.token)
		}
		if failed != nil && !sqlattempt.IsAnyOf(failed, errRowLost, errRowMissing) {
			a.Discard() // to a server that may have been replaced
			return failed
		}
		err = failed
		a.RollBack(ctx)
		return nil
	})
	switch {
	case failed == nil:
		return now, err
	case ctx.Err() != nil:
		return time.Time{}, fmt.Errorf("%w while waiting for %s", ctx.Err(), failed.Waiting)
	case errors.Is(failed, errReadOnly):
		return time.Time{}, failed.Err
	}
	return time.Time{}, fmt.Errorf("%w; %s", failed.Err, failed.Reason.Advice(sqlattempt.Inserts))
}

// Release ends the lease. The row remains.
func (l *verifiedLease) Release(context.Context, time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.released = true
	return nil
}

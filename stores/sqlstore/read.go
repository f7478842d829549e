package sqlstore

import (
	"context"
	"database/sql"
	"math"
	"time"

	"github.com/ringuid/ringuid/internal/sqlattempt"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// readOnce is one attempt of Read.
func (t *Store) readOnce(ctx context.Context, a *sqlattempt.Attempt, d dialect, q recycled.Query) (recycled.State, error) {
	b, err := t.readStatement(d, q)
	if err != nil {
		return recycled.State{}, err
	}
	a.Wait("the read")
	conn := a.Conn
	state, session, err := t.queryState(ctx, conn, d, b)
	if err != nil {
		return recycled.State{}, err
	}
	before, after := d.sessionStatements(session)
	if before != nil {
		if err := execAll(ctx, conn, before...); err != nil {
			return recycled.State{}, err
		}
		if state, _, err = t.queryState(ctx, conn, d, b); err != nil {
			return recycled.State{}, err
		}
	}
	if state.Pool.History != state.History {
		// R7: a floor may follow from the clock, which is that of the statement's beginning. If the statement waited for a lock,
		// and the server was promoted in between, that is too early. So the server must have accepted writes before this one.
		wasReadOnly := state.ReadOnly
		if state, _, err = t.queryState(ctx, conn, d, b); err != nil {
			return recycled.State{}, err
		}
		state.ReadOnly = state.ReadOnly || wasReadOnly
	}
	durability, err := t.inspect(ctx, conn, d, state.History)
	if err != nil {
		return recycled.State{}, err
	}
	state.NoLoss = durability.noLoss
	return state, execAll(ctx, conn, after...)
}

// readStatement returns the statement of a read. Its rows begin with the history, the clock and the state of
// the session; then comes the pool, and then a slot. A single statement sees the tables at one instant, which
// is not earlier than its clock.
func (t *Store) readStatement(d dialect, q recycled.Query) (*statement, error) {
	pool, slots, err := t.tables(d)
	if err != nil {
		return nil, err
	}
	b := &statement{dialect: d}
	b.raw(d.selectPrefix(), "h.history, h.now_ms, h.read_only, h.session_state, ", selectedColumns(d, "p", poolFields(recycled.Pool{})), ", ",
		selectedColumns(d, "s", slotFields(recycled.Slot{})), " FROM (SELECT ")
	if t.cfg.history != "" {
		b.raw("'-'") // not the name: the connection's character set may lack its characters
	} else {
		b.raw(d.history())
	}
	b.raw(" AS history, ", d.clock(), " AS now_ms, ", d.readOnly(), " AS read_only, ", d.session(), " AS session_state) AS h LEFT JOIN ", pool, " AS p ON p.", poolKey)
	if q.All {
		return b.raw(" LEFT JOIN ", slots, " AS s ON 1 = 1"), nil
	}
	b.raw(" LEFT JOIN (SELECT worker_id FROM ", slots, " WHERE ")
	if len(q.WorkerIDs) == 0 {
		b.raw("1 = 0")
	} else {
		b.raw("worker_id IN (").list(q.WorkerIDs).raw(")")
	}
	if q.Name != "" {
		// Collations of MySQL ignore spaces at the end.
		b.raw(" UNION SELECT worker_id FROM ", slots, " WHERE holder_name = ").text(q.Name).raw(" AND OCTET_LENGTH(holder_name) = ").int(int64(len(q.Name)))
	}
	if q.Free > 0 {
		// The order is that of the index, so that the server reads no more rows than it returns.
		b.raw(" UNION SELECT worker_id FROM (SELECT worker_id FROM ", slots, " WHERE free_at_ms < ", d.clock(), " ORDER BY free_at_ms LIMIT ").
			int(int64(q.Free)).raw(") AS free")
	}
	return b.raw(") AS q ON 1 = 1 LEFT JOIN ", slots, " AS s ON s.worker_id = q.worker_id"), nil
}

// queryState executes the statement of a read.
func (t *Store) queryState(ctx context.Context, conn *sql.Conn, d dialect, b *statement) (state recycled.State, session string, err error) {
	rows, err := conn.QueryContext(ctx, b.query.String())
	if err != nil {
		return state, "", err
	}
	defer rows.Close()
	for rows.Next() {
		var (
			now                                                         int64
			id, poolRevision, first, count, since, floor, h, f, m       sql.NullInt64
			worker, revision, from, until, written, freeAt, holderSince sql.NullInt64
			format, poolHistory, token, history, name, host, process    sql.NullString
		)
		if err := rows.Scan(&state.History, &now, &state.ReadOnly, &session,
			&id, &poolRevision, &format, &first, &count, &poolHistory, &since, &floor, &h, &f, &m,
			&worker, &revision, &token, &from, &until, &history, &written, &freeAt, &name, &host, &process, &holderSince); err != nil {
			return state, "", err
		}
		if t.cfg.history != "" {
			state.History = t.cfg.history
		}
		if err := decodeTexts(d, &format, &poolHistory, &token, &history, &name, &host, &process); err != nil {
			return state, "", err
		}
		state.Now = time.UnixMilli(now).UTC()
		if poolRevision.Valid {
			state.Pool = recycled.Pool{Revision: poolRevision.Int64, Format: format.String, First: first.Int64, Slots: count.Int64,
				History: poolHistory.String, Since: timeOf(since), Floor: timeOf(floor),
				Horizon: durationOf(h), Fencing: durationOf(f), Skew: durationOf(m)}
		}
		if worker.Valid {
			state.Slots = append(state.Slots, recycled.Slot{WorkerID: worker.Int64, Revision: revision.Int64, Token: token.String,
				From: timeOf(from), Until: timeOf(until), History: history.String, Written: timeOf(written), FreeAt: timeOf(freeAt),
				Holder: recycled.Holder{Name: name.String, Host: host.String, Process: process.String, Since: timeOf(holderSince)}})
		}
	}
	return state, session, rows.Err()
}

// decodeTexts replaces what the driver returned for columns of text by the texts. NULL remains NULL.
func decodeTexts(d dialect, texts ...*sql.NullString) (err error) {
	for _, text := range texts {
		if text.Valid {
			if text.String, err = d.decodeText(text.String); err != nil {
				return err
			}
		}
	}
	return nil
}

// timeOf returns the time of a column; NULL is the zero time.
func timeOf(n sql.NullInt64) time.Time {
	if !n.Valid {
		return time.Time{}
	}
	return time.UnixMilli(n.Int64).UTC()
}

// durationOf returns the duration of a column, or about the greatest one. Package recycled refuses both that and a negative one.
func durationOf(n sql.NullInt64) time.Duration {
	return time.Duration(min(n.Int64, math.MaxInt64/int64(time.Millisecond))) * time.Millisecond
}

package workerassign

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// field is a column of a record, with its value.
type field struct {
	column string
	number int64
	text   string
	kind   fieldKind
}

type fieldKind int

const (
	fieldNumber       fieldKind = iota
	fieldText                   // never NULL
	fieldOptionalText           // NULL if empty
	fieldOptionalTime           // NULL if the time is zero
)

// appendTo appends the value to a statement.
func (f field) appendTo(b *statement) {
	switch f.kind {
	case fieldNumber:
		b.int(f.number)
	case fieldText:
		b.text(f.text)
	case fieldOptionalText:
		b.optionalText(f.text)
	case fieldOptionalTime:
		if f.number == zeroMillis {
			b.raw("NULL")
		} else {
			b.int(f.number)
		}
	}
}

// zeroMillis is the zero time as Unix milliseconds.
var zeroMillis = time.Time{}.UnixMilli()

func numberField(column string, n int64) field { return field{column: column, number: n} }
func timeField(column string, t time.Time) field {
	return field{column: column, number: t.UnixMilli()}
}
func optionalTimeField(column string, t time.Time) field {
	return field{column: column, number: t.UnixMilli(), kind: fieldOptionalTime}
}

// durationField holds whole milliseconds. A fraction is rounded up, because H, F and M may be greater than
// what was set, but not less.
func durationField(column string, d time.Duration) field {
	return field{column: column, number: int64((d + time.Millisecond - 1) / time.Millisecond)}
}
func textField(column, s string) field { return field{column: column, text: s, kind: fieldText} }
func optionalTextField(column, s string) field {
	return field{column: column, text: s, kind: fieldOptionalText}
}

// The key of the pool's row, of which there is only one.
const poolKey = "id = 1"

// poolFields returns the columns of the pool's row. The first one is its key, and the second one its
// revision.
func poolFields(p Pool) []field {
	return []field{
		numberField("id", 1), numberField("revision", p.Revision),
		textField("format", p.Format), numberField("first_worker_id", p.First), numberField("slot_count", p.Slots),
		textField("history", p.History), timeField("since_ms", p.Since), optionalTimeField("floor_ms", p.Floor),
		durationField("horizon_ms", p.Horizon), durationField("fencing_ms", p.Fencing), durationField("skew_ms", p.Skew),
	}
}

// slotFields returns the columns of a slot's row. The first one is its key, and the second one its
// revision.
func slotFields(s Slot) []field {
	return []field{
		numberField("worker_id", s.WorkerID), numberField("revision", s.Revision),
		optionalTextField("token", s.Token), timeField("from_ms", s.From), timeField("until_ms", s.Until),
		textField("history", s.History), timeField("written_ms", s.Written), timeField("free_at_ms", s.FreeAt),
		optionalTextField("holder_name", s.Holder.Name), optionalTextField("holder_host", fitText(s.Holder.Host, 255)),
		optionalTextField("holder_process", fitText(s.Holder.Process, 255)), optionalTimeField("holder_since_ms", s.Holder.Since),
	}
}

// columnNames returns the names of columns, separated by commas.
func columnNames(fields []field) string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.column
	}
	return strings.Join(names, ", ")
}

// selectedColumns returns the columns of a table as a read selects them, separated by commas.
func selectedColumns(d dialect, table string, fields []field) string {
	columns := make([]string, len(fields))
	for i, f := range fields {
		columns[i] = table + "." + f.column
		if f.kind == fieldText || f.kind == fieldOptionalText {
			columns[i] = d.readText(columns[i])
		}
	}
	return strings.Join(columns, ", ")
}

// fitText shortens a text for people to a number of characters, and makes it valid UTF-8.
func fitText(s string, length int) string {
	s = strings.ToValidUTF8(s, "?")
	if utf8.RuneCountInString(s) > length {
		s = string([]rune(s)[:length])
	}
	return s
}

// checkTexts checks the values that must not be changed, because they are compared.
func checkTexts(w SlotWrite) error {
	check := func(what, value string, length int) error {
		if utf8.ValidString(value) && utf8.RuneCountInString(value) <= length {
			return nil
		}
		return fmt.Errorf("%w: the %s is %q; must be valid UTF-8 of at most %d characters", ErrOption, what, value, length)
	}
	if w.Pool != nil {
		if err := cmp.Or(check("format", w.Pool.Format, 1024), check("history", w.Pool.History, 255)); err != nil {
			return err
		}
	}
	for _, s := range w.Slots {
		if err := cmp.Or(check("name", s.Holder.Name, 128), check("token", s.Token, 64), check("history", s.History, 255)); err != nil {
			return err
		}
	}
	return nil
}

// record is a row to be written.
type record struct {
	table  string // quoted
	fields []field
}

// records returns the rows of a write, in an order that is the same for all writes: the pool first, which
// is what concurrent additions of slots compete for.
func (t *slotTable) records(d dialect, w SlotWrite) ([]record, error) {
	pool, slots, err := t.tables(d)
	if err != nil {
		return nil, err
	}
	var all []record
	if w.Pool != nil {
		all = append(all, record{pool, poolFields(*w.Pool)})
	}
	for _, s := range slices.SortedFunc(slices.Values(w.Slots), func(a, b Slot) int { return cmp.Compare(a.WorkerID, b.WorkerID) }) {
		all = append(all, record{slots, slotFields(s)})
	}
	return all, nil
}

// tables returns the quoted names of the tables.
func (t *slotTable) tables(d dialect) (pool, slots string, err error) {
	if pool, err = d.quoteTable(t.cfg.poolTable); err == nil {
		slots, err = d.quoteTable(t.cfg.slotTable)
	}
	if err != nil {
		return "", "", permanentSlotFailure(fmt.Errorf("%w: %w", ErrOption, err), "set the tables' names by WithSlotTables")
	}
	return pool, slots, nil
}

// isNew reports whether the row is to be inserted.
func (r record) isNew() bool { return r.fields[1].number == 1 }

// write is a statement that writes rows, and how many.
type write struct {
	*statement
	rows int64
}

// writes returns the statements of a write. The first one compares the history. The others are executed in
// the same transaction, and so by the same server.
func (t *slotTable) writes(d dialect, w SlotWrite) ([]write, error) {
	records, err := t.records(d, w)
	if err != nil {
		return nil, err
	}
	var all []write
	for len(records) > 0 {
		r, b := records[0], &statement{dialect: d}
		records = records[1:]
		compare := t.cfg.history == "" && len(all) == 0
		switch {
		case !r.isNew():
			b.raw("UPDATE ", r.table, " SET ")
			for i, f := range r.fields[1:] {
				if i > 0 {
					b.raw(", ")
				}
				b.raw(f.column, " = ")
				f.appendTo(b)
			}
			key, revision := r.fields[0], r.fields[1]
			b.raw(" WHERE ", key.column, " = ").int(key.number).raw(" AND ", revision.column, " = ").int(revision.number - 1)
			if compare {
				b.raw(" AND ", d.history(), " = ").text(w.History)
			}
			all = append(all, write{b, 1})
		case compare:
			b.raw("INSERT INTO ", r.table, " (", columnNames(r.fields), ") SELECT ")
			r.appendValues(b)
			b.raw(" FROM (SELECT 1 AS one) AS one WHERE ", d.history(), " = ").text(w.History)
			all = append(all, write{b, 1})
		default: // one statement for all new rows of a table
			b.raw("INSERT INTO ", r.table, " (", columnNames(r.fields), ") VALUES (")
			r.appendValues(b)
			rows := int64(1)
			for ; len(records) > 0 && records[0].isNew() && records[0].table == r.table; rows++ {
				b.raw("), (")
				records[0].appendValues(b)
				records = records[1:]
			}
			b.raw(")")
			all = append(all, write{b, rows})
		}
	}
	return all, nil
}

// appendValues appends the values of a row.
func (r record) appendValues(b *statement) {
	for i, f := range r.fields {
		if i > 0 {
			b.raw(", ")
		}
		f.appendTo(b)
	}
}

// writeOnce is one attempt of Write. An error of the last statement or of the commit leaves open whether the
// rows were written, unless the server has said that it rolled the transaction back.
func (t *slotTable) writeOnce(ctx context.Context, conn *sql.Conn, d dialect, w SlotWrite) (bool, error) {
	writes, err := t.writes(d, w)
	if err != nil {
		return false, err
	}
	if len(writes) == 0 {
		state, err := t.readOnce(ctx, conn, d, SlotQuery{})
		return state.History == w.History, err
	}
	begins := len(writes) > 1 || d.beginsAlways()
	if begins {
		if err := execAll(ctx, conn, d.begin()); err != nil {
			return false, beforeCommit(ctx, d, err)
		}
	}
	for _, one := range writes {
		n, err := one.exec(ctx, conn)
		if err != nil {
			if f := d.classify(err); f.rolledBack {
				rollbackOrDiscard(ctx, conn, d)
				return false, nil
			}
			if begins {
				return false, beforeCommit(ctx, d, err)
			}
			return false, err
		}
		if n != one.rows {
			rollbackOrDiscard(ctx, conn, d)
			return false, nil
		}
	}
	if err := execAll(ctx, conn, d.commit()); err != nil {
		f := d.classify(err)
		if f.rolledBack {
			return false, nil
		}
		f.refused = false // with autocommit, the server has executed and committed the statement
		return false, &f
	}
	// A server may acknowledge a commit that the driver has canceled, because ctx has ended, before it is
	// durable: PostgreSQL does, while the commit waits for a synchronous standby.
	return ctx.Err() == nil, ctx.Err()
}

// rollbackOrDiscard ends a transaction that has written nothing. If the rollback fails, it discards the
// connection: a node of a Galera cluster reports a conflict by an error of any statement.
func rollbackOrDiscard(ctx context.Context, conn *sql.Conn, d dialect) {
	if execAll(ctx, conn, d.rollback()) != nil {
		discardConn(conn)
	}
}

// beforeCommit returns the error of a statement of a transaction, before its commit: nothing was written.
func beforeCommit(ctx context.Context, d dialect, err error) error {
	if ctx.Err() != nil {
		return err // classify reports it as a timeout
	}
	f := d.classify(err)
	f.refused = true
	return &f
}

// readOnce is one attempt of Read.
func (t *slotTable) readOnce(ctx context.Context, conn *sql.Conn, d dialect, q SlotQuery) (PoolState, error) {
	b, err := t.readStatement(d, q)
	if err != nil {
		return PoolState{}, err
	}
	state, session, err := queryState(ctx, conn, b)
	if err != nil {
		return PoolState{}, err
	}
	before, after := d.sessionStatements(session)
	if before != nil {
		if err := execAll(ctx, conn, before...); err != nil {
			return PoolState{}, err
		}
		if state, _, err = queryState(ctx, conn, b); err != nil {
			return PoolState{}, err
		}
	}
	durability, err := t.inspect(ctx, conn, d, state.History)
	if err != nil {
		return PoolState{}, err
	}
	state.NoLoss = durability.noLoss
	return state, execAll(ctx, conn, after...)
}

// readStatement returns the statement of a read. Its rows begin with the history, the clock and the state of
// the session; then comes the pool, and then a slot. A single statement sees the tables at one instant, which
// is not earlier than its clock.
func (t *slotTable) readStatement(d dialect, q SlotQuery) (*statement, error) {
	pool, slots, err := t.tables(d)
	if err != nil {
		return nil, err
	}
	b := &statement{dialect: d}
	b.raw(d.selectPrefix(), "h.history, h.now_ms, h.session_state, ", selectedColumns(d, "p", poolFields(Pool{})), ", ",
		selectedColumns(d, "s", slotFields(Slot{})), " FROM (SELECT ")
	if t.cfg.history != "" {
		b.text(t.cfg.history)
	} else {
		b.raw(d.history())
	}
	b.raw(" AS history, ", d.clock(), " AS now_ms, ", d.session(), " AS session_state) AS h LEFT JOIN ", pool, " AS p ON p.", poolKey)
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
func queryState(ctx context.Context, conn *sql.Conn, b *statement) (state PoolState, session string, err error) {
	rows, err := conn.QueryContext(ctx, b.query.String(), b.args...)
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
		if err := rows.Scan(&state.History, &now, &session,
			&id, &poolRevision, &format, &first, &count, &poolHistory, &since, &floor, &h, &f, &m,
			&worker, &revision, &token, &from, &until, &history, &written, &freeAt, &name, &host, &process, &holderSince); err != nil {
			return state, "", err
		}
		state.Now = time.UnixMilli(now).UTC()
		if poolRevision.Valid {
			state.Pool = Pool{Revision: poolRevision.Int64, Format: format.String, First: first.Int64, Slots: count.Int64,
				History: poolHistory.String, Since: millisTime(since), Floor: millisTime(floor),
				Horizon: millis(h), Fencing: millis(f), Skew: millis(m)}
		}
		if worker.Valid {
			state.Slots = append(state.Slots, Slot{WorkerID: worker.Int64, Revision: revision.Int64, Token: token.String,
				From: millisTime(from), Until: millisTime(until), History: history.String, Written: millisTime(written), FreeAt: millisTime(freeAt),
				Holder: Holder{Name: name.String, Host: host.String, Process: process.String, Since: millisTime(holderSince)}})
		}
	}
	return state, session, rows.Err()
}

// millisTime returns the time of a column; NULL is the zero time.
func millisTime(n sql.NullInt64) time.Time {
	if !n.Valid {
		return time.Time{}
	}
	return time.UnixMilli(n.Int64).UTC()
}

// millis returns the duration of a column.
func millis(n sql.NullInt64) time.Duration { return time.Duration(n.Int64) * time.Millisecond }

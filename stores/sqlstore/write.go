package sqlstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/ringuid/ringuid/internal/sqlattempt"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// record is a row to be written.
type record struct {
	table    string // quoted
	fields   []field
	replaced []field // what else the row must have, unless it is new
}

// records returns the rows of a write, in an order that is the same for all writes: the pool first, which
// is what concurrent additions of slots compete for.
func (t *Store) records(d dialect, w recycled.Write) ([]record, error) {
	pool, slots, err := t.tables(d)
	if err != nil {
		return nil, err
	}
	var all []record
	if w.Pool != nil {
		r := record{table: pool, fields: poolFields(*w.Pool)}
		if was := w.ReplacedPool; !r.isNew() {
			r.replaced = []field{textField("history", was.History), timeField("since_ms", was.Since), optionalTimeField("floor_ms", was.Floor),
				numberField("slot_count", was.Slots)}
		}
		all = append(all, r)
	}
	ordered := make([]record, len(w.Slots))
	for i, s := range w.Slots {
		was := w.Replaced[i]
		ordered[i] = record{slots, slotFields(s), []field{timeField("until_ms", was.Until), optionalTextField("token", was.Token)}}
	}
	slices.SortFunc(ordered, func(a, b record) int { return cmp.Compare(a.fields[0].number, b.fields[0].number) })
	return append(all, ordered...), nil
}

// tables returns the quoted names of the tables.
func (t *Store) tables(d dialect) (pool, slots string, err error) {
	if pool, err = d.Base().QuoteTable(t.cfg.poolTable, DefaultPoolTable); err == nil {
		slots, err = d.Base().QuoteTable(t.cfg.slotTable, DefaultSlotTable)
	}
	if err != nil {
		return "", "", sqlattempt.Found(fmt.Errorf("%w: %w", workerassign.ErrOption, err), sqlattempt.ReasonTableNames)
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
func (t *Store) writes(d dialect, w recycled.Write) ([]write, error) {
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
			r.compareReplaced(b)
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

// CreatePoolStatement returns the statement that creates a pool without slots, for a database administrator who executes it on the
// same server: see "ringuid pool create --print-sql". It inserts nothing if there is a slot, or if the server's history is not
// p.History any more, and fails if there is a pool. It blocks until the server has said what it is, or ctx ends.
func (t *Store) CreatePoolStatement(ctx context.Context, p recycled.Pool) (string, error) {
	text := ""
	err := t.try(ctx, func(_ context.Context, _ *sqlattempt.Attempt, d dialect) error {
		pool, slots, err := t.tables(d)
		if err != nil {
			return err
		}
		r, b := record{table: pool, fields: poolFields(p)}, &statement{dialect: d}
		b.raw("INSERT INTO ", pool, " (", columnNames(r.fields), ")\nSELECT ")
		r.appendValues(b)
		b.raw("\nFROM (SELECT 1 AS one) AS one\nWHERE NOT EXISTS (SELECT 1 FROM ", slots, ")")
		if t.cfg.history == "" {
			b.raw(" AND ", d.history(), " = ").text(p.History)
		}
		text = b.query.String() + ";"
		return nil
	}, true)
	return text, err
}

// compareReplaced appends the comparison with what is replaced.
func (r record) compareReplaced(b *statement) {
	for _, f := range r.replaced {
		b.raw(" AND ", f.column)
		if f.isNull() {
			b.raw(" IS NULL")
			continue
		}
		b.raw(" = ")
		f.appendTo(b)
	}
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
func (t *Store) writeOnce(ctx context.Context, a *sqlattempt.Attempt, d dialect, w recycled.Write) (bool, error) {
	writes, err := t.writes(d, w)
	if err != nil {
		return false, err
	}
	if len(writes) == 0 {
		state, err := t.readOnce(ctx, a, d, recycled.Query{})
		return state.History == w.History, err
	}
	begins := len(writes) > 1 || d.beginsAlways()
	if begins {
		if err := a.Begin(ctx, d.Begin()); err != nil {
			return false, err
		}
	}
	// A single statement commits, or begins a transaction if autocommit is off.
	a.Open, a.MayWait, a.Unsure = true, true, !begins
	a.Wait("the write")
	for _, one := range writes {
		n, err := one.exec(ctx, a.Conn)
		switch {
		case wroteNothing(err) || err == nil && n != one.rows:
			a.RollBack(ctx)
			return false, nil
		case err != nil:
			return false, err
		}
	}
	if _, err := a.Exec(ctx, "the commit", d.Commit()); err != nil {
		if wroteNothing(err) {
			return false, nil
		}
		failed := a.Failure(ctx, err)
		failed.Unwritten = false // with autocommit, the server has executed and committed the statement
		return false, failed
	}
	// A server may acknowledge a commit that the driver has canceled, because ctx has ended, before it is
	// durable: PostgreSQL does, while the commit waits for a synchronous standby.
	return ctx.Err() == nil, ctx.Err()
}

package sqlstore

import (
	"cmp"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
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

// isNull reports whether the column is NULL.
func (f field) isNull() bool {
	return f.kind == fieldOptionalText && f.text == "" || f.kind == fieldOptionalTime && f.number == zeroMillis
}

// appendTo appends the value to a statement.
func (f field) appendTo(b *statement) {
	switch {
	case f.isNull():
		b.raw("NULL") // for an empty text too, because some SQL modes make no difference
	case f.kind == fieldText || f.kind == fieldOptionalText:
		b.text(f.text)
	default:
		b.int(f.number)
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

func durationField(column string, d time.Duration) field {
	return numberField(column, d.Milliseconds())
}
func textField(column, s string) field { return field{column: column, text: s, kind: fieldText} }
func optionalTextField(column, s string) field {
	return field{column: column, text: s, kind: fieldOptionalText}
}

// The key of the pool's row, of which there is only one.
const poolKey = "id = 1"

// poolFields returns the columns of the pool's row. The first one is its key, and the second one its
// revision.
func poolFields(p recycled.Pool) []field {
	return []field{
		numberField("id", 1), numberField("revision", p.Revision),
		textField("format", p.Format), numberField("first_worker_id", p.First), numberField("slot_count", p.Slots),
		textField("history", p.History), timeField("since_ms", p.Since), optionalTimeField("floor_ms", p.Floor),
		durationField("horizon_ms", p.Horizon), durationField("fencing_ms", p.Fencing), durationField("skew_ms", p.Skew),
	}
}

// slotFields returns the columns of a slot's row. The first one is its key, and the second one its
// revision.
func slotFields(s recycled.Slot) []field {
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
	runes := []rune(strings.ToValidUTF8(s, "?"))
	return string(runes[:min(len(runes), length)])
}

// checkTexts checks the values that must not be changed, because they are compared.
func checkTexts(w recycled.Write) error {
	check := func(what, value string, length int) error {
		if utf8.ValidString(value) && utf8.RuneCountInString(value) <= length {
			return nil
		}
		return fmt.Errorf("%w: sqlstore: the %s is %q; must be valid UTF-8 of at most %d characters", workerassign.ErrOption, what, value, length)
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

package tagrecord

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/ringuid/ringuid/segment"
)

// maxMillis is the greatest time of a record: the end of the year 9999, in Unix milliseconds.
const maxMillis = 253_402_300_799_999

// record is the encoding of a Record. Times are Unix milliseconds.
type record struct {
	Tag         string `json:"tag"`
	Next        int64  `json:"next"`
	Step        int64  `json:"step"`
	Description string `json:"description,omitempty"`
	History     string `json:"history"`
	Since       int64  `json:"since,omitempty"`
	Skip        int64  `json:"skip,omitempty"`
}

// pool is the encoding of a Pool.
type pool struct {
	History string `json:"history"`
	Since   int64  `json:"since,omitempty"`
	Skip    int64  `json:"skip,omitempty"`
}

// Encode returns the text of the record, which is a JSON object. Times are rounded up to milliseconds.
func (r Record) Encode() []byte {
	return encode(record{r.Tag, r.Next, r.Step, r.Description, r.History, fromTime(r.Since), r.Skip})
}

// Encode returns the text of the pool's record, which is a JSON object.
func (p Pool) Encode() []byte { return encode(pool{p.History, fromTime(p.Since), p.Skip}) }

// DecodeRecord returns the record of a text, which must be that of the given tag. It accepts what Encode returns,
// and spaces between the fields, so that an operator can raise a counter by hand. The error wraps
// segment.ErrSource.
func DecodeRecord(text []byte, tag string) (Record, error) {
	d := parse(text, "tag", "next", "step", "description", "history", "since", "skip")
	r := Record{Tag: d.text("tag"), Next: d.number("next", 1, 1<<63-1), Step: d.number("step", 1, segment.MaxStep),
		History: d.text("history"), Since: d.time("since"), Skip: d.skip()}
	if d.has("description") {
		r.Description = d.text("description")
	}
	if r.Tag != tag {
		d.fail("it is the record of tag %q; must be that of %q", r.Tag, tag)
	}
	if d.err != nil {
		return Record{}, damaged("the record of a tag", text, d.err)
	}
	return r, nil
}

// DecodePool returns the pool's record of a text. The error wraps segment.ErrSource.
func DecodePool(text []byte) (Pool, error) {
	d := parse(text, "history", "since", "skip")
	p := Pool{History: d.text("history"), Since: d.time("since"), Skip: d.skip()}
	if d.err != nil {
		return Pool{}, damaged("the record of the pool of tags", text, d.err)
	}
	return p, nil
}

func damaged(what string, text []byte, err error) error {
	return fmt.Errorf("%w: %s cannot be read: %w: it is %.200q; restore what was there before, "+
		"with a counter beyond all numbers that were handed out", segment.ErrSource, what, err, text)
}

// fields are the fields of a JSON object, which are strings and json.Numbers.
type fields struct {
	values map[string]any
	err    error // the first error of a field
}

// parse returns the fields of a JSON object. encoding/json alone would accept names in another case, and a name
// twice.
func parse(text []byte, names ...string) *fields {
	f := &fields{values: map[string]any{}}
	fail := func(format string, a ...any) *fields {
		f.fail(format, a...)
		return f
	}
	if !utf8.Valid(text) {
		return fail("it is not valid UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return fail("it is no JSON object")
	}
	for d.More() {
		t, err := d.Token()
		name, isName := t.(string)
		if err != nil || !isName {
			return fail("it is no JSON object: %v", err)
		}
		value, err := d.Token()
		if err != nil {
			return fail("the field %q has no value: %v", name, err)
		}
		if _, twice := f.values[name]; twice || !slices.Contains(names, name) {
			return fail("the field %q is unknown, or there twice", name)
		}
		f.values[name] = value
	}
	if _, err := d.Token(); err != nil {
		return fail("it is no JSON object: %v", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return fail("there is something after the JSON object")
	}
	return f
}

func (f *fields) has(name string) bool { return f.values[name] != nil }

func (f *fields) fail(format string, a ...any) {
	if f.err == nil {
		f.err = fmt.Errorf(format, a...)
	}
}

// text returns a field that must be a string, and not empty.
func (f *fields) text(name string) string {
	s, ok := f.values[name].(string)
	if !ok || s == "" {
		f.fail("the field %q is missing, empty, or no string", name)
	}
	return s
}

// number returns a field that must be an integer from least to most.
func (f *fields) number(name string, least, most int64) int64 {
	number, ok := f.values[name].(json.Number)
	n, err := strconv.ParseInt(number.String(), 10, 64)
	if !ok || err != nil || n < least || n > most {
		f.fail("the field %q is %v; must be an integer from %d to %d", name, f.values[name], least, most)
		return 0
	}
	return n
}

// time returns a field that may be missing: the zero time.
func (f *fields) time(name string) time.Time {
	if _, exists := f.values[name]; !exists {
		return time.Time{}
	}
	return time.UnixMilli(f.number(name, 1, maxMillis)).UTC()
}

// skip returns the field of Skip, which may be missing: 0.
func (f *fields) skip() int64 {
	if _, exists := f.values["skip"]; !exists {
		return 0
	}
	return f.number("skip", 1, 1<<63-1)
}

func fromTime(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return min(max(t.Add(time.Millisecond-1).UnixMilli(), 1), maxMillis)
}

func encode(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic("tagrecord: bug: " + err.Error()) // strings and integers can always be encoded
	}
	return text
}

package uid

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
)

// What was written of a UID's parts reads back, but for Delta.
func TestPartsFromJSON(t *testing.T) {
	for _, f := range []Format{
		newFormat(t),
		newFormat(t, WithTwitterLayout()),
		newFormat(t, WithLayout(layout(t, 40, 15, 8)), WithTimeUnit(10*time.Millisecond)),
		newFormat(t, WithLayout(layout(t, 1, 1, 61)), WithEpoch(time.Date(1, 1, 1, 0, 0, 1, 0, time.UTC))),
		newFormat(t, WithLayout(layout(t, 1, 61, 1)), WithEpoch(time.Date(9999, 12, 31, 23, 59, 58, 0, time.UTC))),
	} {
		top := ID(f.Layout().MaxUID())
		for _, id := range []ID{0, 1, top, top / 2, top / 3, top / 5, top / 7, top - 1} {
			want := f.Parse(id)
			text, err := json.Marshal(want)
			if err != nil {
				t.Fatal(err)
			}
			got := Parts{Delta: 99}
			if err := json.Unmarshal(text, &got); err != nil {
				t.Errorf("%v: Unmarshal(%s): %v", f, text, err)
				continue
			}
			if again := f.Parse(got.ID); again != want {
				t.Errorf("%v: Parse(%d) = %v, want all the parts of %v", f, got.ID, again, want)
			}
			if want.Delta = 0; got != want {
				t.Errorf("%v: Unmarshal(%s) = %+v, want %+v", f, text, got, want)
			}
		}
	}
}

// The year of a layout with many time bits may have more than four digits, which are written, and not read.
func TestPartsOfLateYears(t *testing.T) {
	f := newFormat(t, WithLayout(layout(t, 50, 6, 7)))
	late := f.Parse(ID(f.Layout().MaxUID())).String()
	kept := Parts{ID: 7}
	got := kept
	if err := json.Unmarshal([]byte(late), &got); !errors.Is(err, ErrRange) || got != kept || !strings.Contains(late, `"35680373-`) {
		t.Errorf("Unmarshal(%s) left %v, %v; want ErrRange", late, got, err)
	}
	var zero Parts
	if err := json.Unmarshal([]byte(zero.String()), &got); err != nil || got != zero {
		t.Errorf("the zero Parts became %+v, %v", got, err)
	}
}

// A time unit of a part of a millisecond does not fit the timestamp: the time is cut to its millisecond.
func TestPartsOfShortUnits(t *testing.T) {
	f := newFormat(t, WithLayout(layout(t, 40, 15, 8)), WithTimeUnit(time.Second/512))
	want := f.Parse(1<<23 | 7)
	var got Parts
	if err := json.Unmarshal([]byte(want.String()), &got); err != nil || got.Time != want.Time.Truncate(time.Millisecond) {
		t.Errorf("Unmarshal(%v) = %v, %v", want, got, err)
	}
	if again := f.Parse(got.ID); again != want {
		t.Errorf("Parse() = %v, want %v", again, want)
	}
}

// As with other types: unknown fields are ignored, of two of one name the last is read, names may
// differ in case, and null is nothing.
func TestPartsAsEncodingJSON(t *testing.T) {
	want := Parts{ID: 7, Time: time.Date(2026, 11, 21, 3, 14, 50, 0, time.UTC), WorkerID: 2, Sequence: 3}
	for _, text := range []string{
		`{"UID":"7","timestamp":"2026-11-21 03:14:50","workerId":"2","sequence":"3"}`,
		` { "sequence" : "3" , "workerId":"2", "other":[{}], "timestamp":"2026-11-21 03:14:50", "UID":"7" } `,
		`{"UID":"8","timestamp":"x","workerId":"9","sequence":"9","UID":"7","timestamp":"2026-11-21 03:14:50","workerId":"2","sequence":"3"}`,
		`{"uid":"7","TIMESTAMP":"2026-11-21 03:14:50","WorkerID":"2","Sequence":"\u0033"}`,
	} {
		var got Parts
		if err := json.Unmarshal([]byte(text), &got); err != nil || got != want {
			t.Errorf("Unmarshal(%s) = %+v, %v; want %+v", text, got, err, want)
		}
	}
	got := struct{ P Parts }{want}
	if err := json.Unmarshal([]byte(`{"P":null}`), &got); err != nil || got.P != want {
		t.Errorf("null left %+v, %v", got.P, err)
	}
	ref := struct{ P *Parts }{&want}
	if err := json.Unmarshal([]byte(`{"P":null}`), &ref); err != nil || ref.P != nil {
		t.Errorf("null left %+v, %v", ref.P, err)
	}
	var none *Parts
	for _, text := range []string{"null", want.String()} {
		if err := none.UnmarshalJSON([]byte(text)); !errors.Is(err, ErrOption) {
			t.Errorf("%s into nil Parts: %v, want ErrOption", text, err)
		}
	}
}

func TestPartsFromBadJSON(t *testing.T) {
	const good = `{"UID":"7","timestamp":"2026-11-21 03:14:50","workerId":"2","sequence":"3"}`
	type bad struct{ text, names string }
	var tests []bad
	replace := func(old, new, names string) {
		text := strings.Replace(good, old, new, 1)
		if text == good {
			t.Fatalf("%s is not in %s", old, good)
		}
		tests = append(tests, bad{text, names})
	}
	for field, value := range map[string]string{"UID": "7", "workerId": "2", "sequence": "3"} {
		for _, s := range []string{"", "-1", "+1", "007", " 7", "0x7", "1e3", "9223372036854775808", "x"} {
			replace(`"`+field+`":"`+value+`"`, `"`+field+`":"`+s+`"`, field+` "`+s+`"`)
		}
		replace(`"`+field+`":"`+value+`"`, `"`+field+`":null`, field+` ""`)
		replace(`"`+field+`":"`+value+`"`, `"other":"`+value+`"`, field+` ""`)
	}
	for _, s := range []string{
		"", "2026-11-21", "2026-11-21T03:14:50Z", "2026-11-21 03:14:50 UTC", "2026-11-21 03:14:50Z", "2026-11-21 3:14:50", "2026-11-21 03:14",
		"2026-11-21 03:14:50.", "2026-11-21 03:14:50.0", "2026-11-21 03:14:50.100", "2026-11-21 03:14:50.1234", "2026-11-21 03:14:50,5",
		"2026-02-29 03:14:50", "2026-13-01 03:14:50", "2026-11-21 24:00:00", "2026-11-21 03:14:60", "26-11-21 03:14:50", "02026-11-21 03:14:50",
		"-2026-11-21 03:14:50", "+2026-11-21 03:14:50", "2026-11-21  03:14:50", " 2026-11-21 03:14:50", "999999999999999999999-11-21 03:14:50",
		"9223372036854775807-11-21 03:14:50", "1792188530",
	} {
		replace("2026-11-21 03:14:50", s, `timestamp "`+s+`"`)
	}
	replace(`"timestamp":"2026-11-21 03:14:50",`, "", "timestamp")
	tests = append(tests, bad{"{}", "UID"})
	kept := Parts{ID: 1, Time: DefaultEpoch(), WorkerID: 2, Sequence: 3, Delta: 4}
	for _, tt := range tests {
		got := kept
		if err := json.Unmarshal([]byte(tt.text), &got); !errors.Is(err, ErrRange) || !strings.Contains(err.Error(), tt.names) || got != kept {
			t.Errorf("Unmarshal(%s) left %+v, %v; want ErrRange that names %s", tt.text, got, err, tt.names)
		}
	}
	for _, text := range []string{
		`"7"`, `7`, `[]`, `true`, `{"UID":7}`, `{"UID":["7"]}`,
		strings.Replace(good, `"2"`, `2`, 1), strings.Replace(good, `"3"`, `{}`, 1), strings.Replace(good, `"2026-11-21 03:14:50"`, `1792188530`, 1),
	} {
		got := kept
		err := json.Unmarshal([]byte(text), &got)
		var wrong *json.UnmarshalTypeError
		if !errors.As(err, &wrong) || got != kept {
			t.Errorf("Unmarshal(%s) left %+v, %v; want a *json.UnmarshalTypeError", text, got, err)
		}
	}
	for _, text := range []string{"", "{", good[:len(good)-1], good + "x", "nul"} { // UnmarshalJSON alone, without the check of package json
		got := kept
		err := got.UnmarshalJSON([]byte(text))
		var wrong *json.SyntaxError
		if !errors.As(err, &wrong) || got != kept {
			t.Errorf("UnmarshalJSON(%s) left %+v, %v; want a *json.SyntaxError", text, got, err)
		}
	}
}

// FuzzPartsJSON: what reads as parts is written and read again as the same parts.
func FuzzPartsJSON(f *testing.F) {
	f.Add(`{"UID":"7","timestamp":"2026-11-21 03:14:50","workerId":"2","sequence":"3"}`)
	f.Add(`{"UID":"0","timestamp":"0001-01-01 00:00:00","workerId":"0","sequence":"0"}`)
	f.Add(`{"UID":"9223372036854775807","timestamp":"36812-02-29 23:59:59.999","workerId":"9223372036854775807","sequence":"0","x":{}}`)
	f.Add(`{"UID":"-1","timestamp":"2026-02-30 03:14:50","workerId":2}`)
	f.Add(`null`)
	f.Fuzz(func(t *testing.T, text string) {
		kept := Parts{ID: 1, Time: DefaultEpoch(), WorkerID: 2, Sequence: 3, Delta: 4}
		got := kept
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			if got != kept {
				t.Errorf("Unmarshal(%q) left %+v, %v", text, got, err)
			}
			return
		}
		if got == kept {
			return // null
		}
		if got.ID < 0 || got.WorkerID < 0 || got.Sequence < 0 || got.Delta != 0 || got.Time.Location() != time.UTC {
			t.Errorf("Unmarshal(%q) = %+v", text, got)
		}
		var again Parts
		if err := json.Unmarshal([]byte(got.String()), &again); err != nil || again != got {
			t.Errorf("Unmarshal(%q) = %v, which becomes %v, %v", text, got, again, err)
		}
	})
}

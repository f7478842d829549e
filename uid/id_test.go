package uid

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/ringuid/ringuid/internal/testkit/fakeclock"
)

func TestIDCompare(t *testing.T) {
	for _, tt := range []struct {
		a, b ID
		want int
	}{{0, 0, 0}, {1, 2, -1}, {2, 1, 1}, {math.MaxInt64, math.MaxInt64, 0}, {0, math.MaxInt64, -1}, {math.MinInt64, math.MaxInt64, -1}} {
		if got := tt.a.Compare(tt.b); got != tt.want {
			t.Errorf("%d.Compare(%d) = %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
	ids := make([]ID, 1000)
	for i := range ids {
		ids[i] = ID(rand.Int64())
	}
	slices.SortFunc(ids, ID.Compare)
	if !slices.IsSorted(ids) {
		t.Error("the IDs are not in order")
	}
}

// A zero ID is left out of JSON where its field says omitzero, and no other is.
func TestIDIsZero(t *testing.T) {
	for _, id := range []ID{1, -1, math.MaxInt64} {
		if id.IsZero() {
			t.Errorf("%d is zero", id)
		}
	}
	if !ID(0).IsZero() {
		t.Error("0 is not zero")
	}
	type row struct {
		ID     ID `json:"id,omitzero"`
		Parent ID `json:"parent,omitzero"`
	}
	text, err := json.Marshal(row{ID: 7})
	if want := `{"id":"7"}`; err != nil || string(text) != want {
		t.Errorf("Marshal() = %s, %v; want %s", text, err, want)
	}
	var back row
	if err := json.Unmarshal(text, &back); err != nil || back != (row{ID: 7}) {
		t.Errorf("Unmarshal() = %+v, %v", back, err)
	}
}

// No generator returns 0, not even with worker ID 0 at the epoch's instant: 0 can stand for "no ID".
func TestNoGeneratorReturnsZero(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			a := new(disposableAssigner)
			a.lastID.Store(-1) // the first worker ID is 0
			g, err := mode.make(t.Context(), a, WithClock(fakeclock.New(DefaultEpoch())))
			if err != nil {
				t.Fatal(err)
			}
			defer g.Close()
			if id := next(t, g); id <= 0 {
				t.Errorf("Next() = %d", id)
			}
		})
	}
}

func TestMustParse(t *testing.T) {
	if id := MustParse("962392666547429376"); id != 962392666547429376 {
		t.Errorf("MustParse() = %d", id)
	}
	defer func() {
		err, ok := recover().(error)
		if !ok || !errors.Is(err, ErrRange) || !strings.Contains(err.Error(), `"12 "`) {
			t.Errorf("MustParse panics with %v, want an error that wraps ErrRange and has the text", err)
		}
	}()
	MustParse("12 ")
}

// What String does not return, no function reads: a text stands for one ID, and an ID has one text.
func TestParseIDIsStrict(t *testing.T) {
	for _, bad := range []string{
		"", "00", "007", "0000000000000000001", "-0", "-1", "+1", "+0", " 1", "1 ", "1\n", "\t1", "1_000", "0x1", "0b1", "0o7", "1e3", "1.0",
		"9223372036854775808", "99999999999999999999", "18446744073709551616", "١", "１", "null", `"1"`,
	} {
		if id, err := ParseID(bad); id != 0 || !errors.Is(err, ErrRange) || !strings.Contains(err.Error(), fmt.Sprintf("%q", bad)) {
			t.Errorf("ParseID(%q) = %d, %v; want ErrRange with the text", bad, id, err)
		}
		id := ID(42)
		if err := id.UnmarshalText([]byte(bad)); !errors.Is(err, ErrRange) || id != 42 {
			t.Errorf("UnmarshalText(%q) left %d, %v; want 42, ErrRange", bad, id, err)
		}
		if err := id.UnmarshalJSON([]byte(`"` + bad + `"`)); !errors.Is(err, ErrRange) || id != 42 || !strings.Contains(err.Error(), fmt.Sprintf(": %q must be", bad)) {
			t.Errorf("UnmarshalJSON of the string %q left %d, %v; want 42, ErrRange", bad, id, err)
		}
		if bad != "null" && bad != `"1"` {
			if err := id.UnmarshalJSON([]byte(bad)); !errors.Is(err, ErrRange) || id != 42 {
				t.Errorf("UnmarshalJSON(%s) left %d, %v; want 42, ErrRange", bad, id, err)
			}
		}
	}
	for s, want := range map[string]ID{"0": 0, "7": 7, "10": 10, "9223372036854775807": math.MaxInt64} {
		if id, err := ParseID(s); err != nil || id != want {
			t.Errorf("ParseID(%q) = %d, %v; want %d", s, id, err, want)
		}
	}
}

// An ID keeps its value in the other places of a JSON text where one can stand.
func TestIDInJSON(t *testing.T) {
	type row struct {
		Keys   map[ID]ID
		List   []ID
		Ref    *ID
		None   *ID
		String ID `json:",string"`
	}
	id := ID(1<<53 + 1)
	want := row{Keys: map[ID]ID{1: id}, List: []ID{0, id}, Ref: &id, String: id}
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var back row
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatalf("Unmarshal(%s): %v", text, err)
	}
	if back.Keys[1] != id || !slices.Equal(back.List, want.List) || back.Ref == nil || *back.Ref != id || back.None != nil || back.String != id {
		t.Errorf("%s became %+v", text, back)
	}
}

func TestIDTextAllocates(t *testing.T) {
	id, buf := ID(math.MaxInt64), make([]byte, 0, 32)
	if n := testing.AllocsPerRun(1000, func() {
		b, err := id.AppendText(buf)
		if err != nil || len(b) != 19 {
			t.Errorf("AppendText() = %s, %v", b, err)
		}
	}); n != 0 {
		t.Errorf("AppendText allocates %v times, want 0", n)
	}
	var s string
	if n := testing.AllocsPerRun(1000, func() { s = id.String() }); n != 1 || s != "9223372036854775807" {
		t.Errorf("String() = %s allocates %v times, want 1", s, n)
	}
	if n := testing.AllocsPerRun(1000, func() {
		if _, err := ParseID(s); err != nil {
			t.Error(err)
		}
	}); n != 0 {
		t.Errorf("ParseID allocates %v times, want 0", n)
	}
	if b, err := ID(7).AppendText([]byte("id=")); err != nil || string(b) != "id=7" {
		t.Errorf("AppendText() = %s, %v", b, err)
	}
}

// Numbers by the verbs for integers, the decimal text by the others.
func TestIDFormat(t *testing.T) {
	const id = ID(962392666547429376)
	for _, tt := range []struct {
		form string
		id   ID
		want string
	}{
		{"%d", id, "962392666547429376"},
		{"%020d", id, "00962392666547429376"},
		{"%+d", 7, "+7"},
		{"%-4d|", 7, "7   |"},
		{"%x", id, "d5b1b0800002000"},
		{"%X", id, "D5B1B0800002000"},
		{"%#x", 255, "0xff"},
		{"%016x", id, "0d5b1b0800002000"},
		{"%o", 8, "10"},
		{"%O", 8, "0o10"},
		{"%b", 5, "101"},
		{"%08b", 5, "00000101"},
		{"%c", 'é', "é"},
		{"%U", 'é', "U+00E9"},
		{"%s", id, "962392666547429376"},
		{"%v", id, "962392666547429376"},
		{"%+v", id, "962392666547429376"},
		{"%#v", id, "962392666547429376"},
		{"%q", id, `"962392666547429376"`},
		{"%#q", id, "`962392666547429376`"},
		{"%-20v|", id, "962392666547429376  |"},
		{"%20s", id, "  962392666547429376"},
		{"%.3s", id, "962"},
		{"%T", id, "uid.ID"},
		{"%d", -1, "-1"},
		{"%v", math.MinInt64, "-9223372036854775808"},
		{"%e", 7, "%!e(uid.ID=7)"},
		{"%t", 7, "%!t(uid.ID=7)"},
		{"%p", 7, "%!p(uid.ID=7)"},
		{"%!", 7, "%!!(uid.ID=7)"},
	} {
		if got := fmt.Sprintf(tt.form, tt.id); got != tt.want {
			t.Errorf("Sprintf(%q, %d) = %s, want %s", tt.form, int64(tt.id), got, tt.want)
		}
	}
	type row struct{ ID, Parent ID }
	for form, want := range map[string]string{"%v": "{1 2}", "%+v": "{ID:1 Parent:2}", "%x": "{1 2}", "%#v": "uid.row{ID:1, Parent:2}"} {
		if got := fmt.Sprintf(form, row{1, 2}); got != want {
			t.Errorf("Sprintf(%q) of a struct = %s, want %s", form, got, want)
		}
	}
	if got := fmt.Sprintf("%x %d", []ID{10, 11}, &[]ID{12}); got != "[a b] &[12]" {
		t.Errorf("slices are %s", got)
	}
	if got := fmt.Sprint(id, ID(1)); got != "962392666547429376 1" {
		t.Errorf("Sprint() = %s", got)
	}
	var none *ID
	if got := fmt.Sprintf("%v %d", none, none); got != "<nil> <nil>" {
		t.Errorf("nil pointers are %s", got)
	}
	var back ID
	if _, err := fmt.Sscan("962392666547429376", &back); err != nil || back != id {
		t.Errorf("Sscan() = %d, %v", back, err)
	}
}

// FuzzIDFormat compares with what fmt makes of an int64, and of the decimal text.
func FuzzIDFormat(f *testing.F) {
	for _, flags := range []string{"", "0", "-", "+", "#", " ", "+#0- ", "-0"} {
		f.Add(int64(962392666547429376), flags, 20, 3)
		f.Add(int64(-1), flags, -1, -1)
		f.Add(int64(0), flags, 3, 0)
	}
	f.Fuzz(func(t *testing.T, v int64, flags string, width, precision int) {
		form := "%"
		for _, c := range flags {
			if strings.ContainsRune("+-# 0", c) {
				form += string(c)
			}
		}
		if width >= 0 {
			form += fmt.Sprint(width % 100)
		}
		if precision >= 0 {
			form += "." + fmt.Sprint(precision%100)
		}
		id := ID(v)
		for _, verb := range "bcdoOUxX" {
			if got, want := fmt.Sprintf(form+string(verb), id), fmt.Sprintf(form+string(verb), v); got != want {
				t.Errorf("Sprintf(%q, %d) = %q, want %q", form+string(verb), v, got, want)
			}
		}
		for _, verb := range "sqv" {
			var like any = id.String()
			if verb == 'v' && strings.Contains(form, "#") {
				like = v
			}
			if got, want := fmt.Sprintf(form+string(verb), id), fmt.Sprintf(form+string(verb), like); got != want {
				t.Errorf("Sprintf(%q, %d) = %q, want %q", form+string(verb), v, got, want)
			}
		}
	})
}

// The binary form has eight bytes, the most significant first, which sort as the IDs. Anything else is an error.
func TestIDBinary(t *testing.T) {
	var last []byte
	for _, id := range []ID{0, 1, 255, 256, 962392666547429376, math.MaxInt64} {
		data, err := id.MarshalBinary()
		if err != nil || len(data) != 8 || last != nil && bytes.Compare(last, data) >= 0 {
			t.Errorf("%d: %x, %v; the one before is %x", id, data, err, last)
		}
		last = data
		got := ID(7)
		if err := got.UnmarshalBinary(data); err != nil || got != id {
			t.Errorf("%x is read as %d, %v; want %d", data, got, err, id)
		}
	}
	if data, err := ID(0x0102030405060708).AppendBinary([]byte("x")); err != nil || string(data) != "x\x01\x02\x03\x04\x05\x06\x07\x08" {
		t.Errorf("%x, %v", data, err)
	}
	for _, data := range [][]byte{nil, make([]byte, 7), make([]byte, 9), {0x80, 0, 0, 0, 0, 0, 0, 0}} {
		if id := ID(7); !errors.Is(id.UnmarshalBinary(data), ErrRange) || id != 7 {
			t.Errorf("%x is read as %d", data, id)
		}
	}
	if err := (*ID)(nil).UnmarshalBinary(make([]byte, 8)); !errors.Is(err, ErrOption) {
		t.Errorf("into nil: %v", err)
	}
	var out struct{ ID ID }
	var b bytes.Buffer
	if err := errors.Join(gob.NewEncoder(&b).Encode(struct{ ID ID }{962392666547429376}), gob.NewDecoder(&b).Decode(&out)); err != nil || out.ID != 962392666547429376 {
		t.Errorf("by gob: %d, %v", out.ID, err)
	}
}

package uid

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
)

// The types of the forms are read and written as the forms are, in JSON also as keys of a map.
func TestBaseIDs(t *testing.T) {
	type record struct {
		A Base32ID            `json:"a"`
		C Base62ID            `json:"c"`
		D map[Base32ID]string `json:"d"`
		E NumberID            `json:"e"`
		F Base62ID            `json:"f,omitzero"`
	}
	const id = 962392666547429376
	in := record{A: id, C: id, D: map[Base32ID]string{7: "x"}, E: MaxSafeInteger}
	text, err := json.Marshal(in)
	want := fmt.Sprintf(`{"a":%q,"c":%q,"d":{"0000000000007":"x"},"e":9007199254740991}`, ID(id).Base32(), ID(id).Base62())
	if err != nil || string(text) != want {
		t.Fatalf("the JSON is %s, %v; want %s", text, err, want)
	}
	var out record
	if err := json.Unmarshal(text, &out); err != nil || out.A != in.A || out.C != in.C || out.D[7] != "x" || out.E != in.E {
		t.Errorf("it is read as %+v, %v", out, err)
	}
	if got := fmt.Sprintf("%v %s %d", in.A, in.C, in.A); got != ID(id).Base32()+" "+ID(id).Base62()+" 962392666547429376" {
		t.Errorf("printed: %s", got)
	}
}

func TestBaseIDErrors(t *testing.T) {
	b32, b62 := Base32ID(5), Base62ID(5)
	for _, u := range []encoding.TextUnmarshaler{&b32, &b62} {
		for _, text := range []string{"", "5", "-0000000000", "-000000000000", "zzzzzzzzzzz", "zzzzzzzzzzzzz"} {
			if err := u.UnmarshalText([]byte(text)); !errors.Is(err, ErrRange) {
				t.Errorf("%T: %q: %v", u, text, err)
			}
		}
	}
	if b32 != 5 || b62 != 5 {
		t.Errorf("after errors: %d, %d", b32, b62)
	}
	for _, u := range []encoding.TextUnmarshaler{(*Base32ID)(nil), (*Base62ID)(nil)} {
		if err := u.UnmarshalText([]byte("0")); !errors.Is(err, ErrOption) {
			t.Errorf("%T: %v", u, err)
		}
	}
	if err := (*NumberID)(nil).UnmarshalJSON([]byte("0")); !errors.Is(err, ErrOption) {
		t.Error(err)
	}
}

// A number that JavaScript rounds is neither written nor read.
func TestNumberID(t *testing.T) {
	for _, id := range []NumberID{-1, MaxSafeInteger + 1, math.MaxInt64} {
		if text, err := json.Marshal(id); !errors.Is(err, ErrRange) {
			t.Errorf("the JSON of %d is %s, %v", id, text, err)
		}
	}
	id := NumberID(5)
	for _, text := range []string{`9007199254740992`, `-1`, `1.0`, `1e3`, `"1"`, `true`, `{}`, `9223372036854775808`} {
		if err := json.Unmarshal([]byte(text), &id); !errors.Is(err, ErrRange) || id != 5 {
			t.Errorf("%s is read as %d, %v", text, id, err)
		}
	}
	if err := json.Unmarshal([]byte("null"), &id); err != nil || id != 5 {
		t.Errorf("null is read as %d, %v", id, err)
	}
	for _, want := range []NumberID{0, 1, MaxSafeInteger} {
		text, err := json.Marshal(want)
		if err != nil || json.Unmarshal(text, &id) != nil || id != want {
			t.Errorf("%d is %s, %v, and read as %d", want, text, err, id)
		}
	}
}

// A NumberID reads what it writes, and nothing that JavaScript writes otherwise or has rounded.
func FuzzNumberID(f *testing.F) {
	for _, s := range []string{"0", "-0", "00", "1", "1.0", "1e3", "9007199254740991", "9007199254740992", "9223372036854775808", `"1"`, "null", " 7 ", "+1", "0x1", "1_0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		const before = 12345
		id := NumberID(before)
		if err := json.Unmarshal([]byte(s), &id); err != nil || strings.TrimSpace(s) == "null" {
			if id != before {
				t.Errorf("%q is %d, %v", s, id, err)
			}
			return
		}
		if text, err := json.Marshal(id); err != nil || id < 0 || id > MaxSafeInteger || string(text) != strings.Trim(s, " \t\r\n") {
			t.Errorf("%q is %d, whose JSON is %s, %v", s, id, text, err)
		}
	})
}

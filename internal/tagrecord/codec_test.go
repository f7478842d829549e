package tagrecord

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/segment"
)

// records are valid records.
func records() []Record {
	at := time.UnixMilli(1_795_000_000_001).UTC()
	return []Record{
		{Tag: "orders", Next: 1, Step: 1, History: "h"},
		{Tag: "日本/\"x\"<&>\u2028", Next: math.MaxInt64, Step: segment.MaxStep, Description: "a \\ \"b\"", History: "12ab.XYZ", Since: at, Skip: math.MaxInt64},
		{Tag: "a", Next: 1 << 53, Step: 1000, Description: strings.Repeat("é", 256), History: "1", Since: time.UnixMilli(maxMillis).UTC()},
	}
}

// What is encoded is decoded again.
func TestRoundTrip(t *testing.T) {
	for _, want := range records() {
		if got, err := DecodeRecord(want.Encode(), want.Tag); err != nil || got != want {
			t.Errorf("%+v, %v; want %+v", got, err, want)
		}
		p := Pool{want.History, want.Since, want.Skip}
		if got, err := DecodePool(p.Encode()); err != nil || got != p {
			t.Errorf("%+v, %v; want %+v", got, err, p)
		}
	}
	r := Record{Tag: "a", Next: 1, Step: 1, History: "h", Since: time.UnixMilli(5).Add(1)}
	if got, err := DecodeRecord(r.Encode(), "a"); err != nil || got.Since.UnixMilli() != 6 {
		t.Errorf("the time 5.000001 ms is decoded as %v, %v; want 6 ms", got.Since, err)
	}
}

// The texts are what operators see in the store, and what all versions of this package must be able to read.
func TestTexts(t *testing.T) {
	r := Record{Tag: "orders", Next: 1001, Step: 20, Description: "numbers of orders", History: "h", Since: time.UnixMilli(1_795_000_000_000).UTC(), Skip: 3000}
	const want = `{"tag":"orders","next":1001,"step":20,"description":"numbers of orders","history":"h","since":1795000000000,"skip":3000}`
	if got := string(r.Encode()); got != want {
		t.Errorf("the record is %s; want %s", got, want)
	}
	byHand := " {\n\t\"step\": 20, \"next\" : 5000,\"tag\":\"orders\", \"history\":\"h\" }\n"
	if got, err := DecodeRecord([]byte(byHand), "orders"); err != nil || got != (Record{Tag: "orders", Next: 5000, Step: 20, History: "h"}) {
		t.Errorf("a record that was changed by hand is %+v, %v", got, err)
	}
	if got := string(Pool{History: "h"}.Encode()); got != `{"history":"h"}` {
		t.Errorf("the pool is %s", got)
	}
}

// damagedRecords are texts that are no records of the tag "a". None may be taken for one with another counter.
var damagedRecords = map[string]string{
	"empty":              ``,
	"null":               `null`,
	"array":              `[{"tag":"a","next":5,"step":1,"history":"h"}]`,
	"cut":                `{"tag":"a","next":5,"step":1,"history":"h"`,
	"cut value":          `{"tag":"a","next":`,
	"two objects":        `{"tag":"a","next":5,"step":1,"history":"h"}{}`,
	"text after it":      `{"tag":"a","next":5,"step":1,"history":"h"} x`,
	"no next":            `{"tag":"a","step":1,"history":"h"}`,
	"next null":          `{"tag":"a","next":null,"step":1,"history":"h"}`,
	"next 0":             `{"tag":"a","next":0,"step":1,"history":"h"}`,
	"next negative":      `{"tag":"a","next":-5,"step":1,"history":"h"}`,
	"next too large":     `{"tag":"a","next":9223372036854775808,"step":1,"history":"h"}`,
	"next float":         `{"tag":"a","next":5.0,"step":1,"history":"h"}`,
	"next exponent":      `{"tag":"a","next":5e3,"step":1,"history":"h"}`,
	"next text":          `{"tag":"a","next":"5","step":1,"history":"h"}`,
	"next object":        `{"tag":"a","next":{"next":5},"step":1,"history":"h"}`,
	"next twice":         `{"tag":"a","next":5,"next":1,"step":1,"history":"h"}`,
	"next and Next":      `{"tag":"a","next":5,"Next":1,"step":1,"history":"h"}`,
	"Next":               `{"tag":"a","Next":5,"step":1,"history":"h"}`,
	"step 0":             `{"tag":"a","next":5,"step":0,"history":"h"}`,
	"step too large":     `{"tag":"a","next":5,"step":1099511627777,"history":"h"}`,
	"no step":            `{"tag":"a","next":5,"history":"h"}`,
	"no history":         `{"tag":"a","next":5,"step":1}`,
	"history empty":      `{"tag":"a","next":5,"step":1,"history":""}`,
	"history number":     `{"tag":"a","next":5,"step":1,"history":1}`,
	"no tag":             `{"next":5,"step":1,"history":"h"}`,
	"another tag":        `{"tag":"A","next":5,"step":1,"history":"h"}`,
	"unknown field":      `{"tag":"a","next":5,"step":1,"history":"h","max":9}`,
	"since negative":     `{"tag":"a","next":5,"step":1,"history":"h","since":-1}`,
	"since too late":     `{"tag":"a","next":5,"step":1,"history":"h","since":253402300800000}`,
	"since text":         `{"tag":"a","next":5,"step":1,"history":"h","since":"2026"}`,
	"since null":         `{"tag":"a","next":5,"step":1,"history":"h","since":null}`,
	"description number": `{"tag":"a","next":5,"step":1,"history":"h","description":1}`,
	"skip negative":      `{"tag":"a","next":5,"step":1,"history":"h","skip":-1}`,
	"skip null":          `{"tag":"a","next":5,"step":1,"history":"h","skip":null}`,
	"not UTF-8":          "{\"tag\":\"a\",\"next\":5,\"step\":1,\"history\":\"\xff\"}",
}

// A text that is no record is an error that shows it.
func TestDamaged(t *testing.T) {
	for name, text := range damagedRecords {
		if r, err := DecodeRecord([]byte(text), "a"); !errors.Is(err, segment.ErrSource) || r != (Record{}) {
			t.Errorf("%s: %+v, %v; want ErrSource", name, r, err)
		}
	}
	for _, text := range []string{``, `{}`, `{"history":""}`, `{"history":"h","since":0}`, `{"history":"h","skip":-1}`, `{"history":"h","skip":"1"}`, `{"history":"h","history":"h"}`, `{"History":"h"}`, `{"history":"h"}]`} {
		if p, err := DecodePool([]byte(text)); !errors.Is(err, segment.ErrSource) || p != (Pool{}) {
			t.Errorf("pool %s: %+v, %v; want ErrSource", text, p, err)
		}
	}
	_, err := DecodeRecord([]byte(damagedRecords["next negative"]), "a")
	for _, want := range []string{`"next" is -5; must be an integer from 1 to 9223372036854775807`, `{"tag":"a","next":-5`, "restore"} {
		if !strings.Contains(strings.ReplaceAll(err.Error(), `\"`, `"`), want) {
			t.Errorf("the error is %v; want %q in it", err, want)
		}
	}
}

// A text is either refused, or is a record in the bounds, which is encoded and decoded again.
func FuzzDecode(f *testing.F) {
	for _, r := range records() {
		f.Add(r.Encode(), r.Tag)
		f.Add(Pool{r.History, r.Since, r.Skip}.Encode(), "a")
	}
	for _, text := range damagedRecords {
		f.Add([]byte(text), "a")
	}
	f.Fuzz(func(t *testing.T, text []byte, tag string) {
		if p, err := DecodePool(text); err == nil {
			if again, err := DecodePool(p.Encode()); err != nil || again != p || p.History == "" {
				t.Errorf("%q: %+v, and then %+v, %v", text, p, again, err)
			}
		}
		r, err := DecodeRecord(text, tag)
		if err != nil {
			if !errors.Is(err, segment.ErrSource) || r != (Record{}) {
				t.Errorf("%q: %+v, %v", text, r, err)
			}
			return
		}
		if r.Tag != tag || r.Next < 1 || r.Step < 1 || r.Step > segment.MaxStep || r.History == "" {
			t.Errorf("%q: %+v is out of bounds", text, r)
		}
		if again, err := DecodeRecord(r.Encode(), tag); err != nil || again != r {
			t.Errorf("%q: %+v, and then %+v, %v", text, r, again, err)
		}
	})
}

package uid

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/ringbuffer"
)

var (
	_ slog.LogValuer = Parts{}
	_ slog.LogValuer = Format{}
	_ slog.LogValuer = Stats{}
)

// logged returns what slog's handlers write of a value: as JSON, and as text.
func logged(t *testing.T, value any) (fields map[string]any, text string) {
	t.Helper()
	drop := func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey || a.Key == slog.MessageKey) {
			return slog.Attr{}
		}
		return a
	}
	var asJSON, asText bytes.Buffer
	slog.New(slog.NewJSONHandler(&asJSON, &slog.HandlerOptions{ReplaceAttr: drop})).Info("", "v", value)
	slog.New(slog.NewTextHandler(&asText, &slog.HandlerOptions{ReplaceAttr: drop})).Info("", "v", value)
	if err := json.Unmarshal(asJSON.Bytes(), &fields); err != nil {
		t.Fatalf("%s: %v", asJSON.Bytes(), err)
	}
	return fields, strings.TrimSpace(asText.String())
}

// In a log an ID is what it is in JSON.
func TestLogID(t *testing.T) {
	const id = ID(962392666547429376)
	fields, text := logged(t, id)
	if fields["v"] != id.String() || text != "v=962392666547429376" {
		t.Errorf("the ID is logged as %v and as %s", fields, text)
	}
	if fields, text = logged(t, (*ID)(nil)); fields["v"] != nil || text != "v=<nil>" {
		t.Errorf("a nil pointer is logged as %v and as %s", fields, text)
	}
	p := id
	if fields, text = logged(t, &p); fields["v"] != id.String() || text != "v=962392666547429376" {
		t.Errorf("a pointer is logged as %v and as %s", fields, text)
	}
}

func TestLogParts(t *testing.T) {
	_, text := logged(t, newFormat(t).Parse(962392666547429376))
	if want := "v.id=962392666547429376 v.time=2026-11-21T04:21:53.000Z v.worker_id=1 v.sequence=0 v.delta=28009313"; text != want {
		t.Errorf("the parts are logged as\n%s, want\n%s", text, want)
	}
	if _, text = logged(t, Parts{}); !strings.Contains(text, "v.id=0 ") {
		t.Errorf("the zero Parts are logged as %s", text)
	}
}

// A log in JSON stays valid if a time is beyond the year 9999, for which package slog has no form.
func TestLogTimeBeyondYear9999(t *testing.T) {
	far := newFormat(t, WithLayout(layout(t, 50, 6, 7))).Parse(1<<63 - 1)
	fields, text := logged(t, far)
	const year = "35680373-"
	if v, ok := fields["v"].(map[string]any); !ok || !strings.HasPrefix(v["time"].(string), year) || !strings.Contains(text, "v.time="+year) {
		t.Errorf("the parts are logged as %v and as %s; want the year %s", fields, text, year)
	}
	fields, text = logged(t, Stats{End: far.Time})
	if v, ok := fields["v"].(map[string]any); !ok || !strings.HasPrefix(v["end"].(string), year) || !strings.Contains(text, "v.end="+year) {
		t.Errorf("the statistics are logged as %v and as %s; want the year %s", fields, text, year)
	}
}

func TestLogFormat(t *testing.T) {
	_, text := logged(t, newFormat(t, WithTwitterLayout()))
	if want := "v.layout=1-41-10-12 v.epoch=2026-01-01T00:00:00.000Z v.unit=1ms"; text != want {
		t.Errorf("the format is logged as\n%s, want\n%s", text, want)
	}
	if fields, text := logged(t, Format{}); len(fields) != 0 || text != "" {
		t.Errorf("the zero Format is logged as %v and as %s; want nothing", fields, text)
	}
}

// filled returns Stats without a field that is zero.
func filled(t *testing.T) Stats {
	t.Helper()
	st := Stats{Format: newFormat(t, WithTwitterLayout()), Ahead: 1500 * time.Millisecond}
	st.End = st.Format.End()
	st.LeaseSince, st.LeaseUntil, st.LeaseBounded = st.Format.Epoch(), st.Format.Epoch().Add(time.Minute), true
	st.Ring = ringbuffer.Stats{
		FillRuns: 2, CapacityRuns: 8, LastFailure: st.Format.Epoch().Add(time.Hour), LastError: errors.New("no database"),
	}
	p := &st.Ring.Paddings
	p.Initial, p.Immediate, p.Scheduled, p.Caller = 1, 2, 3, 4
	n := uint64(10)
	var fill func(v reflect.Value)
	fill = func(v reflect.Value) {
		for i := range v.NumField() {
			n++
			switch f := v.Field(i); {
			case f.Type() == reflect.TypeFor[ringbuffer.Stats]():
				fill(f)
			case !f.IsZero():
			case f.CanInt():
				f.SetInt(int64(n))
			case f.CanUint():
				f.SetUint(n)
			default:
				t.Fatalf("Stats has a field %s, of a type that this test does not know", v.Type().Field(i).Name)
			}
		}
	}
	fill(reflect.ValueOf(&st).Elem())
	return st
}

func TestLogStats(t *testing.T) {
	st := filled(t)
	_, text := logged(t, st)
	want := `v.worker_id=11 v.format="1-41-10-12 2026-01-01T00:00:00Z 1ms" v.end=2095-09-07T15:47:35.552Z ` +
		"v.lease_since=2026-01-01T00:00:00.000Z v.lease_until=2026-01-01T00:01:00.000Z v.lease_bounded=true v.worker_ids_remaining=17 " +
		"v.worker_ids_total=18 v.reserve_ahead=19ns v.lost_leases=20 v.void_leases=21 " +
		"v.issued=22 v.rejected_takes=23 v.ahead=1.5s v.rollbacks=25 v.rollovers=26 v.borrowed=27ns v.borrow_limit=28ns " +
		"v.ring.taken=30 v.ring.dropped=31 v.ring.rejected_takes=32 v.ring.rejected_puts=33 " +
		"v.ring.paddings.initial=1 v.ring.paddings.immediate=2 v.ring.paddings.scheduled=3 v.ring.paddings.caller=4 " +
		"v.ring.failed_paddings=35 v.ring.fill=36 v.ring.fill_level=0.25 v.ring.fill_runs=2 v.ring.capacity_runs=8 v.ring.oldest=39 v.ring.newest=40 " +
		`v.ring.last_failure=2026-01-01T01:00:00.000Z v.ring.last_error="no database"`
	if text != want {
		t.Errorf("the statistics are logged as\n%s, want\n%s", text, want)
	}
	fields, text := logged(t, Stats{})
	if v, ok := fields["v"].(map[string]any); !ok || v["issued"] != 0.0 || strings.Contains(text, "ring") || strings.Contains(text, "format") {
		t.Errorf("the zero Stats are logged as %v and as %s", fields, text)
	}
}

// What is logged of statistics and what is in their JSON have the same names, one for each field.
func TestLogAndJSONHaveAllStats(t *testing.T) {
	st := filled(t)
	fields, _ := logged(t, st)
	text, err := json.Marshal(st)
	if err != nil {
		t.Fatal(err)
	}
	var asJSON map[string]any
	if err := json.Unmarshal(text, &asJSON); err != nil {
		t.Fatal(err)
	}
	inLog := fields["v"].(map[string]any)
	if a, b := slices.Sorted(maps.Keys(inLog)), slices.Sorted(maps.Keys(asJSON)); !slices.Equal(a, b) || len(a) != reflect.TypeFor[Stats]().NumField() {
		t.Errorf("the log has %v,\nthe JSON %v,\nand there are %d fields", a, b, reflect.TypeFor[Stats]().NumField())
	}
	if a, b := inLog["ring"], asJSON["ring"]; !reflect.DeepEqual(a, b) || len(b.(map[string]any)) != reflect.TypeFor[ringbuffer.Stats]().NumField()+1 {
		t.Errorf("of the ring, the log has %v, and the JSON %v", a, b) // both have the fill level too
	}
}

// The times of all years that JSON can represent are logged as times.
func TestLogYears(t *testing.T) {
	for year, want := range map[int]string{
		0:     "v.time=0000-05-06T07:08:09.000Z",
		9999:  "v.time=9999-05-06T07:08:09.000Z",
		10000: "v.time=10000-05-06T07:08:09Z",
		-1:    "v.time=-0001-05-06T07:08:09Z",
	} {
		if _, text := logged(t, Parts{Time: time.Date(year, 5, 6, 7, 8, 9, 0, time.UTC)}); !strings.Contains(text, want) {
			t.Errorf("the year %d is logged as %s, want %s", year, text, want)
		}
	}
}

package segment

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"math"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/ringbuffer"
)

func TestStats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newMemorySource(10)
		s := newTestSequence(t, src, WithStepPolicy(FixedStep{}))
		want := Stats{Tag: testTag, Ranges: 2, Step: 10, LastSize: 10, End: 21, Limit: math.MaxInt64, Ring: s.Stats().Ring}
		if st := s.Stats(); st != want || st.Ring.Fill != 20 || st.Ring.Taken != 0 || st.Ring.CapacityRuns != defaultCapacity {
			t.Errorf("Stats() = %+v, want %+v", st, want)
		}
		time.Sleep(5 * time.Second)
		for v := int64(1); v <= 12; v++ {
			mustNext(t, s, v)
		}
		synctest.Wait()
		// The third range was requested when number 11 was taken.
		want = Stats{Tag: testTag, Issued: 12, Ranges: 3, Step: 10, LastSize: 10, End: 31, Limit: math.MaxInt64, Rate: s.Stats().Rate, Ring: s.Stats().Ring}
		if st := s.Stats(); st != want || st.Ring.Fill != 18 || st.Ring.Taken != 12 || st.Rate < 2 || st.Rate > 2.4 {
			t.Errorf("Stats() = %+v, want %+v", st, want)
		}
		src.fail(down)
		time.Sleep(time.Second)
		since := time.Now()
		for v := int64(13); v <= 30; v++ {
			mustNext(t, s, v)
		}
		time.Sleep(time.Hour)
		s.Next() // waits
		st := s.Stats()
		if st.Issued != 30 || st.RejectedTakes != 1 || st.Ranges != 3 || st.FailedTries < 3600 || st.FailedTries > 3740 || st.Ring.Fill != 0 ||
			!st.FailingSince.Equal(since) || !errors.Is(st.LastError, errDown) {
			t.Errorf("Stats() = %+v", st)
		}
		src.fail(nil)
		time.Sleep(2 * time.Second)
		failed := st.FailedTries
		if st := s.Stats(); st.LastError != nil || !st.FailingSince.IsZero() || st.FailedTries < failed || st.Ranges != 5 || st.Ring.Fill != 20 {
			t.Errorf("Stats() = %+v", st)
		}
	})
}

// exampleStats has a value in each field.
func exampleStats() Stats {
	return Stats{
		Tag: "a", Issued: 1, RejectedTakes: 2, Ranges: 3, FailedTries: 4, Step: 5, LastSize: 6, Rate: 8.5, End: 9, Limit: 10,
		FailingSince: time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC), LastError: errors.New(`x "y"`), Ring: ringbuffer.Stats{Fill: 7},
	}
}

func TestStatsJSON(t *testing.T) {
	const ring = `{"taken":0,"dropped":0,"rejected_takes":0,"rejected_puts":0,"paddings":{"initial":0,"immediate":0,"scheduled":0,"caller":0},` +
		`"failed_paddings":0,"fill":7,"fill_level":0,"fill_runs":0,"capacity_runs":0,"oldest":0,"newest":0}`
	for _, test := range []struct {
		st   Stats
		want string
	}{
		{exampleStats(), `{"tag":"a","issued":1,"rejected_takes":2,"ranges":3,"failed_tries":4,"step":5,"last_size":6,"rate":8.5,"end":9,"limit":10,` +
			`"failing_since":"2026-11-22T10:00:00Z","last_error":"x \"y\"","ring":` + ring + `}`},
		{Stats{}, `{"tag":"","issued":0,"rejected_takes":0,"ranges":0,"failed_tries":0,"step":0,"last_size":0,"rate":0,"end":0,"limit":0}`},
	} {
		if got, err := json.Marshal(test.st); err != nil || string(got) != test.want {
			t.Errorf("%s, %v; want %s", got, err, test.want)
		}
	}
	checkKeys(t, exampleStats(), reflect.TypeFor[Stats]().NumField())
}

// checkKeys checks that the JSON object of v and its log record have the same n keys, in snake case.
func checkKeys(t *testing.T, v interface {
	json.Marshaler
	slog.LogValuer
}, n int) {
	t.Helper()
	text, err := v.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil || len(fields) != n {
		t.Errorf("the JSON object has %d keys, want %d: %s, %v", len(fields), n, text, err)
	}
	attrs := v.LogValue().Group()
	if len(attrs) != n {
		t.Errorf("the log record has %d keys, want %d: %v", len(attrs), n, attrs)
	}
	for _, a := range attrs {
		if _, ok := fields[a.Key]; !ok || a.Key != strings.ToLower(a.Key) {
			t.Errorf("the key %q of the log record is not in %s", a.Key, text)
		}
	}
}

func TestStatsLogValue(t *testing.T) {
	var out bytes.Buffer
	slog.New(slog.NewTextHandler(&out, nil)).Info("x", "s", exampleStats())
	want := `s.tag=a s.issued=1 s.rejected_takes=2 s.ranges=3 s.failed_tries=4 s.step=5 s.last_size=6 s.rate=8.5 s.end=9 s.limit=10 ` +
		`s.failing_since=2026-11-22T10:00:00.000Z s.last_error="x \"y\"" s.ring.taken=0 `
	if !strings.Contains(out.String(), want) {
		t.Errorf("%s, want %s", out.String(), want)
	}
	out.Reset()
	slog.New(slog.NewTextHandler(&out, nil)).Info("x", "s", Stats{})
	if strings.Contains(out.String(), "since") || strings.Contains(out.String(), "error") || strings.Contains(out.String(), "ring") {
		t.Errorf("%s", out.String())
	}
}

// Stats of a source whose error has no text can be encoded.
func TestStatsOfErrorWithoutText(t *testing.T) {
	for _, err := range []error{panickingError{}, (*pathError)(nil)} {
		st := Stats{LastError: &sourceError{"a", "b", err}}
		if _, err := json.Marshal(st); err != nil {
			t.Error(err)
		}
		st.LogValue()
	}
}

package percpu

import (
	"errors"
	"testing"

	"github.com/ringuid/ringuid/uid"
)

// The statistics and the format are those of the Cached generator.
func TestStatsAndFormat(t *testing.T) {
	c := cached(t, "1-28-22-13")
	g := New(c)
	if f := g.Format(); f != c.Format() || f == (uid.Format{}) {
		t.Errorf("Format() = %v, want %v", f, c.Format())
	}
	const taken = 1000
	for range taken {
		if _, err := g.Next(); err != nil {
			t.Fatal(err)
		}
	}
	st, below := g.Stats(), c.Stats()
	if st.WorkerID != below.WorkerID || st.Format != c.Format() || !st.End.Equal(below.End) || st.LastError != nil || st.Fill == 0 {
		t.Errorf("Stats() = %+v, want %+v", st, below)
	}
	// What a block has left is issued too; there is no more of it than was taken, but for the
	// block that is in use, which is no longer than what was taken and one.
	if st.Issued < taken || st.Issued > 2*taken+uint64(g.count.Load()) {
		t.Errorf("Stats().Issued = %d after %d takes", st.Issued, taken)
	}
	g.Close()
	if after := g.Stats(); after.Issued < st.Issued || after.WorkerID != st.WorkerID {
		t.Errorf("Stats() = %+v after Close, and %+v before", after, st)
	}
	if g.Format() != c.Format() {
		t.Errorf("Format() = %v after Close", g.Format())
	}
}

// Where no call can succeed, the statistics say why; and none faults.
func TestStatsWithoutAGenerator(t *testing.T) {
	for name, tt := range map[string]struct {
		g    *Generator
		want error
	}{
		"nil":              {nil, ErrOption},
		"zero":             {new(Generator), ErrOption},
		"without a Cached": {New(nil), ErrOption},
		"of a zero Cached": {New(new(uid.Cached)), uid.ErrOption},
	} {
		if st := tt.g.Stats(); !errors.Is(st.LastError, tt.want) || st != (uid.Stats{LastError: st.LastError}) {
			t.Errorf("%s: Stats() = %+v, want %v alone", name, st, tt.want)
		}
		if f := tt.g.Format(); f != (uid.Format{}) {
			t.Errorf("%s: Format() = %v", name, f)
		}
	}
	c := cached(t, "1-28-22-13")
	g := New(c, WithMaxBlock(0))
	_, err := g.Next()
	if st := g.Stats(); err == nil || st.LastError != err || st.WorkerID != c.Stats().WorkerID {
		t.Errorf("with a bad option: Stats() = %+v, want the error %v", st, err)
	}
	if f := g.Format(); f != c.Format() {
		t.Errorf("with a bad option: Format() = %v", f)
	}
}

// A front can stand wherever the interface is asked for.
func TestGeneratorInterface(t *testing.T) {
	var g uid.Generator = New(cached(t, "1-28-22-13"))
	id, err := g.NextContext(t.Context())
	if err != nil || g.Format().Parse(id) != g.Parse(id) || g.Stats().Issued == 0 {
		t.Errorf("NextContext() = %d, %v", id, err)
	}
}

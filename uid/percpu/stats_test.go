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
	if st.WorkerID != below.WorkerID || st.Format != c.Format() || !st.End.Equal(below.End) || st.Ring.LastError != nil || st.Ring.Fill == 0 {
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

// Without a Cached generator there are no statistics, and none faults.
func TestStatsWithoutAGenerator(t *testing.T) {
	for name, g := range map[string]*Generator{"nil": nil, "zero": new(Generator), "without a Cached": New(nil), "of a zero Cached": New(new(uid.Cached))} {
		if st, f := g.Stats(), g.Format(); st != (uid.Stats{}) || f != (uid.Format{}) {
			t.Errorf("%s: Stats() = %+v, Format() = %v", name, st, f)
		}
		if h := g.Health(); !errors.Is(h.Err, ErrOption) && !errors.Is(h.Err, uid.ErrOption) {
			t.Errorf("%s: Health() = %v", name, h)
		}
	}
	c := cached(t, "1-28-22-13")
	g := New(c, WithMaxBlock(0))
	_, err := g.Next()
	if st, h := g.Stats(), g.Health(); err == nil || h.Err != err || st.WorkerID != c.Stats().WorkerID || g.Format() != c.Format() {
		t.Errorf("with a bad option: Stats() = %+v, Health() = %v, Next() = %v", st, h, err)
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

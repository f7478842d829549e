package percpu

import (
	"errors"
	"testing"

	"github.com/ringuid/ringuid/uid"
)

// Health is the Cached generator's, or the error that each call returns.
func TestHealth(t *testing.T) {
	c := cached(t, "1-28-22-13")
	g := New(c)
	if h := g.Health(); !h.OK() || h.Bounded || !h.Until.Equal(c.Format().End()) {
		t.Errorf("Health() = %+v", h)
	}
	g.Close()
	if h := g.Health(); h.Err != uid.ErrClosed {
		t.Errorf("after Close: Health() = %+v", h)
	}
	for name, g := range map[string]*Generator{"nil": nil, "zero": {}, "no Cached": New(nil), "an invalid option": New(c, nil)} {
		if h := g.Health(); h.OK() || !errors.Is(h.Err, ErrOption) {
			t.Errorf("%s: Health() = %+v; want ErrOption", name, h)
		}
	}
}

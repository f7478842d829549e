package recycled_test

import (
	"testing"
	"time"

	"github.com/ringuid/ringuid/workerassign/recycled"
)

// R2: a slot may be replaced by its next revision, if what is replaced is as the caller has read it.
func TestRule2Replaces(t *testing.T) {
	at, none := time.UnixMilli(1_800_000_000_000), recycled.Slot{}
	have := recycled.Slot{Revision: 4, Token: "t", Until: at}
	for _, c := range []struct {
		revision int64
		have     recycled.Slot
		replaced recycled.Slot
		want     bool
	}{
		{5, have, have, true},
		{5, have, recycled.Slot{Revision: 4, Token: "t", Until: at.In(time.FixedZone("", 3600))}, true},
		{5, have, recycled.Slot{Revision: 4, Token: "u", Until: at}, false},
		{5, have, recycled.Slot{Revision: 4, Token: "t", Until: at.Add(1)}, false},
		{5, have, none, false}, {4, have, have, false}, {6, have, have, false},
		{1, none, none, true}, {1, none, have, true}, {2, none, none, false}, {1, have, none, false}, {1, have, have, false},
	} {
		w := recycled.Write{Slots: []recycled.Slot{{Revision: c.revision}}, Replaced: []recycled.Slot{c.replaced}}
		if got := w.Replaces(0, c.have); got != c.want {
			t.Errorf("revision %d replaces %+v, read as %+v: %v, want %v", c.revision, c.have, c.replaced, got, c.want)
		}
	}
}

// R2, R7: the same for a pool.
func TestRule2ReplacesPool(t *testing.T) {
	at := time.UnixMilli(1_800_000_000_000)
	have := recycled.Pool{Revision: 4, History: "h", Since: at, Floor: at.Add(time.Second), Slots: 9}
	change := func(f func(p *recycled.Pool)) *recycled.Pool {
		p := have
		f(&p)
		return &p
	}
	for name, c := range map[string]struct {
		revision int64
		have     recycled.Pool
		replaced *recycled.Pool
		want     bool
	}{
		"the same":              {5, have, &have, true},
		"the same time":         {5, have, change(func(p *recycled.Pool) { p.Since, p.Floor = p.Since.UTC(), p.Floor.UTC() }), true},
		"another history":       {5, have, change(func(p *recycled.Pool) { p.History = "i" }), false},
		"another since":         {5, have, change(func(p *recycled.Pool) { p.Since = at.Add(1) }), false},
		"another floor":         {5, have, change(func(p *recycled.Pool) { p.Floor = at }), false},
		"other slots":           {5, have, change(func(p *recycled.Pool) { p.Slots = 8 }), false},
		"the revision before":   {4, have, &have, false},
		"a revision after":      {6, have, &have, false},
		"new":                   {1, recycled.Pool{}, nil, true},
		"new, whatever":         {1, recycled.Pool{}, &have, true},
		"new, but there is one": {1, have, nil, false},
	} {
		w := recycled.Write{Pool: &recycled.Pool{Revision: c.revision}, ReplacedPool: c.replaced}
		if got := w.ReplacesPool(c.have); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

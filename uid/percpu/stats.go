package percpu

import "github.com/ringuid/ringuid/uid"

// Stats returns the snapshot of the Cached generator: of all that it issued, by this Generator and
// by other ways. Issued counts a UID when it is claimed for a block: so it includes the UIDs that Ps
// hold in their blocks and those that have become gaps, and may exceed the number of UIDs that Next
// returned. Without a Cached generator it returns the zero Stats. Stats does not delay Next.
func (g *Generator) Stats() uid.Stats {
	if g == nil {
		return uid.Stats{}
	}
	return g.from.Stats() // of a nil one, the zero Stats
}

// Format returns the layout, the epoch and the time unit of the Cached generator's UIDs; the zero
// Format if there is none.
func (g *Generator) Format() uid.Format {
	if g == nil {
		return uid.Format{}
	}
	return g.from.Format() // of a nil one, the zero Format
}

// Health reports whether the Cached generator returns UIDs now, and for how long it will without the
// assigner's store. If no call can succeed, its error is the one that Next returns, which wraps
// ErrOption. A P that has a block may return UIDs of it although the Cached generator is not OK.
func (g *Generator) Health() uid.Health {
	switch {
	case g == nil || g.err == nil && g.from == nil:
		return uid.Health{Err: errNotMade}
	case g.err != nil:
		return uid.Health{Err: g.err}
	}
	return g.from.Health()
}

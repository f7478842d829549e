//go:build linux && amd64

package clonetest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit/clonetest/setup"
)

// taker is who has taken a UID.
type taker struct {
	h     *history // nil: a generator on the host
	n     int      // the number of the generator
	phase int
}

// check fails the test if a UID came twice, except from one generator in two copies, by takes that began before the copy has lost its
// lease or Renew has returned. The first history is the original, the others are the copies. The generators of one assigner are those of
// one source. Of a leased generator, one copy keeps the lease, which the others must not have released.
func check(t *testing.T, all []*history, third map[string][]int64) {
	t.Helper()
	takers, failures, workerIDs := map[string][]taker{}, 0, map[string]bool{}
	fail := func(format string, args ...any) {
		if failures++; failures < 20 {
			t.Errorf(format, args...)
		}
	}
	worker := func(assigner string, id int64) string { return fmt.Sprint(assigner, id>>13&(1<<20-1)) }
	add := func(assigner string, id int64, w taker) {
		key := fmt.Sprint(assigner, " ", id)
		for _, o := range takers[key] {
			switch {
			case o.h == nil || w.h == nil:
				fail("%s came twice, in %v and in %v; one of them is another process", key, o, w)
			case o.h == all[0] || w.h == all[0]:
				fail("%s came twice, before and after the machine was copied: %v, %v", key, o, w)
			case o.n != w.n:
				fail("%s came from two generators: %v, %v", key, o, w)
			case max(o.phase, w.phase) >= setup.Lost:
				fail("%s came twice, from generator %v, in %s in the phase %d and in %s in the phase %d", key, w.h.generators[w.n], o.h.name, o.phase, w.h.name, w.phase)
			}
		}
		takers[key] = append(takers[key], w)
	}
	for _, h := range all {
		for n, g := range h.generators {
			if g.group == "renewed" && g.isRefused() && g.inPhase[setup.Renewed] > 0 {
				fail("%s: %v has returned %d UIDs after Renew", h.name, g, g.inPhase[setup.Renewed])
			}
			for id, taken := range g.taken {
				add(g.assigner, id, taker{h, n, taken.phase})
				workerIDs[worker(g.assigner, id)] = true
			}
		}
	}
	again := map[string]bool{}
	for assigner, ids := range third {
		for _, id := range ids {
			add(assigner, id, taker{})
			if key := worker(assigner, id); workerIDs[key] {
				again[key] = true
			}
		}
	}
	for n, g := range all[1].generators {
		voids := 0
		for _, h := range all[1:] {
			if !h.generators[n].voidAt.IsZero() {
				voids++
			}
		}
		if isPlain(g) && g.isLeased() && voids != len(all)-2 {
			fail("%v: %d of %d copies have found the lease void; all but the one that extended it first must", g, voids, len(all)-1)
		}
	}
	if len(again) == 0 {
		t.Error("no generator on the host has a worker ID that a copy has released")
	}
	t.Logf("generators on the host had %d worker IDs of copies", len(again))
}

// result is how many UIDs of a generator came twice.
type result struct {
	twice, of int
	last      time.Duration // after the resume
}

func (r result) String() string {
	if r.twice == 0 {
		return fmt.Sprintf("0 of %d", r.of)
	}
	return fmt.Sprintf("%d of %d, the last after %.1f s", r.twice, r.of, r.last.Seconds())
}

// compare returns which UIDs of a generator in one copy came twice, of those that it has taken in the given phases.
func compare(n, from, to int, h *history, others ...*history) (r result) {
	for id, taken := range h.generators[n].taken {
		if taken.phase < from || taken.phase > to {
			continue
		}
		r.of++
		for _, o := range others {
			// In the phase Started, a UID may have been taken before the snapshot, and printed later.
			if other, ok := o.generators[n].taken[id]; ok && other.phase != setup.Started {
				r.twice, r.last = r.twice+1, max(r.last, taken.at.Sub(h.machine.resumed))
				break
			}
		}
	}
	return r
}

// logTable logs the table of doc/internals/fleet.md, and what Renew has returned.
func logTable(t *testing.T, pair []*history, later *history) {
	t.Helper()
	var table, texts strings.Builder
	for n, g := range later.generators {
		if g.group == "plain" {
			continue
		}
		without := "| |"
		if !g.isStrict() {
			p := n - 1 // the plain one of the same kind
			one, two := compare(p, setup.Copied, setup.Renewed, pair[0], pair[1]), compare(p, setup.Copied, setup.Renewed, pair[1], pair[0])
			one.last = max(one.last, two.last)
			without = fmt.Sprintf("%v | %v |", one, compare(p, setup.Copied, setup.Renewed, later, pair...))
		}
		with := func(h *history, others ...*history) string {
			g := h.generators[n]
			before, after := compare(n, setup.Copied, setup.Lost, h, others...), compare(n, setup.Renewed, setup.Renewed, h, others...)
			return fmt.Sprintf("%d of %d; %s after %.1f s; %v", before.twice, before.of, g.renewed, g.renewedAt.Sub(h.machine.resumed).Seconds(), after)
		}
		fmt.Fprintf(&table, "| %s, %s | %s %s | %s |\n", g.assigner, g.kind, without, with(pair[0], pair[1], later), with(later, pair...))
		if g.renewErr != "" {
			fmt.Fprintf(&texts, "%v: %s\n", g, g.renewErr)
		}
	}
	t.Logf("what came twice:\n%s\nwhat Renew returned in the later copy:\n%s", table.String(), texts.String())
}

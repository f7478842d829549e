// Package doctor examines the stores that assign worker IDs and numbers of segments. Examine changes nothing that a store keeps,
// except that ZooKeeper's clock is read by a write to the znode clock, as generators do. For a file, it writes a small file in the
// directory, and removes it.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/ringuid/ringuid/cmd/ringuid/internal/connect"
	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// Level says how urgent a Finding is.
type Level string

// The levels, from the least urgent one to the most urgent one.
const (
	OK      Level = "ok"      // it is as it should be
	Info    Level = "info"    // it is neither good nor bad, or cannot be examined
	Warning Level = "warning" // it can lead to a fault
	Fault   Level = "fault"   // generators fail, or will soon, or UIDs can be generated twice
)

// A Finding is the result of one check.
type Finding struct {
	Level  Level  `json:"level"`
	Check  string `json:"check"` // what was checked, in one or two words
	Text   string `json:"text"`
	Advice string `json:"advice,omitempty"` // what to do
}

// ReachableAdvice is the Advice of the Finding that a store cannot be reached.
const ReachableAdvice = "check the address, the server and the network, and the account"

// Options say what the store is used for.
type Options struct {
	Format    uid.Format // of the generators; it must not be the zero value
	FormatSet bool       // whether the user has chosen Format, and a pool of another format is a mistake
	Wrappers  string     // what workerassign.Prefix and Divide add to the format: see workerassign.Request; "" if it is not known
	Now       func() time.Time
}

// Examine examines a store. It blocks until all checks are done or ctx ends; a check that fails is a Finding. It reports each
// Finding as soon as there is one.
func Examine(ctx context.Context, s *connect.Store, o Options, report func(Finding)) {
	e := &examination{ctx: ctx, store: s, options: o, report: report, wrapBits: wrapBits(o.Wrappers)}
	begin := o.Now()
	switch err := s.Ping(ctx); {
	case err != nil && s.Kind() == connect.File:
		e.fault("reachable", "create the directory, which must be on persistent storage, or correct the path", "%v", err)
		return
	case err != nil:
		e.fault("reachable", ReachableAdvice, "%v", err)
		return
	case s.Kind() == connect.File:
		e.ok("reachable", "the directory of %s exists", s)
		e.file()
		return
	}
	e.ok("reachable", "%s answered in %v", s, o.Now().Sub(begin).Round(100*time.Microsecond))
	switch s.Kind() {
	case connect.MySQL, connect.PostgreSQL:
		e.database()
	case connect.Redis:
		e.redis()
	case connect.ZooKeeper:
		e.zookeeper()
	case connect.Etcd:
		e.etcd()
	}
}

// An examination is one call of Examine.
type examination struct {
	ctx     context.Context
	store   *connect.Store
	options Options
	report  func(Finding)

	wrapBits int // how many of the worker bits Prefix and Divide use: those of the options, or of the pool
}

func (e *examination) add(level Level, check, advice, format string, args ...any) {
	e.report(Finding{Level: level, Check: check, Text: fmt.Sprintf(format, args...), Advice: advice})
}

func (e *examination) ok(check, format string, args ...any) { e.add(OK, check, "", format, args...) }
func (e *examination) info(check, format string, args ...any) {
	e.add(Info, check, "", format, args...)
}
func (e *examination) warn(check, advice, format string, args ...any) {
	e.add(Warning, check, advice, format, args...)
}
func (e *examination) fault(check, advice, format string, args ...any) {
	e.add(Fault, check, advice, format, args...)
}

// clock compares this host's clock with the store's, which was read between sent and received.
func (e *examination) clock(now, sent, received time.Time) {
	bound := workerassign.DefaultClockBound
	if set := e.store.Options().ClockBound; set > 0 {
		bound = set
	}
	roundTrip := received.Sub(sent)
	ahead := now.Sub(sent.Add(roundTrip / 2)).Round(time.Millisecond)
	relation := "ahead of"
	if ahead < 0 {
		ahead, relation = -ahead, "behind"
	}
	text := fmt.Sprintf("the store's clock is %v %s this host's (give or take %v): %s", ahead, relation, (roundTrip / 2).Round(time.Microsecond*100), now.UTC().Format(time.RFC3339))
	const advice = "find the wrong clock by a third one, and synchronize it (NTP)"
	switch {
	case ahead > bound+roundTrip:
		e.fault("clock", advice, "%s; recycled worker IDs allow %v", text, bound)
	case ahead > bound/5+roundTrip/2:
		e.warn("clock", advice, "%s; recycled worker IDs allow %v", text, bound)
	default:
		e.ok("clock", "%s", text)
	}
}

// end says when the time bits of a format end.
func (e *examination) end(f uid.Format) {
	left := f.End().Unix() - e.options.Now().Unix() // in seconds: a time.Duration ends after 292 years
	const advice = "change the format before that: ringuid move checks a change"
	text := fmt.Sprintf("the time bits of %s end at %s", f, f.End().Format(time.RFC3339))
	const day, year = 86400, 365 * 86400
	switch {
	case left <= 0:
		e.fault("end", "change the format: ringuid move checks a change", "the time bits of %s have ended at %s: no generator works", f, f.End().Format(time.RFC3339))
	case left < year:
		e.warn("end", advice, "%s, in %d days", text, left/day)
	default:
		e.ok("end", "%s, in %.1f years", text, float64(left)/year)
	}
}

// maxWorkerID returns the greatest worker ID that the store may assign.
func (e *examination) maxWorkerID() int64 {
	return e.options.Format.Layout().MaxWorkerID() >> e.wrapBits
}

// left says how many worker IDs are left, and when they end at a rate per day, which is 0 if it is not known.
func (e *examination) left(used, supply int64, perDay float64) {
	if supply < 1 {
		e.fault("worker IDs", "use fewer bits for them, or a layout with more worker bits", "Prefix and Divide use %d bits, and the layout %v has %d worker bits: none are left for the store",
			e.wrapBits, e.options.Format.Layout(), e.options.Format.Layout().WorkerBits())
		return
	}
	remaining := max(supply-used, 0)
	text := fmt.Sprintf("%d of %d worker IDs of the layout %v are used, %d are left (%.1f %%)", used, supply, e.options.Format.Layout(), remaining, 100*float64(remaining)/float64(supply))
	days := -1.0
	if perDay > 0 {
		days = float64(remaining) / perDay
		when := "not within 100 years"
		if days < 36525 {
			when = e.options.Now().Add(time.Duration(days * 24 * float64(time.Hour))).UTC().Format(time.DateOnly)
		}
		text += fmt.Sprintf("; at about %s per day, the rate of the last 30 days, they end: %s", roughly(perDay), when)
	}
	if n := e.wrapBits; n > 0 {
		text += fmt.Sprintf("; %d of the worker bits belong to Prefix or Divide", n)
	}
	const advice = "use a layout with more worker bits (ringuid move checks the change), or worker IDs that are used again"
	switch {
	case remaining == 0:
		e.fault("worker IDs", advice, "%s", text)
	case float64(remaining) < 0.1*float64(supply) || days >= 0 && days < 365:
		e.warn("worker IDs", advice, "%s", text)
	default:
		e.ok("worker IDs", "%s", text)
	}
}

// roughly returns a positive number with two significant digits: the age of a row, from which a rate is calculated, is not exact.
func roughly(x float64) string {
	x, _ = strconv.ParseFloat(strconv.FormatFloat(x, 'e', 1, 64), 64) // of a text that it can parse
	return strconv.FormatFloat(x, 'f', -1, 64)
}

// failed reports an error of a check that could not be made.
func (e *examination) failed(check string, err error) {
	advice := "see the text of the error"
	if e.ctx.Err() != nil {
		advice = "the time was not enough: raise --timeout, or check the server"
	}
	if errors.Is(err, recycled.ErrPool) || errors.Is(err, workerassign.ErrCorrupt) {
		advice = "see doc/runbook.md"
	}
	e.fault(check, advice, "%v", err)
}

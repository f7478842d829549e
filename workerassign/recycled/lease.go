package recycled

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ringuid/ringuid/internal/backoff"
	"github.com/ringuid/ringuid/internal/errmask"
	"github.com/ringuid/ringuid/internal/millis"
	"github.com/ringuid/ringuid/internal/safelog"
	"github.com/ringuid/ringuid/workerassign"
)

// slotLease is a lease on a slot. An Assigner returns it, and Saved extends its own lease by one.
type slotLease struct {
	recycled *Assigner
	req      workerassign.Request
	workerID int64
	from     time.Time
	horizon  time.Duration // of its grants
	former   Slot          // as it was when this lease was taken; zero if the slot was added, or is not known

	mu       sync.Mutex
	released bool
	used     time.Time // by the generator, up to then, if it has released the lease
	void     error     // why what was granted is void; nil if it is not
	slot     Slot      // as the store has acknowledged it last
	tokens   []string  // one of which the slot has: the acknowledged one, and then those of writes whose outcome is not known
}

// newSlotLease returns the lease on a slot that the store has acknowledged. tokens begins with that of the slot.
func newSlotLease(r *Assigner, req workerassign.Request, p Pool, slot Slot, tokens ...string) *slotLease {
	return &slotLease{recycled: r, req: req, workerID: slot.WorkerID, from: slot.From, horizon: p.Horizon - r.cfg.clockBound,
		slot: slot, tokens: tokens}
}

// WorkerID implements Lease.
func (l *slotLease) WorkerID() int64 { return l.workerID }

// NotBefore implements Lease: what was granted before ends here (R3).
func (l *slotLease) NotBefore() time.Time { return l.from }

// Reserve implements Lease.
func (l *slotLease) Reserve(ctx context.Context, until time.Time) (workerassign.Grant, error) {
	l.mu.Lock()
	released, void := l.released, l.void
	l.mu.Unlock()
	switch {
	case released:
		return workerassign.Grant{}, workerassign.ErrReleased
	case void != nil:
		return workerassign.Grant{}, void
	}
	slot, err := l.swap(ctx, extending, func(s State, old Slot, next *Slot) (bool, error) {
		l.recycled.found(s.Pool) // an operator may have raised the horizon
		next.Until = millis.Later(next.Until, millis.Earlier(millis.Up(until), l.limit(s, s.Pool.Horizon)))
		isAcknowledged := old.Until.Equal(l.known().Until)
		return !isAcknowledged || next.Until.After(old.Until) || l.recycled.isAging(s, old), nil
	})
	if err != nil {
		return workerassign.Grant{}, err
	}
	return workerassign.Grant{Until: slot.Until, Horizon: l.horizon}, nil
}

// limit returns the end of what may be granted, if a grant reaches so far beyond the store's clock (R6). That is the clock of the read,
// which is earlier than the write. A lease that begins before the floor is not extended beyond it: RaiseFloor is ending the lease.
func (l *slotLease) limit(s State, span time.Duration) time.Time {
	limit := millis.Down(s.Now.Add(span))
	if l.from.Before(s.Pool.Floor) {
		return millis.Earlier(limit, s.Pool.Floor)
	}
	return limit
}

// Release implements Lease. It gives the rest of the span to the next lease.
func (l *slotLease) Release(ctx context.Context, used time.Time) error {
	l.mu.Lock()
	isDone := l.released || l.void != nil
	if !isDone {
		l.used = millis.Up(used)
	}
	l.released = true
	l.mu.Unlock()
	if isDone {
		return nil
	}
	_, err := l.swap(ctx, releasing, func(s State, old Slot, next *Slot) (bool, error) {
		next.Token = ""
		next.Until = millis.Later(old.From, millis.Earlier(millis.Up(used), next.Until)) // R1
		return old.Token != "", nil                                                      // it is "" if the reply to this write was lost
	})
	if isTaken(err) && !errors.Is(err, workerassign.ErrVoid) {
		return nil // another has taken it, or an operator raised the floor
	}
	return err
}

// What swap is for, in errors.
const (
	extending = "extend"
	releasing = "release"
)

// swap reads the slot, checks that it is this lease's, and replaces it (R2). change sets what next grants: it has a fresh
// token and no less until than was granted (R1). It returns false if nothing is to be written. swap returns the slot as it is
// then.
//
// Each try has a token of its own (R4): after an error of the write, which may have been made or be made later, the next read
// shows which one the slot has. A second error ends swap. A read does not prove that what it returns is durable, so what an
// unacknowledged write has granted must be written again.
func (l *slotLease) swap(ctx context.Context, action string, change func(s State, old Slot, next *Slot) (bool, error)) (Slot, error) {
	retry := newSwapRetry()
	for failures := 0; ; {
		sent := l.req.Time()
		s, err := l.readSlot(ctx)
		if err != nil {
			return Slot{}, l.storeError(action, err)
		}
		if err := l.check(ctx, s, sent, action); err != nil {
			return Slot{}, err
		}
		old := s.Slots[0]
		next := old
		next.Token = nextToken(leaseOf(old.Token), s.Now)
		next.Until = millis.Later(old.Until, l.known().Until)
		if write, err := change(s, old, &next); err != nil || !write {
			return old, err
		}
		l.try(next.Token)
		next, written, err := l.recycled.swapSlot(ctx, s, old, next)
		switch {
		case err != nil:
			if failures++; ctx.Err() != nil || failures > 1 {
				return Slot{}, l.storeError(action, err)
			}
			continue
		case written:
			l.acknowledge(next)
			return next, nil
		}
		l.refuse(next.Token)
		if err := retry.wait(ctx); err != nil {
			return Slot{}, l.storeError(action, err)
		}
	}
}

// swapRetry pauses after writes that returned false. The next read usually returns the state that the write
// met; but a store may return an older state for a moment.
type swapRetry struct {
	pauses   backoff.Pauses
	attempts int
}

func newSwapRetry() *swapRetry {
	return &swapRetry{pauses: backoff.Pauses{Initial: 5 * time.Millisecond, Maximum: 200 * time.Millisecond}}
}

// wait returns the error of ctx if that ends first.
func (r *swapRetry) wait(ctx context.Context) error {
	r.attempts++
	return backoff.Sleep(ctx, r.pauses.After(r.attempts))
}

// isAging reports whether a slot that cannot be extended must be written nevertheless, because its last
// write is so old that it would soon become free.
func (r *Assigner) isAging(s State, slot Slot) bool {
	return millis.Later(slot.Until, slot.Written).Add(r.cfg.grace(s.Pool) / 2).Before(s.Now)
}

// check returns an error if the slot that was read is not this lease's any more, or must not be extended. If what was
// granted is void, it records and logs that.
func (l *slotLease) check(ctx context.Context, s State, sent time.Time, action string) error {
	if len(s.Slots) != 1 {
		// R7: after a failover the slot may be missing because the write that added it was lost.
		l.noteHistoryUnlessSkewed(ctx, s, sent)
		return fmt.Errorf("%w: %w", workerassign.ErrLeaseLost, missingSlotError(s.Pool, l.workerID))
	}
	slot, known := s.Slots[0], l.known()
	lost := l.lost(s.Pool, slot)
	isCopys := lost != nil && leaseOf(slot.Token) == leaseOf(known.Token) // a copy has a part of the grant, whatever the history is
	now := s.Pool.leaseHistory()
	if !isCopys && (s.Pool.History != s.History || slot.History != now || lost != nil && known.History != now) { // R7
		if action == releasing {
			if lost != nil {
				lost.void = false // as for an extension: the floor of R7 is later than the grant
			}
			return lost.orNil()
		}
		l.noteHistoryUnlessSkewed(ctx, s, sent)
		return fmt.Errorf("%w: worker ID %d was leased under the history %q of the store, which has now %q: another may have held it in between",
			workerassign.ErrLeaseLost, l.workerID, known.History, s.History)
	}
	if lost != nil && lost.void {
		l.mu.Lock()
		l.void = lost
		l.mu.Unlock()
		log := safelog.NewQueue(l.recycled.cfg.loggerFor(l.req)) // it writes by itself: nothing may be stamped while the logger is slow
		log.Log(slog.LevelError, "recycled: another process may hold what a lease was granted; UIDs may have been generated twice",
			"store", l.recycled.store.String(), "worker_id", l.workerID, "err", lost)
	}
	return lost.orNil()
}

// A lostSlotError says why a slot is not the lease's any more, although the store has lost no writes that it knows of.
type lostSlotError struct {
	text string
	void bool // what was granted is void
}

// Error implements error.
func (e *lostSlotError) Error() string {
	if e.void {
		return workerassign.ErrVoid.Error() + ": " + e.text
	}
	return workerassign.ErrLeaseLost.Error() + ": " + e.text
}

// Is reports whether target is workerassign.ErrLeaseLost or, if the grant is void, workerassign.ErrVoid.
func (e *lostSlotError) Is(target error) bool {
	return target == workerassign.ErrLeaseLost || e.void && target == workerassign.ErrVoid
}

// isTaken reports whether a swap failed because the slot is not the lease's any more.
func isTaken(err error) bool {
	lost := (*lostSlotError)(nil)
	return errors.As(err, &lost)
}

// orNil returns e as an error that is nil if e is.
func (e *lostSlotError) orNil() error {
	if e == nil {
		return nil
	}
	return e
}

// lost returns what it means that the slot does not have a token of this lease; nil if it has one, or if the store shows an older
// state of this lease, because it has lost an extension. What was granted is void if another process may have a part
// of it: a copy of this one, or a lease that begins before its end (R4).
func (l *slotLease) lost(p Pool, slot Slot) *lostSlotError {
	l.mu.Lock()
	known, tokens, end := l.slot, l.tokens, l.slot.Until
	if slices.Contains(tokens, "") { // the reply to a release was lost, so the rest of the span may be another's
		end = millis.Earlier(end, l.used)
	}
	l.mu.Unlock()
	isOld := slot.Revision < known.Revision
	isSameLease := slot.Token != "" && leaseOf(slot.Token) == leaseOf(known.Token)
	isReleased := slot.Token == "" && slot.From.Equal(l.from)
	// A slot that was written again after the store had lost this lease was written later, as far as clocks agree (M).
	wasBefore := slot.Written.Before(tokenTime(known.Token).Add(-p.Skew))
	// The former lease, before its release lowered its end. One that begins where it did is written later.
	isFormer := slot.From.Equal(l.former.From) && !slot.Written.After(l.former.Written)
	h, written := slot.Holder, slot.Written.UTC().Format(time.RFC3339Nano)
	switch {
	case slices.Contains(tokens, slot.Token), isSameLease && isOld:
		return nil
	case isSameLease && slices.Contains(tokens, forgottenTokens):
		return &lostSlotError{text: fmt.Sprintf("the slot of worker ID %d was written at %s, after many tries to extend the lease that had no answer: "+
			"a try that had no answer was made late, or a copy of this process has extended the lease", slot.WorkerID, written)}
	case isSameLease:
		return &lostSlotError{void: true, text: fmt.Sprintf("a copy of this process has extended the lease of worker ID %d (host %q, process %q) at %s: "+
			"a process must not be resumed more than once", slot.WorkerID, h.Host, h.Process, written)}
	case isOld && (wasBefore || isFormer || !slot.Until.After(l.from) && (slot.Token == "" || slot.From.Before(l.from))):
		return &lostSlotError{text: fmt.Sprintf("the store shows an old state of the slot of worker ID %d, revision %d, although this lease has written revision %d: "+
			"it has lost writes, or a server is behind", slot.WorkerID, slot.Revision, known.Revision)}
	case isReleased && !p.Floor.Before(millis.Later(slot.Until, known.Until)):
		return &lostSlotError{text: fmt.Sprintf("the lease of worker ID %d was ended in the store at %s: an operator raised the floor", slot.WorkerID, written)}
	case !slot.From.Before(known.Until), !isReleased && !slot.From.Before(end):
		return &lostSlotError{text: fmt.Sprintf("worker ID %d was taken by %q (host %q, process %q) at %s",
			slot.WorkerID, h.Name, h.Host, h.Process, h.Since.UTC().Format(time.RFC3339Nano))}
	case isReleased && !isOld:
		return &lostSlotError{void: true, text: fmt.Sprintf("the lease of worker ID %d was released in the store at %s, and not by this process: a copy of it was closed, "+
			"or RaiseFloor was called with a floor before the end of the lease", slot.WorkerID, written)}
	}
	return &lostSlotError{void: true, text: fmt.Sprintf("worker ID %d was leased again from %s on (%q, host %q, process %q), although this lease was granted until %s: "+
		"the store has lost writes that it had acknowledged (a restored backup, etcd's --force-new-cluster, or a server that took over without them), "+
		"or a copy of this process has released it", slot.WorkerID, slot.From.UTC().Format(time.RFC3339Nano), h.Name, h.Host, h.Process, known.Until.UTC().Format(time.RFC3339Nano))}
}

// leaseToken returns the token that takes a slot. now is the store's clock, because two copies of a process may draw the same
// random numbers.
func leaseToken(now time.Time) string {
	return strconv.FormatInt(now.UnixMicro(), 36) + "-" + rand.Text()
}

// tokenTime returns the store's clock when the lease was taken that has a token; the zero time if the token does not have it.
func tokenTime(token string) time.Time {
	at, _, _ := strings.Cut(token, "-")
	micros, err := strconv.ParseInt(at, 36, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMicro(micros)
}

// nextToken returns a fresh token, which extends the lease that began with the token lease. It has at most 64 bytes: a store may
// have a column for it.
func nextToken(lease string, now time.Time) string { return lease + "." + leaseToken(now)[:24] }

// leaseOf returns the token with which the lease began that has a token.
func leaseOf(token string) string {
	lease, _, _ := strings.Cut(token, ".")
	return lease
}

// maxTokens bounds the tokens of a lease. If more writes than that have an unknown outcome, a late one may cost the lease.
const maxTokens = 16

// forgottenTokens stands among the tokens of a lease for those that were forgotten.
const forgottenTokens = "forgotten"

// withToken returns tokens with another one. The first one, which was acknowledged, remains.
func withToken(tokens []string, token string) []string {
	tokens = append(slices.Clone(tokens), token)
	if extra := len(tokens) - maxTokens; extra > 0 {
		tokens = slices.Replace(tokens, 1, 2+extra, forgottenTokens)
	}
	return tokens
}

// known returns the slot as the store has acknowledged it last.
func (l *slotLease) known() Slot {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.slot
}

// try records the token of a write.
func (l *slotLease) try(token string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tokens = withToken(l.tokens, token)
}

// refuse forgets the token of a write that was not made: if the slot has it nevertheless, a copy has written it. It forgets one of
// equal tokens: the writes of Release have none, and an earlier one of them may still be made.
func (l *slotLease) refuse(token string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.Index(l.tokens, token); i >= 0 {
		l.tokens = slices.Delete(slices.Clone(l.tokens), i, i+1)
	}
}

// acknowledge records what the store has acknowledged.
func (l *slotLease) acknowledge(slot Slot) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.slot, l.tokens = slot, []string{slot.Token}
}

// noteHistoryUnlessSkewed is noteHistory, unless the clocks of the store and of this host differ by more than the
// bound (R8). A floor that follows from a clock that is behind would be too early. Assign reports the clocks, and notes
// the history when they are right again. s was requested when this host's clock showed sent.
func (l *slotLease) noteHistoryUnlessSkewed(ctx context.Context, s State, sent time.Time) {
	if l.recycled.checkClock(s, sent, l.req.Time()) == nil {
		l.noteHistory(ctx, s)
	}
}

// noteHistory gives the pool its floor, if nobody has yet, so that the floor comes from a time that is
// close to the change.
func (l *slotLease) noteHistory(ctx context.Context, s State) {
	if s.Pool.Revision == 0 || s.Pool.History == s.History || s.ReadOnly || s.Pool.checkDurations() != nil {
		return
	}
	log := safelog.NewQueue(l.recycled.cfg.loggerFor(l.req))
	defer log.Flush(safelog.FlushTimeout)
	_, _ = l.recycled.noteHistory(ctx, log, s, s.Pool) // if it fails, the next Assign does it
}

// storeError returns an error of the store with what it kept from being done. An error of another lease, which code of the user that
// the store calls may return, says nothing about this one.
func (l *slotLease) storeError(action string, err error) error {
	err = errmask.Mask(err, workerassign.ErrLeaseLost, workerassign.ErrVoid, (*lostSlotError)(nil))
	return fmt.Errorf("recycled: cannot %s the slot of worker ID %d in %s: %w", action, l.workerID, l.recycled.store.String(), err)
}

// maxStaleReads is how many times a lease reads its slot again if it reads an older state than it has written.
const maxStaleReads = 5

// readSlot reads the slot. If the store returns an older state than this lease has written, it reads again some
// times, so that a store which is a moment behind does not cost the lease.
func (l *slotLease) readSlot(ctx context.Context) (State, error) {
	known := l.known()
	for retry := newSwapRetry(); ; {
		s, err := l.recycled.store.Read(ctx, Query{WorkerIDs: []int64{l.workerID}})
		if err != nil {
			return s, err
		}
		sameHistory := s.Pool.History == s.History && s.Pool.leaseHistory() == known.History
		if isBehind := len(s.Slots) == 0 || s.Slots[0].Revision < known.Revision; !sameHistory || !isBehind || retry.attempts == maxStaleReads {
			return s, nil
		}
		if err := retry.wait(ctx); err != nil {
			return s, err
		}
	}
}

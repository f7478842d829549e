package recycled

import (
	"context"
	"time"
)

// A Store keeps the slots of one pool: the worker IDs of one fleet, which an Assigner leases and uses
// again. A store does little: it reads and compares and swaps. The Assigner does the rest, with the rules R1
// to R8 of doc/internals/design.md, section 8.
//
// A program may implement it: package assigntest tests whether a store fulfils its contract, and package storetest does
// that with a store that has tags too. No method will be added.
//
// All methods are safe for concurrent use, by any number of processes and hosts. They may block until
// ctx ends. After an error, nothing is assumed about what the store has done.
//
// # What a store must guarantee
//
// Durability: when Write has returned true, the store keeps what was written, even if it is killed and
// restarted. If it can lose acknowledged writes, for example in a failover to a replica that has not
// received them, it must have another History afterwards.
//
// Atomicity: Write compares and swaps in one atomic step, together with the comparison of the History.
// Of several concurrent writes that replace one record, at most one returns true.
//
// Freshness: Read may return an older state, which another process has changed in the meantime; then
// Write returns false. Read reads the history first, then the clock and the pool, then the slots, or all of
// them at the same instant.
//
// Errors: an error of Read or Write that no later try can cure wraps workerassign.ErrPermanent or workerassign.ErrOption. After
// any other error, Assign tries again.
type Store interface {
	// Read returns the pool, the slots that q selects, the store's clock and its history. If the store knows that there is
	// no pool, it returns the zero Pool. That a record is not found because the server starts or ends is an error.
	Read(ctx context.Context, q Query) (State, error)

	// Write writes what w contains, or nothing. It returns false if a record is not the one that w
	// replaces, or if the store has another history. An error may mean that the
	// write was made, or is made later: after a try of its own that had no answer, Write returns an error, and never false.
	Write(ctx context.Context, w Write) (bool, error)

	// String describes the store in errors and logs: its kind and its address.
	String() string
}

// A Pool is the record of one fleet in a store. H, F and M are properties of the pool, and not of a process,
// so that all processes agree on them. All times and durations are whole milliseconds.
type Pool struct {
	Revision int64     // increases by 1 with each write; 0: there is no pool
	Format   string    // the Request.Format of the fleet
	First    int64     // the first worker ID
	Slots    int64     // how many slots were added: those from First to First+Slots-1 exist
	History  string    // the history of the store under which the pool was last used
	Since    time.Time // the store's clock when that history was first seen
	Floor    time.Time // no lease begins before it

	Horizon time.Duration // H: no grant reaches further beyond the store's clock
	Fencing time.Duration // F: how long an old primary may go on acknowledging until it is fenced
	Skew    time.Duration // M: the greatest difference between the clocks of two servers, steps included
}

// A Slot is the record of one worker ID in a store. All times are whole milliseconds.
type Slot struct {
	WorkerID int64
	Revision int64  // increases by 1 with each write; 0: there is no such slot
	Token    string // identifies the lease that holds the slot; "": it was released

	// From and Until are the span of UID time that was granted to the last lease.
	From, Until time.Time

	History string    // the pool's history under which the slot was leased, and its Since
	Written time.Time // the store's clock at the last write
	FreeAt  time.Time // when another lease may take the slot, by the store's clock
	Holder  Holder    // the last lease's, also after its release
}

// A Holder describes who holds a slot, for people and for leases with a name.
type Holder struct {
	Name    string    // of WithName; "" if the lease has none
	Host    string    // the host name
	Process string    // the process ID, and what else tells processes of a host apart
	Since   time.Time // when the lease was taken, by the store's clock
}

// A Query selects slots. The fields add up: the result has the slots that any of them selects.
type Query struct {
	// WorkerIDs selects slots by their worker IDs. A slot that does not exist is not in the result.
	WorkerIDs []int64

	// Name, if not "", selects slots whose Holder has this name.
	Name string

	// Free, if not 0, selects that many slots whose FreeAt is before the store's clock, or fewer if
	// there are fewer. A store may leave out some of them if it cannot find them cheaply, unless All
	// is set; if it knows that it has left out some, it sets State.MoreFree.
	Free int

	// All selects all slots. It is used by operators, and when the pool seems to be full.
	All bool
}

// State is the result of Read.
type State struct {
	Pool  Pool
	Slots []Slot // in any order, without duplicates

	// MoreFree is true if the store has left out slots that may be free, of those that Query.Free selects.
	MoreFree bool

	// Now is the store's clock; if the store has none, HostClock is true and Now is this host's clock.
	Now       time.Time
	HostClock bool

	// History identifies the server that has answered, and its start, so that it changes whenever
	// the store may have lost writes that it had acknowledged: after a failover or a restart. If no
	// server of this kind, in the configuration in use, loses such writes, NoLoss is true, and the
	// history only changes when an operator restores a backup, as far as the store can know. A loss of power counts. If a setting
	// decides that the store cannot read, let an option declare it.
	History string
	NoLoss  bool

	// ReadOnly is true if the server accepts no writes at present, although it answers, such as a replica that may become the
	// primary later. No floor is calculated from such a state: it would begin to count before the server that accepts
	// writes at present is replaced (R7). If it is false, and History is not the pool's, the server accepted writes
	// before Now, not only when the answer was complete. A store whose reads fail on such a server need not set it.
	ReadOnly bool
}

// A Write is a compare-and-swap of a pool, of slots, or of both. Each record has its new revision. The
// store must have the one before, or no such record if the new revision is 1.
type Write struct {
	History string // the write is made only if this is the store's history
	Pool    *Pool  // nil: the pool is not compared and not written
	Slots   []Slot

	// Replaced has what the slots replace, as the caller has read them: Replaced[i] is that of Slots[i], or the zero
	// Slot if that is new. It must be as long as Slots. The store must have a slot with the same Token and Until. The
	// revision alone is not enough if a server that was replaced returns: it may have another record of the same revision.
	Replaced []Slot

	// ReplacedPool is what Pool replaces, as the caller has read it. It may be nil only if Pool is nil or new. The store must
	// have a pool with the same History, Since, Floor and Slots, for the same reason.
	ReplacedPool *Pool
}

// ReplacesPool reports whether Pool may replace the record that the store has, which is the zero Pool if there is none
// (R2, R7).
func (w Write) ReplacesPool(have Pool) bool {
	if have.Revision != w.Pool.Revision-1 {
		return false
	}
	was := w.ReplacedPool
	return have.Revision == 0 ||
		have.History == was.History && have.Since.Equal(was.Since) && have.Floor.Equal(was.Floor) && have.Slots == was.Slots
}

// Replaces reports whether Slots[i] may replace the record that the store has, which is the zero Slot if there is none
// (R2).
func (w Write) Replaces(i int, have Slot) bool {
	if have.Revision != w.Slots[i].Revision-1 {
		return false
	}
	was := w.Replaced[i]
	return have.Revision == 0 || have.Token == was.Token && have.Until.Equal(was.Until)
}

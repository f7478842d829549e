package uid

import "time"

// Stats is a snapshot of a generator. Its numbers are not all taken at the same instant.
type Stats struct {
	WorkerID int64     // the worker ID of the lease in use
	Format   Format    // layout, epoch and time unit
	End      time.Time // when the time bits end

	// LeaseSince is when the lease was taken into use, by the generator's clock. LeaseUntil is up to when
	// it is granted: UIDs of that time and later require that the assigner extends it. LeaseBounded
	// reports whether the lease has such an end. If it has none, LeaseUntil is the zero time.
	LeaseSince   time.Time
	LeaseUntil   time.Time
	LeaseBounded bool

	// WorkerIDsRemaining is how many worker IDs the assigner had left when it granted the lease in use, and
	// WorkerIDsTotal of how many: see workerassign.Grant. Both are 0 if that is not known, as with
	// worker IDs that are used again.
	WorkerIDsRemaining int64
	WorkerIDsTotal     int64

	// ReserveAhead is how far ahead of need time of a lease is reserved: WithReserveAhead.
	ReserveAhead time.Duration

	// LostLeases is how many leases were lost: the assigner did not extend them in time. It includes
	// leases that were lost before they were used, but not those that Renew has dropped.
	LostLeases uint64

	Issued        uint64 // UIDs that were returned, and those that were claimed for blocks
	RejectedTakes uint64 // takes that found no UID and had to wait, to pad or to fail

	// Ahead is how far the time of the next UID lies ahead of the clock (borrowed time). If it is
	// negative, the time lies behind. It is 0 for a Default generator, whose next UID has the current time.
	Ahead time.Duration

	// Rollbacks is how often the generator found that the wall clock had been set back to an earlier time
	// unit. A Cached generator reads the clock for each run, and at each scheduled padding.
	Rollbacks uint64

	Rollovers uint64 // changes to another lease: at the borrow limit, because one was lost, or by Renew

	// The following fields are set only by a Cached generator, and LastError also by the methods of nil
	// and zero generators.
	Paddings       Paddings  // paddings that put at least one run
	FailedPaddings uint64    // tries to pad that failed
	LastFailure    time.Time // when the last of these was, by the system's clock, in UTC; the zero time if there was none
	Dropped        uint64    // UIDs that were dropped because they became stale, because the grant of a lease is void, or by Renew
	Fill           uint64    // UIDs that are ready
	FillLevel      float64   // the fraction of the ring's runs that are ready: 0 to 1

	// Borrowed is how far the time unit that was stamped last lies ahead of the clock's, at least 0. At
	// BorrowLimit the generator takes another lease or waits for the clock. BorrowLimit is that of
	// WithMaxBorrow, or less if the lease in use has a horizon. While the lease has not begun, Borrowed is 0.
	Borrowed    time.Duration
	BorrowLimit time.Duration

	// LastError is the error of the last try to pad; nil if that try put a run. It is not always a
	// failure: a generator whose next run must wait, for example for the clock, has the reason here.
	LastError error
}

// Paddings counts paddings by what triggered them.
type Paddings struct {
	Initial   uint64 // the constructor
	Immediate uint64 // the fill level fell below the padding factor
	Scheduled uint64 // the schedule interval
	Caller    uint64 // a taker that found the ring empty
}

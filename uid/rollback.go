package uid

import "time"

// A RollbackPolicy says what a Default generator does when the wall clock is set back to an earlier
// time unit: RideOut, WaitOut or Refuse. No policy allows a duplicate UID. They differ in whether UIDs
// may have times that the wall clock has not reached yet.
type RollbackPolicy struct {
	name  string
	ride  bool
	bound time.Duration
}

// RideOut returns the default policy: the generator continues at the pace of the monotonic clock, as
// if there had been no step. A lead of at most 10 s over the wall clock is then reduced, by at most
// 500 ppm.
func RideOut() RollbackPolicy { return RollbackPolicy{name: "ride out", ride: true} }

// WaitOut returns a policy that stamps UIDs with the wall clock's time. While that is behind the last
// UID's time by no more than the bound, Next waits. If it is further behind, Next returns an error
// that wraps ErrClockBack.
func WaitOut(bound time.Duration) RollbackPolicy {
	return RollbackPolicy{name: "wait out", bound: bound}
}

// Refuse returns a policy that stamps UIDs with the wall clock's time. While that is behind the last
// UID's time, Next returns an error that wraps ErrClockBack, as Baidu's UidGenerator does.
func Refuse() RollbackPolicy { return RollbackPolicy{name: "refuse"} }

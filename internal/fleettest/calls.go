package fleettest

import "time"

// call is a call of a lease.
type call int

const (
	callAssign call = iota
	callReserve
	callRelease
	calls // how many there are
)

// begin counts a call of RunLeases that begins, until the function that it returns is called.
func (f *Fleet) begin(c call) (end func()) {
	f.current[c].Add(1)
	return func() { f.current[c].Add(-1) }
}

// waitForCall waits until RunLeases is in the middle of a call, for at most a second. It returns that call, or
// another one that has not ended, or calls if there is none.
func (f *Fleet) waitForCall(wanted call) call {
	for end := time.Now().Add(time.Second); f.current[wanted].Load() == 0; time.Sleep(20 * time.Microsecond) {
		if time.Now().After(end) {
			for c := range calls {
				if f.current[c].Load() > 0 {
					return c
				}
			}
			return calls
		}
	}
	return wanted
}

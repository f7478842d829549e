package uid

import "time"

// A Clock reports the time. It is for tests, and must be safe for concurrent use.
//
// The time of a generator never goes back, whatever its Clock does. To tolerate a step back, the
// generator requires a clock that does not step: the monotonic reading that the times of time.Now
// contain, or what a method Monotonic() time.Duration of the Clock returns. Without either, the
// generator's time stands still until the Clock has caught up.
//
// A step forward of more than an hour against the monotonic clock is followed only if it lasts for
// about a second, by the monotonic clock. So a single wrong reading does not exhaust the time bits. A
// Clock without a monotonic clock is followed at once, and so is every Clock when the generator is
// constructed.
//
// No method of a Clock is called under a lock, so it may call the generator. A panic of one is a panic of the call that
// has read the clock, or ends the process if a goroutine of the generator has. The generator stays whole.
type Clock interface {
	Now() time.Time
}

package segment

import (
	"fmt"
	"sync/atomic"
	"time"
)

// member is one source, with what was received from it.
type member struct {
	source  Source
	name    string
	end     atomic.Int64 // the end of what was received
	failed  int          // failures since the last success
	retryAt time.Time
	err     error // of the last try
}

// The pauses before a stripe that has failed is asked again, if others work. A pause is also at least slowTryPause times as
// long as the try took, so that a server that hangs takes only a small part of the time.
const (
	minMemberPause = 100 * time.Millisecond
	maxMemberPause = 5 * time.Second
	slowTryPause   = 10
)

// fail records that a try, which has begun at the given time, has failed.
func (m *member) fail(err error, begin time.Time) {
	now := time.Now()
	m.err = err
	m.retryAt = now.Add(max(min(minMemberPause<<min(m.failed, 10), maxMemberPause), slowTryPause*now.Sub(begin)))
	m.failed++
}

// membersOf returns the sources of a Sequence: the members of a Group, or src itself.
func membersOf(src Source) ([]*member, error) {
	if src == nil {
		return nil, fmt.Errorf("%w: the source is nil; must not be nil", ErrOption)
	}
	sources := []Source{src}
	if g, ok := src.(interface{ members() ([]Source, error) }); ok {
		var err error
		if sources, err = g.members(); err != nil {
			return nil, err
		}
	}
	members := make([]*member, len(sources))
	for i, s := range sources {
		name, err := describe(s)
		if err != nil {
			return nil, err
		}
		members[i] = &member{source: s, name: name}
	}
	return members, nil
}

// describe returns the description of a source. Its panic, such as that of a nil pointer, is an error.
func describe(s Source) (name string, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%w: String of the source panicked: %v", ErrOption, v)
		}
	}()
	return s.String(), nil
}

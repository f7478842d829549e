package recycled

import (
	"context"
	"errors"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit/leasetest"
	"github.com/ringuid/ringuid/workerassign"
)

// savedTest is a pool in a slot file with faults and a clock of its own, and the file of a Saved.
type savedTest struct {
	*testing.T
	path  string
	store *faultyStore
	now   time.Time // of the store and of generators

	changeHistory func() // gives the store another history
}

// faultyStore is a store that can be down, or lose replies.
type faultyStore struct {
	Store
	down        atomic.Bool
	loseReplies atomic.Int64 // of so many writes
	beforeWrite func(Write)
	writes      int
	reads       int
	refuse      int // so many writes: another swap was faster, which has changed nothing of the slot
}

var errDown = errors.New("the store is down")

func (s *faultyStore) Read(ctx context.Context, q Query) (State, error) {
	s.reads++
	if s.down.Load() {
		return State{}, errDown
	}
	return s.Store.Read(ctx, q)
}

func (s *faultyStore) Write(ctx context.Context, w Write) (bool, error) {
	if s.down.Load() {
		return false, errDown
	}
	s.writes++
	if s.beforeWrite != nil {
		s.beforeWrite(w)
	}
	if s.refuse > 0 {
		s.refuse--
		return false, nil
	}
	ok, err := s.Store.Write(ctx, w)
	if s.loseReplies.Load() > 0 {
		s.loseReplies.Add(-1)
		return false, errors.New("the reply was lost")
	}
	return ok, err
}

func newSavedTest(t *testing.T) *savedTest {
	directory := t.TempDir()
	s := &savedTest{T: t, path: filepath.Join(directory, "saved"), now: start}
	memory, changeHistory := NewMemory(func() time.Time { return s.now })
	s.store, s.changeHistory = &faultyStore{Store: memory}, changeHistory
	return s
}

func (s *savedTest) request() workerassign.Request {
	return workerassign.Request{Now: func() time.Time { return s.now }, Format: "test", MaxWorkerID: 1023}
}

func (s *savedTest) recycled(opts ...Option) *Assigner {
	return New(s.store, append([]Option{quiet, WithTimeout(10 * time.Minute), WithHorizon(25 * time.Hour)}, opts...)...)
}

// newSaved returns an assigner like another process has it.
func (s *savedTest) newSaved(opts ...SavedOption) *saved {
	a := Saved(s.recycled(), s.path, opts...).(*saved)
	a.storeTimeout = 10 * time.Minute // the faults of the store do not hang, and the disk may be slow
	return a
}

func (s *savedTest) mustAssign(a workerassign.Assigner) *savedLease {
	s.Helper()
	return leasetest.MustAssign(s.T, a, s.request()).(*savedLease)
}

// crash ends a lease as the end of its process does.
func (l *savedLease) crash() { l.held.Close() }

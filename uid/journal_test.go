package uid

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/leasing"
	"github.com/ringuid/ringuid/workerassign"
)

// journalAssigner assigns one worker ID for disjoint spans of time, and stores each grant before it
// returns it. Its process can be killed at each step: before a request, and between storing the grant
// and the reply.
type journalAssigner struct {
	mu           sync.Mutex
	grantedUntil time.Time // the end of the last grant, which is stored, so that a kill does not lose it
	steps        int
	killAt       int // the process is killed at this step
	killed       bool
}

var errKilled = errors.New("killed")

// step returns an error if the process is killed. The caller holds the lock.
func (a *journalAssigner) step() error {
	if a.steps++; a.steps == a.killAt {
		a.killed = true
	}
	if a.killed {
		return errKilled
	}
	return nil
}

func (a *journalAssigner) Assign(context.Context, workerassign.Request) (workerassign.Lease, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.step(); err != nil {
		return nil, err
	}
	return &journalLease{journalAssigner: a, notBefore: a.grantedUntil}, a.step()
}

// restart starts a new process, which has the stored grant and is killed after a number of steps.
func (a *journalAssigner) restart(killAfter int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.killed, a.killAt = false, a.steps+killAfter
}

func (a *journalAssigner) state() (grantedUntil time.Time, killed bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.grantedUntil, a.killed
}

type journalLease struct {
	*journalAssigner
	notBefore time.Time
}

func (l *journalLease) WorkerID() int64 { return 7 }

func (l *journalLease) NotBefore() time.Time { return l.notBefore }

func (l *journalLease) Release(context.Context, time.Time) error { return nil }

func (l *journalLease) Reserve(_ context.Context, until time.Time) (workerassign.Grant, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.step(); err != nil {
		return workerassign.Grant{}, err
	}
	if until.After(l.grantedUntil) {
		l.grantedUntil = until
	}
	return workerassign.Grant{Until: l.grantedUntil}, l.step()
}

// Invariant 1 with leases that have an end. A process is killed at a step of its store, and another one
// takes its place, five times. No UID is a duplicate, and none has a time beyond the stored grant.
func TestInvariant1KilledAtEveryStep(t *testing.T) {
	for _, mode := range modes {
		for kill := 1; kill <= 30; kill++ {
			synctest.Test(t, func(t *testing.T) {
				journal := new(journalAssigner)
				seen := make(map[ID]bool)
				for range 5 {
					journal.restart(kill)
					g, err := mode.make(context.Background(), journal, WithEpoch(bubbleEpoch), WithLayout(layout(t, 31, 20, 5)),
						WithReserveAhead(10*time.Second), WithBoostPower(1), WithRollover(false))
					if err != nil {
						if !errors.Is(err, errKilled) {
							t.Fatal(err)
						}
						continue
					}
					for range 600 { // a minute, unless it is killed before that
						ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
						id, err := g.NextContext(ctx)
						cancel()
						grantedUntil, killed := journal.state()
						if killed {
							break // nothing has seen a UID that was taken after the kill
						}
						if err != nil {
							t.Fatalf("%s, kill at %d: %v", mode.name, kill, err)
						}
						if p := g.Parse(id); seen[id] || !p.Time.Before(grantedUntil) || p.WorkerID != 7 {
							t.Fatalf("%s, kill at %d: %v is a duplicate (%v), or is not before %v", mode.name, kill, p, seen[id], grantedUntil)
						}
						seen[id] = true
						time.Sleep(100 * time.Millisecond)
						synctest.Wait()
					}
					g.Close()
				}
				if len(seen) == 0 && kill > 4 {
					t.Errorf("%s, kill at %d: no UID was taken", mode.name, kill)
				}
			})
		}
	}
}

// An outage of the store that is shorter than the time reserved ahead has no effect. In a longer one,
// UIDs are generated up to the end of the grant, and then each call returns the reason. The generator
// recovers by itself.
func TestStoreOutage(t *testing.T) {
	for _, mode := range modes {
		synctest.Test(t, func(t *testing.T) {
			journal := new(journalAssigner)
			g, err := mode.make(context.Background(), journal, WithEpoch(bubbleEpoch), WithLayout(layout(t, 31, 20, 8)),
				WithReserveAhead(20*time.Second), WithBoostPower(0), WithRollover(false))
			if err != nil {
				t.Fatal(err)
			}
			defer g.Close()
			// takeEachSecond takes a UID each second. It returns how many it took, and the last error.
			takeEachSecond := func(seconds int) (got int, last error) {
				for range seconds {
					if _, err := g.Next(); err == nil {
						got++
					} else {
						last = err
					}
					time.Sleep(time.Second)
				}
				return got, last
			}
			setDown := func(down bool) {
				journal.mu.Lock()
				defer journal.mu.Unlock()
				journal.killed = down
			}
			if got, err := takeEachSecond(30); got != 30 {
				t.Fatalf("%s: %d of 30, %v", mode.name, got, err)
			}
			setDown(true)
			if got, err := takeEachSecond(19); got != 19 {
				t.Errorf("%s: %d of 19 in an outage that is shorter than the time reserved ahead, %v", mode.name, got, err)
			}
			setDown(false)
			if got, err := takeEachSecond(60); got != 60 {
				t.Errorf("%s: %d of 60 after it, %v", mode.name, got, err)
			}
			setDown(true)
			got, err := takeEachSecond(60)
			if got < 20 || got > 34 || !errors.Is(err, errKilled) || !errors.Is(err, ErrLease) {
				t.Errorf("%s: %d of 60 in an outage of a minute, %v", mode.name, got, err)
			}
			setDown(false)
			time.Sleep(leasing.MaxRetryPause)
			if got, err := takeEachSecond(60); got != 60 {
				t.Errorf("%s: %d of 60 after the outage of a minute, %v", mode.name, got, err)
			}
		})
	}
}

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

// diary is an assigner of one worker ID in disjoint spans, which writes down what it grants
// before it says so. Its process can be killed at every step of that: before something is
// asked, and between the writing and the answer.
type journalAssigner struct {
	mu           sync.Mutex
	grantedUntil time.Time // no time at or after it was granted to anybody; what a kill does not lose
	steps        int
	killAt       int // at this step the process is killed
	killed       bool
}

var errKilled = errors.New("killed")

// step returns an error when the process is dead. The lock is held.
func (d *journalAssigner) step() error {
	if d.steps++; d.steps == d.killAt {
		d.killed = true
	}
	if d.killed {
		return errKilled
	}
	return nil
}

func (d *journalAssigner) Assign(context.Context, workerassign.Request) (workerassign.Lease, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.step(); err != nil {
		return nil, err
	}
	return &journalLease{journalAssigner: d, notBefore: d.grantedUntil}, d.step()
}

// restart is what a new process does: it reads the diary.
func (d *journalAssigner) restart(killAfter int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.killed, d.killAt = false, d.steps+killAfter
}

func (d *journalAssigner) state() (written time.Time, dead bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.grantedUntil, d.killed
}

type journalLease struct {
	*journalAssigner
	notBefore time.Time
}

func (l *journalLease) WorkerID() int64 { return 7 }

func (l *journalLease) NotBefore() time.Time { return l.notBefore }

func (l *journalLease) Release(context.Context, time.Time) error { return nil }

func (l *journalLease) Reserve(_ context.Context, until time.Time) (time.Time, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.step(); err != nil {
		return time.Time{}, err
	}
	if until.After(l.grantedUntil) {
		l.grantedUntil = until
	}
	return l.grantedUntil, l.step()
}

// Invariant 1 with leases that have an end: a process is killed at every step of its store, and
// another takes its place, five times over. No UID comes twice, and none has a time that was not
// written down before.
func TestInvariant1KilledAtEveryStep(t *testing.T) {
	for _, mode := range modes {
		for kill := 1; kill <= 30; kill++ {
			synctest.Test(t, func(t *testing.T) {
				d := new(journalAssigner)
				seen := make(map[ID]bool)
				for range 5 {
					d.restart(kill)
					g, err := mode.make(context.Background(), d, WithEpoch(bubbleEpoch), WithLayout(layout(t, 31, 20, 5)),
						WithReserveAhead(10*time.Second), WithBoostPower(1), WithRollover(false))
					if err != nil {
						if !errors.Is(err, errKilled) {
							t.Fatal(err)
						}
						continue
					}
					for range 600 { // a minute, unless it is killed before
						ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
						id, err := g.(interface {
							NextContext(context.Context) (ID, error)
						}).NextContext(ctx)
						cancel()
						written, dead := d.state()
						if dead {
							break // what it took after that, nobody has seen
						}
						if err != nil {
							t.Fatalf("%s, kill at %d: %v", mode.name, kill, err)
						}
						if p := g.Parse(id); seen[id] || !p.Time.Before(written) || p.WorkerID != 7 {
							t.Fatalf("%s, kill at %d: %v came twice (%v), or is not before %v", mode.name, kill, p, seen[id], written)
						}
						seen[id] = true
						time.Sleep(100 * time.Millisecond)
						synctest.Wait()
					}
					g.Close()
				}
				if len(seen) == 0 && kill > 4 {
					t.Errorf("%s, kill at %d: nothing was taken", mode.name, kill)
				}
			})
		}
	}
}

// A store that is down for less than what is reserved ahead goes unnoticed; for longer, UIDs
// up to the granted time still flow, and then each call says why; and it recovers by itself.
func TestStoreOutage(t *testing.T) {
	for _, mode := range modes {
		synctest.Test(t, func(t *testing.T) {
			d := new(journalAssigner)
			g, err := mode.make(context.Background(), d, WithEpoch(bubbleEpoch), WithLayout(layout(t, 31, 20, 8)),
				WithReserveAhead(20*time.Second), WithBoostPower(0), WithRollover(false))
			if err != nil {
				t.Fatal(err)
			}
			defer g.Close()
			// live takes a UID each second, and returns how many could be had, and the last error.
			live := func(seconds int) (got int, last error) {
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
			down := func(dead bool) {
				d.mu.Lock()
				defer d.mu.Unlock()
				d.killed = dead
			}
			if got, err := live(30); got != 30 {
				t.Fatalf("%s: %d of 30, %v", mode.name, got, err)
			}
			down(true)
			if got, err := live(19); got != 19 {
				t.Errorf("%s: %d of 19 in an outage that is shorter than what is reserved, %v", mode.name, got, err)
			}
			down(false)
			if got, err := live(60); got != 60 {
				t.Errorf("%s: %d of 60 after it, %v", mode.name, got, err)
			}
			down(true)
			got, err := live(60)
			if got < 20 || got > 34 || !errors.Is(err, errKilled) || !errors.Is(err, ErrLease) {
				t.Errorf("%s: %d of 60 in an outage of a minute, %v", mode.name, got, err)
			}
			down(false)
			time.Sleep(leasing.MaxRetryPause)
			if got, err := live(60); got != 60 {
				t.Errorf("%s: %d of 60 after the long one, %v", mode.name, got, err)
			}
		})
	}
}

package recycled_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit/slottest"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/assigntest"
)

// R1, R3, R6: the rules hold at any time: before 1970, where the number of milliseconds is negative, and in 2200.
func TestRulesAtFarTimes(t *testing.T) {
	for _, begin := range []time.Time{
		time.Date(1901, 1, 1, 0, 0, 0, 123_456, time.UTC),
		time.Date(1969, 12, 31, 23, 59, 50, 999_999_999, time.UTC), // the grants reach beyond 1970
		time.Date(2200, 2, 28, 23, 59, 59, 999_500_000, time.UTC),
		time.Date(9990, 1, 1, 0, 0, 0, 1, time.UTC),
	} {
		now := begin
		clock := func() time.Time { return now }
		m := assigntest.NewMemory(assigntest.WithClock(clock))
		a := slottest.New(t, m)
		request := workerassign.Request{Now: clock, MaxWorkerID: 1, Format: "f"}
		end := begin
		for n := range 3 {
			l, err := a.Assign(t.Context(), request)
			if err != nil {
				t.Fatalf("%v: Assign: %v", begin, err)
			}
			if l.WorkerID() != 0 || l.NotBefore().Before(end) || l.NotBefore().After(now.Add(time.Millisecond)) {
				t.Errorf("%v: lease %d is of worker ID %d and begins at %v, want 0, from %v on", begin, n, l.WorkerID(), l.NotBefore(), end)
			}
			until, err := l.Reserve(t.Context(), workerassign.Unbounded())
			if err != nil || until.Until.After(now.Add(poolH)) || until.Until.Before(now.Add(poolH-time.Millisecond)) {
				t.Errorf("%v: Reserve = %v, %v, want the horizon, %v", begin, until.Until, err, now.Add(poolH))
			}
			used := now.Add(1500 * time.Microsecond)
			if err := l.Release(t.Context(), used); err != nil {
				t.Fatal(err)
			}
			if until, err := l.Reserve(t.Context(), now); !errors.Is(err, workerassign.ErrReleased) {
				t.Errorf("%v: Reserve after Release = %v, %v, want ErrReleased", begin, until.Until, err)
			}
			end, now = used, now.Add(5*time.Millisecond)
		}
	}
}

// R2, R4: a context that ends in any call of the store ends Assign, Reserve and Release, with its error, and costs neither
// the pool nor, after a grace, a slot. Whether the write was made or not makes no difference.
func TestContextEndsInEachCall(t *testing.T) {
	for _, fault := range []assigntest.Fault{assigntest.LoseRequest, assigntest.LoseReply, assigntest.Delay} {
		for call := 1; call <= 12; call++ {
			inFleet(t, func(f *fleet) {
				f.max = 1
				ctx, cancel := context.WithCancel(f.Context())
				defer cancel()
				calls := 0
				f.SetFaults(func(assigntest.Op) assigntest.Fault {
					if calls++; calls < call {
						return assigntest.NoFault
					}
					cancel()
					return fault
				})
				var end time.Time
				l, err := f.assigner().Assign(ctx, f.request())
				if err == nil {
					if until, reserveErr := l.Reserve(ctx, time.Now().Add(20*time.Second)); reserveErr == nil {
						end = until.Until
					} else {
						err = reserveErr
					}
					if releaseErr := l.Release(ctx, time.Now()); releaseErr != nil && err == nil {
						err = releaseErr
					} else if releaseErr == nil {
						end = l.NotBefore()
					}
				}
				if calls >= call && err == nil || err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, assigntest.ErrFault) {
					f.Errorf("fault %v in call %d: the error is %v, want that of the context or of the store", fault, call, err)
				}
				f.SetFaults(nil)
				time.Sleep(24 * time.Hour) // between a read and its delayed write
				f.Deliver()
				time.Sleep(20*time.Second + poolGrace + 2*time.Millisecond)
				seen := map[int64]bool{}
				for range 2 {
					next := f.assign(f.assigner())
					f.reserve(next, time.Second)
					seen[next.WorkerID()] = true
					if next.WorkerID() == 0 && next.NotBefore().Before(end) {
						f.Errorf("fault %v in call %d: the next lease begins at %v, before %v", fault, call, next.NotBefore(), end)
					}
				}
				if len(seen) != 2 {
					f.Errorf("fault %v in call %d: the worker IDs %v are available, want both", fault, call, seen)
				}
			})
		}
	}
}

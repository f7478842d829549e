package recycled_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// An Assign that does not try again, because no worker ID becomes free within its deadline, returns the error and does not
// log that it tries again: a generator that tries now and then would log each time.
func TestNoRetryLogOfFullPool(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.max = 1
		for range 2 {
			f.reserve(f.assign(f.assigner()), poolH)
		}
		before := len(f.log.String())
		ctx, cancel := withTimeout(f, time.Second)
		defer cancel()
		if _, err := f.assigner().Assign(ctx, f.request()); !errors.Is(err, recycled.ErrPoolFull) {
			t.Errorf("Assign returned %v, want ErrPoolFull", err)
		}
		if log := f.log.String()[before:]; log != "" {
			t.Errorf("it logged %s", log)
		}
	})
}

// An error of the store that no later try can cure ends Assign at once.
func TestNoRetryOfPermanentErrors(t *testing.T) {
	for _, want := range []error{workerassign.ErrPermanent, workerassign.ErrOption} {
		for _, failing := range []failingStore{{read: want}, {write: want}} {
			inFleet(t, func(f *fleet) {
				failing.Store = f.Memory
				begin := time.Now()
				l, err := recycled.New(failing).Assign(f.Context(), f.request())
				if l != nil || !errors.Is(err, want) || errors.Is(err, workerassign.ErrGaveUp) || time.Since(begin) > time.Second {
					t.Errorf("Assign returned %v, %v after %v; want %v at once", l, err, time.Since(begin), want)
				}
			})
		}
	}
}

// An error of another lease, in an error of the store, says nothing about the lease that uses the store.
func TestErrorsOfAnotherLease(t *testing.T) {
	inFleet(t, func(f *fleet) {
		lost := f.assign(f.assigner())
		if err := f.assigner().RaiseFloor(f.Context(), time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		_, ofAnother := lost.Reserve(f.Context(), time.Now().Add(time.Second))
		if !errors.Is(ofAnother, workerassign.ErrLeaseLost) {
			t.Fatalf("Reserve of a lease that is lost returned %v", ofAnother)
		}
		for _, other := range []error{workerassign.ErrVoid, workerassign.ErrLeaseLost, ofAnother} {
			store := &struct{ recycled.Store }{f.Memory}
			l := f.assign(f.assignerOn(store))
			store.Store = failingStore{Store: f.Memory, read: fmt.Errorf("a dialer's: %w", other)}
			_, reserved := l.Reserve(f.Context(), time.Now().Add(time.Second))
			released := l.Release(f.Context(), time.Now())
			for call, err := range map[string]error{"Reserve": reserved, "Release": released} {
				if err == nil || errors.Is(err, workerassign.ErrVoid) || errors.Is(err, workerassign.ErrLeaseLost) || !strings.Contains(err.Error(), "a dialer's: ") {
					t.Errorf("%s returned %v; want an error that does not say that this lease is lost", call, err)
				}
			}
		}
	})
}

// A failingStore fails.
type failingStore struct {
	recycled.Store
	read, write error
}

func (s failingStore) Read(ctx context.Context, q recycled.Query) (recycled.State, error) {
	if s.read != nil {
		return recycled.State{}, s.read
	}
	return s.Store.Read(ctx, q)
}

func (s failingStore) Write(ctx context.Context, w recycled.Write) (bool, error) {
	return false, s.write
}

package recycled_test

import (
	"errors"
	"testing"
	"time"

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

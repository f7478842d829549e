package testkit

import (
	"context"
	"errors"
	"testing"
	"time"
)

// patience is how long Eventually and Retry wait. It only ends a test that hangs: a busy machine may take minutes for what takes milliseconds on an idle one.
const patience = 10 * time.Minute

// Eventually waits until holds returns true. It fails the test with what was missing if that does not happen.
func Eventually(tb testing.TB, what string, holds func() bool) {
	tb.Helper()
	missing := errors.New("it does not hold")
	Retry(tb, what, func() error {
		if holds() {
			return nil
		}
		return missing
	})
}

// Retry calls f until it returns nil. It fails the test with the last error if that does not happen.
func Retry(tb testing.TB, what string, f func() error) {
	tb.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		err := f()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			tb.Fatalf("%s: not after %v: %v", what, patience, err)
		}
	}
}

// Close calls close until it returns nil. It may return busy twice: if the process stands still, the seconds go by that it waits.
func Close(tb testing.TB, close func() error, busy error) {
	tb.Helper()
	for n := 0; ; n++ {
		err := close()
		if err == nil {
			return
		}
		if n == 2 || !errors.Is(err, busy) {
			tb.Fatalf("Close() = %v", err)
		}
	}
}

// Patient returns a context for a call that takes long only on a busy machine. It ends with the test.
func Patient(tb testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	tb.Cleanup(cancel)
	return ctx
}

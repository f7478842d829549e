package ringbuffer

import (
	"context"
	"runtime"
	"sync"
	"testing"
)

// Goroutines that compete for a lock all get it, one after the other. If a release was missed, the test would hang.
func TestContextLock(t *testing.T) {
	var l contextLock
	var all sync.WaitGroup
	const goroutines, rounds = 4, 5_000
	n := 0
	for range goroutines {
		all.Go(func() {
			for round := range rounds {
				if err := l.acquire(context.Background()); err != nil {
					t.Errorf("acquire() = %v", err)
					return
				}
				n++
				if round%8 == 0 {
					runtime.Gosched() // the others find the lock held
				}
				l.release()
			}
		})
	}
	all.Wait()
	if n != goroutines*rounds {
		t.Errorf("the lock was held %d times, want %d", n, goroutines*rounds)
	}
}

package workerassign

import (
	"testing"
	"time"
)

func TestBackoff(t *testing.T) {
	b := backoff{initial: 100 * time.Millisecond, maximum: 3 * time.Second}
	for tries := 1; tries < 200; tries++ {
		whole := b.maximum
		if tries <= 5 {
			whole = b.initial << (tries - 1)
		}
		for range 50 {
			if d := b.pause(tries); d < whole/2 || d > whole {
				t.Fatalf("the pause after %d tries is %v, want %v to %v", tries, d, whole/2, whole)
			}
		}
	}
	if d := (backoff{initial: time.Hour, maximum: 200 * 365 * 24 * time.Hour}).pause(39); d <= 0 {
		t.Errorf("a long pause overflowed to %v", d)
	}
}

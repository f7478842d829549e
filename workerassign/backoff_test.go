package workerassign

import (
	"testing"
	"time"
)

func TestBackoff(t *testing.T) {
	b := backoff{initial: 100 * time.Millisecond, maximum: 3 * time.Second}
	for attempts := 1; attempts < 200; attempts++ {
		full := b.maximum
		if attempts <= 5 {
			full = b.initial << (attempts - 1)
		}
		for range 50 {
			if d := b.pause(attempts); d < full/2 || d > full {
				t.Fatalf("the pause after %d attempts is %v, want %v to %v", attempts, d, full/2, full)
			}
		}
	}
	if d := (backoff{initial: time.Hour, maximum: 200 * 365 * 24 * time.Hour}).pause(39); d <= 0 {
		t.Errorf("a long pause overflows to %v", d)
	}
}

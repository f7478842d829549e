package workerassign

import (
	"testing"
	"time"
)

func TestBackoff(t *testing.T) {
	b := backoff{first: 100 * time.Millisecond, longest: 3 * time.Second}
	for tries := 1; tries < 200; tries++ {
		whole := b.longest
		if tries <= 5 {
			whole = b.first << (tries - 1)
		}
		for range 50 {
			if d := b.pause(tries); d < whole/2 || d > whole {
				t.Fatalf("the pause after %d tries is %v, want %v to %v", tries, d, whole/2, whole)
			}
		}
	}
	if d := (backoff{first: time.Hour, longest: 200 * 365 * 24 * time.Hour}).pause(39); d <= 0 {
		t.Errorf("a long pause overflowed to %v", d)
	}
}

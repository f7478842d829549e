package workerassign_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/workerassign"
)

// D11: a worker ID below 0 is refused.
func TestD11StaticBelowZero(t *testing.T) {
	for _, id := range []int64{-1, math.MinInt64} {
		lease, err := workerassign.Static(id).Assign(context.Background(), workerassign.Request{})
		if lease != nil || !errors.Is(err, workerassign.ErrOption) || !strings.Contains(err.Error(), fmt.Sprint(id)) {
			t.Errorf("Assign() of %d = %v, %v; want ErrOption with the value", id, lease, err)
		}
	}
}

// Invariant 1, of an ID that is used again after a restart: the span of a lease lies wholly
// after those of the leases before it, on whatever clock.
func TestInvariant1StaticSpansAreDisjoint(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	a := workerassign.Static(0)
	end := now
	for range 5 {
		l, err := a.Assign(context.Background(), workerassign.Request{Now: clock})
		if err != nil || l.WorkerID() != 0 {
			t.Fatal(l, err)
		}
		if l.NotBefore().Before(end) {
			t.Errorf("a lease begins at %v, the one before it may run to %v", l.NotBefore(), end)
		}
		for _, ahead := range []time.Duration{time.Hour, time.Second, 0, -time.Millisecond} {
			now = now.Add(time.Second)
			granted, err := l.Reserve(context.Background(), now.Add(ahead))
			want := now.Add(min(ahead, 0))
			if ahead > 0 {
				want = want.Add(1) // with what begins just now
			}
			if err != nil || !granted.Equal(want) {
				t.Errorf("at %v Reserve(%v ahead) = %v, %v; want %v", now, ahead, granted, err, want)
			}
			if granted.After(end) {
				end = granted
			}
		}
		for range 2 {
			if err := l.Release(context.Background(), time.Time{}); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestStaticByTheSystemsClock(t *testing.T) {
	before := time.Now()
	l, err := workerassign.Static(9).Assign(context.Background(), workerassign.Request{})
	if err != nil || l.NotBefore().Before(before) || l.NotBefore().After(time.Now()) {
		t.Errorf("Assign() = %v, %v", l, err)
	}
}

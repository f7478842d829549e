package uid

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/testkit/fakeclock"
	"github.com/ringuid/ringuid/workerassign"
)

func TestCachedStartsFull(t *testing.T) {
	c := newCached(t, new(disposableAssigner), WithClock(fakeclock.New(noon)))
	st := c.Stats()
	if st.Ring.Fill != 65_536 || st.Ring.FillLevel() != 1 || fmt.Sprint(st.Ring.Paddings) != "{1 0 0 0}" || st.Issued != 0 || st.WorkerID != 1 {
		t.Errorf("Stats() = %+v", st)
	}
	if want := noon.Truncate(time.Second).Sub(noon); st.Ahead != want {
		t.Errorf("Ahead = %v, want %v", st.Ahead, want)
	}
	if st.Format != c.Format() || !st.End.Equal(c.Format().End()) {
		t.Errorf("Stats() = %+v", st)
	}
	for sequence := range int64(8192) {
		p := c.Parse(next(t, c))
		if !p.Time.Equal(noon.Truncate(time.Second)) || p.WorkerID != 1 || p.Sequence != sequence {
			t.Fatalf("UID %d is %v", sequence, p)
		}
	}
	if p := c.Parse(next(t, c)); !p.Time.Equal(noon.Truncate(time.Second).Add(time.Second)) || p.Sequence != 0 {
		t.Errorf("the first UID of the second run is %v", p)
	}
}

func TestCachedNextN(t *testing.T) {
	c := newCached(t, new(disposableAssigner))
	for _, n := range []int{0, 1, 8191, 8192, 8193, 100_000} {
		dst := make([]ID, n)
		got, err := c.NextN(dst)
		if got != n || err != nil {
			t.Fatalf("NextN(%d) = %d, %v", n, got, err)
		}
		for i := 1; i < n; i++ {
			if dst[i] <= dst[i-1] {
				t.Fatalf("NextN(%d): %d is after %d", n, dst[i], dst[i-1])
			}
		}
	}
}

// A static lease: there is no UID of the second in which it began, none of the future, and so no
// borrowing.
func TestCachedStatic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(300 * time.Millisecond)
		begin := time.Now()
		c := newCached(t, workerassign.Static(5), WithEpoch(bubbleEpoch), WithLayout(layout(t, 31, 22, 5)))
		if took := time.Since(begin); took != 0 {
			t.Errorf("the constructor waited for %v", took)
		}
		for n := range 32 * 20 {
			p := c.Parse(next(t, c))
			if !p.Time.After(begin) || p.Time.After(time.Now()) || p.WorkerID != 5 {
				t.Fatalf("UID %d is %v at %v", n, p, time.Now())
			}
		}
		if took := time.Since(begin); took < 19*time.Second || took > 21*time.Second {
			t.Errorf("the UIDs of 20 seconds took %v", took)
		}
		time.Sleep(time.Minute)
		if p := c.Parse(next(t, c)); time.Since(p.Time) > DefaultMaxStaleness {
			t.Errorf("after a minute of idleness: %v at %v", p, time.Now())
		}
	})
}

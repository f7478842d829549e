package segment_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/segment"
)

// fiveMillisecondSource is a source whose calls take 5 ms.
type fiveMillisecondSource struct{ next atomic.Int64 }

func (s *fiveMillisecondSource) String() string { return "slow source" }

func (s *fiveMillisecondSource) Take(_ context.Context, r segment.Request) (segment.Range, error) {
	time.Sleep(5 * time.Millisecond)
	size := r.Size
	if size == 0 {
		size = 1000
	}
	return segment.Range{First: s.next.Add(size) - size, Length: size, Stride: 1, Step: 1000}, nil
}

// The size grows although callers have used up all numbers each time that a range arrives.
func TestSizeWhileCallersWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := segment.New(t.Context(), new(fiveMillisecondSource), "orders")
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		want := testkit.Amount(2_000_000, 20_000_000, 20_000_000)
		for begin, taken := time.Now(), 0; taken < want; taken++ {
			if _, err := s.Next(); err != nil {
				t.Fatal(err)
			}
			if time.Since(begin) > time.Second {
				t.Fatalf("%d numbers after a second, want %d; %+v", taken, want, s.Stats())
			}
		}
		if n := s.Stats().Ranges; n > 35 {
			t.Errorf("%d ranges for %d numbers, want at most 35", n, want)
		}
	})
}

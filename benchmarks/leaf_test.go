package benchmarks

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/testkit/uniq"
)

// The rebuilt algorithm hands out each number once: otherwise its figures would mean nothing.
func TestLeafUnique(t *testing.T) {
	const goroutines, each = 4, 50_000
	l, err := NewLeaf(NewSource(SegmentStep, 0), "orders", true)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var (
		all     sync.WaitGroup
		numbers [goroutines][]int64
	)
	for i := range goroutines {
		all.Go(func() {
			for len(numbers[i]) < each {
				n, err := l.Next()
				if errors.Is(err, ErrLeafEmpty) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				numbers[i] = append(numbers[i], n)
			}
		})
	}
	all.Wait()
	seen := new(uniq.Set).Writer()
	for _, taken := range numbers {
		for _, n := range taken {
			if !seen.Add(n) {
				t.Fatalf("the number %d was handed out twice", n)
			}
		}
	}
}

// The other segment is requested after 10 % of the current one, and a caller that finds both used up sleeps for 10 ms once, then
// returns an error if the other one has not arrived.
func TestLeafRefill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := NewSource(SegmentStep, 0)
		l, err := NewLeaf(src, "orders", false)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		take := func(count int) {
			t.Helper()
			for range count {
				if _, err := l.Next(); err != nil {
					t.Fatal(err)
				}
			}
			synctest.Wait()
		}
		src.delay = time.Hour
		take(SegmentStep/10 + 1)
		if n := src.Requests(); n != 1 {
			t.Errorf("%d requests after 10 %% of the first segment; want 1", n)
		}
		take(1)
		if n := src.Requests(); n != 2 {
			t.Errorf("%d requests after more than 10 %%; want 2", n)
		}
		take(SegmentStep - SegmentStep/10 - 2)
		begin := time.Now()
		if _, err := l.Next(); !errors.Is(err, ErrLeafEmpty) || time.Since(begin) != leafPause {
			t.Errorf("with both segments used up: %v after %v; want %v after %v", err, time.Since(begin), ErrLeafEmpty, leafPause)
		}
		time.Sleep(time.Hour)
		take(1)
	})
}

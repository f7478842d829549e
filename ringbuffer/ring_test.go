package ringbuffer

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"
)

func TestTakesFollowOrderOfPuts(t *testing.T) {
	for _, first := range []uint64{0, math.MaxUint64 - 2} { // with the second one, the indexes of the runs wrap
		r := newRingWithoutProvider(t, 4, first)
		mustPut(t, r, 100, 2)
		mustPut(t, r, 50, 1) // runs are taken in the order of puts, not of their integers
		mustPut(t, r, 200, 3)
		for _, want := range []int64{100, 101, 50, 200, 201, 202} {
			mustTake(t, r, want)
		}
		for range 3 {
			if v, err := r.Take(context.Background()); !errors.Is(err, ErrEmpty) {
				t.Fatalf("Take() of an empty ring = %d, %v; want ErrEmpty", v, err)
			}
		}
		mustPut(t, r, 300, 1)
		mustTake(t, r, 300)
	}
}

// A differential test: random calls on the ring, compared with a simple queue.
func TestAgainstSimpleQueue(t *testing.T) {
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		capacity := 1 << rnd.IntN(4)
		r := newRingWithoutProvider(t, capacity, math.MaxUint64-rnd.Uint64N(20))
		var (
			queue [][]int64
			next  int64
		)
		for range 300 {
			switch rnd.IntN(3) {
			case 0:
				length := 1 + rnd.Int64N(4)
				err := r.Put(context.Background(), Run{First: next, Length: length})
				if full := len(queue) == capacity; full != errors.Is(err, ErrFull) || !full && err != nil {
					t.Fatalf("seed %d: Put with %d of %d runs = %v", seed, len(queue), capacity, err)
				}
				if err == nil {
					var run []int64
					for v := range length {
						run = append(run, next+v)
					}
					queue = append(queue, run)
				}
				next += length
			default:
				n := 1 + rnd.Int64N(3)
				first, got, err := r.Claim(context.Background(), n)
				if len(queue) == 0 {
					if !errors.Is(err, ErrEmpty) {
						t.Fatalf("seed %d: Claim of an empty ring = %d, %d, %v", seed, first, got, err)
					}
					break
				}
				want := min(n, int64(len(queue[0])))
				if err != nil || first != queue[0][0] || got != want {
					t.Fatalf("seed %d: Claim(%d) = %d, %d, %v; want %d, %d", seed, n, first, got, err, queue[0][0], want)
				}
				if queue[0] = queue[0][want:]; len(queue[0]) == 0 {
					queue = queue[1:]
				}
			}
			var fill uint64
			for _, run := range queue {
				fill += uint64(len(run))
			}
			if st := r.Stats(); st.Fill != fill || st.FillRuns != len(queue) {
				t.Fatalf("seed %d: Stats() has %d integers in %d runs, want %d in %d", seed, st.Fill, st.FillRuns, fill, len(queue))
			}
		}
	}
}

// What takers write must not share a cache line with what they only read.
func TestCacheLines(t *testing.T) {
	const line = 64
	var s runState
	readOnly := unsafe.Offsetof(s.length) + unsafe.Sizeof(s.length)
	taken := unsafe.Offsetof(s.taken)
	if taken-readOnly < line {
		t.Errorf("the counter begins %d bytes after the read-only fields, want at least %d", taken-readOnly, line)
	}
	if after := unsafe.Sizeof(s) - taken - unsafe.Sizeof(s.taken); after < line {
		t.Errorf("%d bytes lie between the counter and the next object, want at least %d", after, line)
	}
	var r Ring
	if got := unsafe.Offsetof(r.current); got != 0 {
		t.Errorf("current is at offset %d, want 0", got)
	}
	if got := unsafe.Offsetof(r.cfg); got < line {
		t.Errorf("the field after current is at offset %d, want at least %d", got, line)
	}
	if got := unsafe.Offsetof(r.turn) - unsafe.Offsetof(r.slots); got < line {
		t.Errorf("the fields that put writes begin %d bytes after those that takers read, want at least %d", got, line)
	}
}

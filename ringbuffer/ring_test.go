package ringbuffer

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"unsafe"
)

func TestConfigIsChecked(t *testing.T) {
	for _, tt := range []struct {
		name string
		cfg  Config
		want string
	}{
		{"capacity below 1", Config{Capacity: -4}, "capacity is -4 runs"},
		{"capacity not a power of two", Config{Capacity: 6}, "capacity is 6 runs"},
		{"capacity beyond the bound", Config{Capacity: 2 * MaxCapacity}, "capacity is 2097152 runs; must be a power of two from 1 to 1048576"},
		{"padding factor below 1", Config{PaddingFactor: -1}, "padding factor is -1 %"},
		{"padding factor beyond 99", Config{PaddingFactor: 100}, "padding factor is 100 %; must be 1 to 99"},
		{"negative interval", Config{Interval: -1}, "interval is -1ns"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := New(context.Background(), tt.cfg)
			if !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("New() = %v, want ErrConfig with %q", err, tt.want)
			}
		})
	}
}

func TestPutRefusesWhatIsNoRun(t *testing.T) {
	r := newRingWithoutProvider(t, 2, 0)
	for _, run := range []Run{
		{First: -1, Length: 1},
		{First: 0, Length: 0},
		{First: 0, Length: -5},
		{First: math.MaxInt64, Length: 2},
		{First: 2, Length: math.MaxInt64},
	} {
		if err := r.Put(context.Background(), run); !errors.Is(err, ErrRun) {
			t.Errorf("Put(%+v) = %v, want ErrRun", run, err)
		}
	}
	if st := r.Stats(); st.Fill != 0 {
		t.Errorf("%d integers were put", st.Fill)
	}
	mustPut(t, r, math.MaxInt64, 1)
	mustPut(t, r, 1, math.MaxInt64)
	mustTake(t, r, math.MaxInt64)
	mustTake(t, r, 1)
}

func TestTakesComeInTheOrderOfPuts(t *testing.T) {
	for _, first := range []uint64{0, math.MaxUint64 - 2} { // the second: run numbers wrap
		r := newRingWithoutProvider(t, 4, first)
		mustPut(t, r, 100, 2)
		mustPut(t, r, 50, 1) // the ring knows no order but that of puts
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

func TestClaimEndsWhereARunEnds(t *testing.T) {
	r := newRingWithoutProvider(t, 2, 0)
	mustPut(t, r, 10, 5)
	mustPut(t, r, 100, 5)
	ctx := context.Background()
	for _, want := range []struct{ n, first, got int64 }{{2, 10, 2}, {10, 12, 3}, {5, 100, 5}} {
		first, got, err := r.Claim(ctx, want.n)
		if err != nil || first != want.first || got != want.got {
			t.Errorf("Claim(%d) = %d, %d, %v; want %d, %d", want.n, first, got, err, want.first, want.got)
		}
	}
	if _, got, err := r.Claim(ctx, 1); got != 0 || !errors.Is(err, ErrEmpty) {
		t.Errorf("Claim of an empty ring got %d, %v", got, err)
	}
	for _, n := range []int64{0, -1, math.MinInt64} {
		if _, got, err := r.Claim(ctx, n); got != 0 || err != nil {
			t.Errorf("Claim(%d) got %d, %v; want nothing", n, got, err)
		}
	}
}

func TestFullRingTakesNoRun(t *testing.T) {
	for _, first := range []uint64{0, math.MaxUint64 - 1} {
		r := newRingWithoutProvider(t, 2, first)
		mustPut(t, r, 0, 2)
		mustPut(t, r, 2, 2)
		for range 3 {
			if err := r.Put(context.Background(), Run{First: 4, Length: 2}); !errors.Is(err, ErrFull) {
				t.Fatalf("Put into a full ring = %v, want ErrFull", err)
			}
		}
		mustTake(t, r, 0) // the run is still in use
		if err := r.Put(context.Background(), Run{First: 4, Length: 2}); !errors.Is(err, ErrFull) {
			t.Fatalf("Put beside a run in use = %v, want ErrFull", err)
		}
		mustTake(t, r, 1)
		mustPut(t, r, 4, 2)
		for want := int64(2); want < 6; want++ {
			mustTake(t, r, want)
		}
		if got := r.Stats().RejectedPuts; got != 4 {
			t.Errorf("RejectedPuts = %d, want 4", got)
		}
	}
}

// The differential test: the ring against the plainest queue there is, over random calls.
func TestAgainstAPlainQueue(t *testing.T) {
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
				t.Fatalf("seed %d: Stats say %d integers in %d runs, want %d in %d", seed, st.Fill, st.FillRuns, fill, len(queue))
			}
		}
	}
}

// The lines of the hot structs: what takers write lies on none that they read for other
// reasons.
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
	if got := unsafe.Offsetof(r.providerLock) - unsafe.Offsetof(r.slots); got < line {
		t.Errorf("what putters write begins %d bytes after what takers read, want at least %d", got, line)
	}
}

func TestStatsAfterClose(t *testing.T) {
	r := newRingWithoutProvider(t, 2, 0)
	mustPut(t, r, 0, 10)
	mustPut(t, r, 10, 10)
	for v := range int64(12) {
		mustTake(t, r, v)
	}
	r.Close()
	if st := r.Stats(); st.Taken != 12 || st.Fill != 0 || st.Oldest != -1 || st.Newest != -1 {
		t.Errorf("Stats() = %+v, want 12 taken and nothing left", st)
	}
}

func TestStatsTellOldestAndNewest(t *testing.T) {
	r := newRingWithoutProvider(t, 4, 0)
	check := func(oldest, newest int64) {
		t.Helper()
		if st := r.Stats(); st.Oldest != oldest || st.Newest != newest {
			t.Errorf("oldest and newest are %d and %d, want %d and %d", st.Oldest, st.Newest, oldest, newest)
		}
	}
	check(-1, -1)
	mustPut(t, r, 10, 1)
	check(10, 10)
	mustPut(t, r, 20, 2)
	check(10, 20)
	mustTake(t, r, 10)
	check(20, 20)
	mustTake(t, r, 20)
	mustTake(t, r, 21)
	check(-1, -1)
}

package segment

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/leaktest"
	"github.com/ringuid/ringuid/internal/testkit/uniq"
	"github.com/ringuid/ringuid/ringbuffer"
)

// No number is handed out twice, and none is lost: all take policies, strides, tiny and great steps, and every way to
// take numbers, in several Sequences of one source.
func TestUnique(t *testing.T) {
	total := int64(20_000_000)
	if testkit.Race {
		total = 2_000_000
	}
	if testing.Short() {
		total /= 10
	}
	const cases = 3 * 3 * 4
	for _, procs := range []int{1, 2, 8} {
		for _, step := range []int64{1, 7, 100_000} {
			for _, policy := range []ringbuffer.TakePolicy{nil, ringbuffer.CallerPads, ringbuffer.Wait, ringbuffer.Fail} {
				t.Run(fmt.Sprintf("procs=%d/step=%d/%v", procs, step, policy), func(t *testing.T) {
					defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
					n := total / cases
					if step < 100 {
						n = total / cases / 20 * step / (step + 3)
					}
					takeConcurrently(t, step, policy, n)
				})
			}
		}
	}
}

// stripesInMemory is a source of the multiples of a stride. It does not compare AtLeast.
type stripesInMemory struct {
	*memorySource
	stride int64
}

func (s stripesInMemory) Take(ctx context.Context, r Request) (Range, error) {
	r.AtLeast = 0
	got, err := s.memorySource.Take(ctx, r)
	if err != nil {
		return got, err
	}
	got.First, got.Stride = got.First*s.stride, s.stride
	got.Length = min(got.Length, (MaxNumber-got.First)/s.stride+1)
	return got, nil
}

// takeConcurrently takes at least total numbers from two Sequences of one source, with 16 goroutines.
func takeConcurrently(t *testing.T, step int64, policy ringbuffer.TakePolicy, total int64) {
	leaktest.Check(t)
	memory := newMemorySource(step)
	chunk := min(20*step, 500) // each range costs a context switch
	for _, stride := range []int64{1, 3} {
		opts := []Option{WithMaxStep(1 << 16), WithCapacity(1 + int(stride))}
		if step == 1 {
			opts = append(opts, WithStepPolicy(FixedStep{}))
		}
		if policy != nil {
			opts = append(opts, WithTakePolicy(policy))
		}
		sequences := []*Sequence{
			newTestSequence(t, stripesInMemory{memory, stride}, opts...),
			newTestSequence(t, stripesInMemory{memory, stride}, opts...),
		}
		var (
			seen   uniq.Set
			taken  atomic.Int64
			takers sync.WaitGroup
		)
		for g := range 16 {
			s := sequences[g%2]
			takers.Go(func() {
				w := seen.Writer()
				for taken.Load() < total/2 {
					n, err := takeSome(s, w, g/2%5, stride, chunk)
					taken.Add(n)
					if err != nil && !errors.Is(err, ErrEmpty) {
						t.Error(err)
						return
					}
					if err != nil {
						runtime.Gosched()
					}
				}
			})
		}
		takers.Wait()
		if n := seen.Len(); n != taken.Load() {
			t.Errorf("%d numbers were taken, %d of them differ", taken.Load(), n)
		}
		var counted uint64
		for _, s := range sequences {
			st := s.Stats()
			counted += st.Issued
			if st.End > memory.counter()*stride {
				t.Errorf("the end is %d, and the counter of the source %d", st.End, memory.counter())
			}
		}
		// Local and All have claimed more than they have handed out.
		if c := int64(counted); c < taken.Load() || c > taken.Load()+16*localBlock*(1+taken.Load()/chunk) {
			t.Errorf("%d numbers were taken, but Stats counts %d", taken.Load(), c)
		}
		for _, s := range sequences {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// takeSome takes about chunk numbers in one of five ways, and returns how many.
func takeSome(s *Sequence, w *uniq.Writer, way int, stride, chunk int64) (n int64, err error) {
	add := func(v int64) {
		if v < 1 || v%stride != 0 {
			err = fmt.Errorf("the number %d with stride %d", v, stride)
		} else if !w.Add(v) {
			err = fmt.Errorf("%d was taken before", v)
		}
		n++
	}
	ctx := context.Background()
	switch way {
	case 0, 1:
		next := s.Next
		if way == 1 {
			next = func() (int64, error) { return s.NextContext(ctx) }
		}
		for range chunk {
			v, err := next()
			if err != nil {
				return n, err
			}
			add(v)
		}
	case 2:
		var dst [50]int64
		for i := range min(chunk/2, 50) {
			got, err := s.NextN(dst[:i])
			for _, v := range dst[:got] {
				add(v)
			}
			if err != nil {
				return n, err
			}
		}
	case 3:
		r, err := s.Claim(ctx, chunk)
		if err != nil {
			return 0, err
		}
		for i := range r.Length {
			add(r.First + i*r.Stride)
		}
	case 4:
		l := s.Local()
		for range chunk / 2 {
			v, err := l.Next()
			if err != nil {
				return n, err
			}
			add(v)
		}
		for v, err := range s.All(ctx) {
			if err != nil {
				return n, err
			}
			if add(v); n >= chunk {
				break
			}
		}
	}
	return n, err
}

// A source that fails, loses replies and returns short ranges at random makes gaps, and no number twice.
func TestUniqueWithFaults(t *testing.T) {
	leaktest.Check(t)
	src := newMemorySource(20)
	var calls atomic.Int64
	faulty := sourceFunc(func(ctx context.Context, r Request) (Range, error) {
		n := calls.Add(1)
		switch {
		case n < 4:
		case n%7 == 0:
			return Range{}, errDown
		case n%11 == 0: // the reply is lost
			src.Take(ctx, r)
			return Range{}, errDown
		case n%17 == 0:
			r.Size = 1 + n%5
		case n%19 == 0: // a range that is wrong
			got, err := src.Take(ctx, r)
			got.First--
			return got, err
		}
		return src.Take(ctx, r)
	})
	s := newTestSequence(t, faulty, WithStepPolicy(FixedStep{}), WithTakePolicy(ringbuffer.CallerPads))
	var seen uniq.Set
	var taken atomic.Int64
	var takers sync.WaitGroup
	for range 8 {
		takers.Go(func() {
			w := seen.Writer()
			for taken.Load() < 100_000 {
				v, err := s.Next()
				if err != nil {
					if !errors.Is(err, ErrEmpty) {
						t.Error(err)
					}
					continue
				}
				if !w.Add(v) {
					t.Errorf("%d was taken before", v)
				}
				taken.Add(1)
			}
		})
	}
	takers.Wait()
	if st := s.Stats(); seen.Len() != taken.Load() || st.Issued != uint64(taken.Load()) || st.FailedTries == 0 {
		t.Errorf("%d numbers were taken, %d differ: %+v", taken.Load(), seen.Len(), st)
	}
}

// What one goroutine takes from one source rises.
func TestNumbersRise(t *testing.T) {
	s := newTestSequence(t, newMemorySource(10), WithMaxWait(longWait))
	var before int64
	var dst [7]int64
	for range 1000 {
		for _, next := range []func() (int64, error){s.Next, func() (int64, error) {
			_, err := s.NextN(dst[:])
			for i := 1; i < len(dst); i++ {
				if dst[i] <= dst[i-1] {
					t.Fatalf("NextN: %v", dst)
				}
			}
			if dst[0] <= before {
				t.Fatalf("NextN: %v after %d", dst, before)
			}
			return dst[6], err
		}} {
			v, err := next()
			if err != nil || v <= before {
				t.Fatalf("%d, %v after %d", v, err, before)
			}
			before = v
		}
	}
}

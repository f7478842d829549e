package segment_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/segment/segmenttest"
)

// rangeSource is a Source whose Take returns always the same.
type rangeSource struct {
	reply segment.Range
	err   error
}

func (s rangeSource) Take(context.Context, segment.Request) (segment.Range, error) {
	return s.reply, s.err
}
func (s rangeSource) String() string { return "a source of the test" }

// Stripe refuses invalid arguments, at the first use.
func TestStripeArguments(t *testing.T) {
	m := segmenttest.NewMemory()
	for _, s := range []*segment.Striped{
		nil, {}, segment.Stripe(0, 0, m), segment.Stripe(0, -1, m), segment.Stripe(0, 1025, m), segment.Stripe(-1, 3, m),
		segment.Stripe(3, 3, m), segment.Stripe(0, 1, nil), segment.Stripe(0, 2, segment.Stripe(0, 2, m)),
		segment.Stripe(0, 2, segment.NewGroup(segment.Stripe(0, 2, m))),
	} {
		if _, err := s.Take(t.Context(), segment.Request{Tag: "x"}); !errors.Is(err, segment.ErrOption) {
			t.Errorf("Take = %v, want ErrOption", err)
		}
		if err := s.CreateTag(t.Context(), "x", segment.TagConfig{}); !errors.Is(err, segment.ErrOption) {
			t.Errorf("CreateTag = %v, want ErrOption", err)
		}
		if s.String() != "invalid stripe" {
			t.Errorf("String() = %q", s)
		}
		if _, err := segment.New(t.Context(), s, "x"); !errors.Is(err, segment.ErrOption) {
			t.Errorf("New = %v, want ErrOption", err)
		}
	}
	ok := segment.Stripe(0, 1, m)
	if _, err := ok.Take(t.Context(), segment.Request{}); !errors.Is(err, segment.ErrTag) {
		t.Errorf("Take without a tag = %v, want ErrTag", err)
	}
	if err := ok.CreateTag(t.Context(), "", segment.TagConfig{}); !errors.Is(err, segment.ErrTag) {
		t.Errorf("CreateTag without a tag = %v, want ErrTag", err)
	}
	if err := ok.CreateTag(t.Context(), "x", segment.TagConfig{Start: -1}); !errors.Is(err, segment.ErrOption) {
		t.Errorf("CreateTag with a negative start = %v, want ErrOption", err)
	}
	if err := segment.Stripe(0, 1, rangeSource{}).CreateTag(t.Context(), "x", segment.TagConfig{}); !errors.Is(err, segment.ErrOption) {
		t.Errorf("CreateTag of a source that is no Creator = %v, want ErrOption", err)
	}
}

// A range of a stripe's source that cannot be right is an error.
func TestStripeWrongRange(t *testing.T) {
	for _, r := range []segment.Range{
		{First: 1, Length: 10, Stride: 2}, {First: 1, Length: 10, Stride: -1}, {First: -1, Length: 10}, {First: 1}, {First: 1, Length: -1},
	} {
		if got, err := segment.Stripe(1, 3, rangeSource{reply: r}).Take(t.Context(), segment.Request{Tag: "x"}); !errors.Is(err, segment.ErrSource) {
			t.Errorf("Take with the range %+v = %+v, %v; want ErrSource", r, got, err)
		}
	}
}

// All counts of stripes hand out disjoint numbers, which are their index modulo the count, at both ends of the numbers.
func TestStripeNumbers(t *testing.T) {
	testkit.WithoutRace(t)
	for count := 1; count <= 1024; count++ {
		indexes := []int{0, count / 2, count - 1}
		if count < 20 || count == 1024 {
			indexes = indexes[:0]
			for i := range count {
				indexes = append(indexes, i)
			}
		}
		top := int64(segment.MaxNumber) / int64(count)
		seen := map[int64]int{}
		for _, index := range indexes {
			m := segmenttest.NewMemory()
			s := segment.Stripe(index, count, m)
			create(t, s, "x", segment.TagConfig{Step: 3})
			tag := segment.StripeTag("x", index, count)
			checkNumbers := func(r segment.Range) {
				t.Helper()
				if r.Stride != int64(count) || r.Length < 1 || (r.Length-1) > (segment.MaxNumber-r.First)/r.Stride {
					t.Fatalf("stripe %d of %d returned %+v", index, count, r)
				}
				for i := range r.Length {
					n := r.First + i*r.Stride
					if n%int64(count) != int64(index) || n < 0 || n > segment.MaxNumber {
						t.Fatalf("stripe %d of %d has the number %d", index, count, n)
					}
					if other, twice := seen[n]; twice && index != other {
						t.Fatalf("stripes %d and %d of %d have the number %d", index, other, count, n)
					}
					seen[n] = index
				}
			}
			for range 2 {
				r, err := s.Take(t.Context(), segment.Request{Tag: "x"})
				if err != nil {
					t.Fatal(err)
				}
				checkNumbers(r)
			}
			// All that is left is the numbers from the last ones that are certain on.
			m.SetCounter(tag, top-2)
			left := 0
			for ; ; left++ {
				r, err := s.Take(t.Context(), segment.Request{Tag: "x", Size: 2})
				if errors.Is(err, segment.ErrExhausted) {
					break
				}
				if err != nil || left > 5 {
					t.Fatalf("%v after %d ranges", err, left)
				}
				checkNumbers(r)
			}
			last := int64(segment.MaxNumber) - (int64(segment.MaxNumber)-int64(index))%int64(count)
			if _, ok := seen[last]; !ok {
				t.Fatalf("stripe %d of %d did not hand out its last number, %d", index, count, last)
			}
			// A Sequence refuses or hands out the same numbers, up to those that it can encode.
			m.SetCounter(tag, top/2-2)
			seq, err := segment.New(t.Context(), s, "x", segment.WithMaxWait(longWait))
			if err != nil {
				t.Fatal(err)
			}
			for range 6 {
				n, err := seq.Next()
				if err != nil || n%int64(count) != int64(index) || n < (top/2-2)*int64(count) {
					t.Fatalf("Next of stripe %d of %d from %d on = %d, %v", index, count, (top/2-2)*int64(count), n, err)
				}
			}
			if err := seq.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// AtLeast and Start are converted to counters exactly, at all places.
func TestStripeAtLeast(t *testing.T) {
	for _, count := range []int{1, 2, 3, 7, 1000, 1024} {
		for _, index := range []int{0, count / 2, count - 1} {
			c, x := int64(count), int64(index)
			for _, n := range []int64{0, 1, 2, x, x + 1, x + c, x + c + 1, 5*c + x - 1, 5*c + x, 5*c + x + 1, segment.MaxNumber - c, segment.MaxNumber, math.MaxInt64} {
				m := segmenttest.NewMemory()
				s := segment.Stripe(index, count, m)
				create(t, s, "x", segment.TagConfig{})
				tag := segment.StripeTag("x", index, count)
				want := int64(0) // the least q with q*c+x >= n
				if n > x {
					want = (n - x) / c
					if (n-x)%c > 0 {
						want++
					}
				}
				m.SetCounter(tag, max(want-1, 0))
				var setBack *segment.SetBackError
				_, err := s.Take(t.Context(), segment.Request{Tag: "x", Size: 1, AtLeast: n})
				if want > 0 && (!errors.As(err, &setBack) || setBack.AtLeast != want) {
					t.Fatalf("stripe %d of %d with AtLeast %d: %v, want the refusal of a counter less than %d", index, count, n, err, want)
				}
				m.SetCounter(tag, want)
				r, err := s.Take(t.Context(), segment.Request{Tag: "x", Size: 1, AtLeast: n})
				if err == nil && (r.First < n || r.First-c >= n && want > 0) || err != nil && !errors.Is(err, segment.ErrExhausted) {
					t.Fatalf("stripe %d of %d with AtLeast %d: %+v, %v", index, count, n, r, err)
				}
				if n <= segment.MaxNumber {
					create(t, s, "start", segment.TagConfig{Start: n})
					if got := m.Counter(segment.StripeTag("start", index, count)); got != max(want, 1) && n > 1 || got < 1 {
						t.Fatalf("stripe %d of %d with Start %d: the counter is %d, want %d", index, count, n, got, want)
					}
				}
			}
		}
	}
}

// Another number of stripes, and stores that were exchanged, are refused, and the error says what to look at.
func TestStripeWrongStore(t *testing.T) {
	stores := []*segmenttest.Memory{segmenttest.NewMemory(), segmenttest.NewMemory()}
	for i, m := range stores {
		create(t, segment.Stripe(i, 2, m), "orders", segment.TagConfig{})
	}
	for _, wrong := range []*segment.Striped{segment.Stripe(0, 2, stores[1]), segment.Stripe(1, 2, stores[0]), segment.Stripe(0, 3, stores[0]), segment.Stripe(0, 1, stores[0])} {
		_, err := segment.New(t.Context(), wrong, "orders")
		if !errors.Is(err, segment.ErrNoTag) || !strings.Contains(err.Error(), "another store") || !strings.Contains(err.Error(), "number of stripes") {
			t.Errorf("New with %s = %v; want ErrNoTag with advice", wrong, err)
		}
	}
	retired := segment.Stripe(0, 2, stores[0])
	stores[0].SetCounter(segment.StripeTag("orders", 0, 2), math.MaxInt64)
	if _, err := segment.New(t.Context(), retired, "orders"); !errors.Is(err, segment.ErrExhausted) || !strings.Contains(err.Error(), "number of stripes") {
		t.Errorf("New with %s, whose tag was retired = %v; want ErrExhausted with advice", retired, err)
	}
}

// create creates a tag.
func create(tb testing.TB, c segment.Creator, tag string, config segment.TagConfig) {
	tb.Helper()
	if err := c.CreateTag(tb.Context(), tag, config); err != nil {
		tb.Fatal(err)
	}
}

// The end of what a Sequence has received of a stripe is the number after the greatest one.
func TestStripeEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := segment.Stripe(1, 3, segmenttest.NewMemory())
		create(t, src, "x", segment.TagConfig{Step: 10})
		s, err := segment.New(t.Context(), src, "x", quietOption())
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		synctest.Wait()
		want := int64(20*3 + 1 + 1) // the store has returned 1 to 20
		if end, states := s.Stats().End, s.Sources(); end != want || len(states) != 1 || states[0].End != want {
			t.Errorf("the end is %d, and that of the sources %+v; want %d", end, states, want)
		}
	})
}

package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/stores/redisstore"
)

// createTag creates a tag; an error fails the test.
func createTag(t testing.TB, s segment.Creator, tag string, c segment.TagConfig) {
	t.Helper()
	if err := s.CreateTag(context.Background(), tag, c); err != nil {
		t.Fatal(err)
	}
}

// take takes a range; an error fails the test.
func take(t testing.TB, s segment.Source, r segment.Request) segment.Range {
	t.Helper()
	got, err := s.Take(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// wantTake takes a range and fails the test if it is another one.
func wantTake(t testing.TB, s segment.Source, r segment.Request, want segment.Range) {
	t.Helper()
	want.Stride = 1
	if got := take(t, s, r); got != want {
		t.Fatalf("Take(%+v) = %+v, want %+v", r, got, want)
	}
}

// A tag begins at its start, and each range begins where the last one ended.
func TestTake(t *testing.T) {
	s, c, pool := newStore(t)
	createTag(t, s, "orders", segment.TagConfig{})
	createTag(t, s, "Orders", segment.TagConfig{Start: 5, Step: 7, Description: "é, with a name that differs by case"})
	createTag(t, s, "a:b \"é\u2028'{x}", segment.TagConfig{Start: 100})
	wantTake(t, s, segment.Request{Tag: "orders"}, segment.Range{First: 1, Length: 1000, Step: 1000})
	wantTake(t, s, segment.Request{Tag: "orders", Size: 5}, segment.Range{First: 1001, Length: 5, Step: 1000})
	wantTake(t, s, segment.Request{Tag: "orders", Size: segment.MaxStep, AtLeast: 1006}, segment.Range{First: 1006, Length: segment.MaxStep, Step: 1000})
	wantTake(t, s, segment.Request{Tag: "Orders"}, segment.Range{First: 5, Length: 7, Step: 7})
	wantTake(t, s, segment.Request{Tag: "a:b \"é\u2028'{x}", Size: 1}, segment.Range{First: 100, Length: 1, Step: 1000})
	wantTake(t, s, segment.Request{Tag: "orders", Size: 1}, segment.Range{First: 1006 + segment.MaxStep, Length: 1, Step: 1000})
	if got := c.HGet(t.Context(), tagsKey(pool), "description:Orders").Val(); got != "é, with a name that differs by case" {
		t.Errorf("the description is %q", got)
	}
	if text := s.String(); !strings.Contains(text, pool) {
		t.Errorf("String() = %q, want the pool %q in it", text, pool)
	}
	for _, tag := range []string{"ORDERS", "orders2", "order", "é"} {
		_, err := s.Take(t.Context(), segment.Request{Tag: tag})
		if !errors.Is(err, segment.ErrNoTag) || !strings.Contains(err.Error(), strconv.Quote(tag)) || strings.Contains(err.Error(), "missing") {
			t.Errorf("Take(%q) = %v, want ErrNoTag", tag, err)
		}
	}
	if err := s.CreateTag(t.Context(), "orders", segment.TagConfig{Start: 1}); !errors.Is(err, segment.ErrTagExists) {
		t.Errorf("CreateTag() = %v, want ErrTagExists", err)
	}
	wantTake(t, s, segment.Request{Tag: "orders", Size: 1}, segment.Range{First: 1007 + segment.MaxStep, Length: 1, Step: 1000})
}

const (
	maxGapBits  = 32 // of the greatest failover gap
	maxSkipBits = 51 // of the sum of all gaps
)

// Counters are exact to 63 bits, around the bounds of 9 digits and of 53 bits, at which the scripts' arithmetic
// might fail.
func TestExactNumbers(t *testing.T) {
	s, c, pool := newStore(t, redisstore.WithFailoverGap(1<<maxGapBits))
	createTag(t, s, "x", segment.TagConfig{})
	set := func(field, value string) {
		t.Helper()
		if err := c.HSet(t.Context(), tagsKey(pool), field, value).Err(); err != nil {
			t.Fatal(err)
		}
	}
	set("skip", strconv.FormatInt(1<<maxSkipBits, 10))
	for _, n := range []int64{0, 1, 9, 10, 999_999_999, 1_000_000_000, 1_000_000_001, 1<<53 - 1, 1 << 53, 1<<53 + 1, 999_999_999_999_999_999,
		1_000_000_000_000_000_000, 1<<62 + 1, math.MaxInt64 - 1<<52, math.MaxInt64 - 1<<40 - 1<<maxSkipBits - 1} {
		for _, gap := range []int64{0, 1, 1 << maxGapBits, 1 << maxSkipBits} {
			skipped := strconv.FormatInt(1<<maxSkipBits-gap, 10)
			for d := int64(-2); d <= 2; d++ {
				atLeast := n + gap + d
				if atLeast < 0 {
					continue
				}
				set("next:x", strconv.FormatInt(n, 10))
				set("skip:x", skipped)
				r := segment.Request{Tag: "x", Size: 1 << 40, AtLeast: atLeast}
				if d <= 0 {
					wantTake(t, s, r, segment.Range{First: n + gap, Length: 1 << 40, Step: 1000})
					if next := c.HGet(t.Context(), tagsKey(pool), "next:x").Val(); next != strconv.FormatInt(n+gap+1<<40, 10) {
						t.Errorf("after %d the counter is %s", n, next)
					}
					continue
				}
				_, err := s.Take(t.Context(), r)
				var setBack *segment.SetBackError
				if !errors.As(err, &setBack) || *setBack != (segment.SetBackError{Tag: "x", Counter: n + gap, AtLeast: atLeast}) {
					t.Errorf("with the counter %d Take(%+v) = %v, want a SetBackError", n, r, err)
				}
				got := c.HMGet(t.Context(), tagsKey(pool), "next:x", "skip:x").Val()
				if got[0] != strconv.FormatInt(n, 10) || got[1] != skipped {
					t.Errorf("a refused Take has changed %d and %q to %v", n, skipped, got)
				}
			}
		}
	}
}

// The last range is shorter; then there are no numbers left. Nothing overflows.
func TestExhausted(t *testing.T) {
	s, c, pool := newStore(t, redisstore.WithFailoverGap(10))
	createTag(t, s, "x", segment.TagConfig{Start: math.MaxInt64 - 3})
	wantTake(t, s, segment.Request{Tag: "x", AtLeast: math.MaxInt64 - 3}, segment.Range{First: math.MaxInt64 - 3, Length: 3, Step: 1000})
	for _, size := range []int64{0, 1, segment.MaxStep} {
		if _, err := s.Take(t.Context(), segment.Request{Tag: "x", Size: size, AtLeast: math.MaxInt64}); !errors.Is(err, segment.ErrExhausted) {
			t.Errorf("Take() = %v, want ErrExhausted", err)
		}
	}
	if next := c.HGet(t.Context(), tagsKey(pool), "next:x").Val(); next != strconv.FormatInt(math.MaxInt64, 10) {
		t.Errorf("the counter is %s, want MaxInt64", next)
	}
	createTag(t, s, "last", segment.TagConfig{Start: segment.MaxNumber})
	wantTake(t, s, segment.Request{Tag: "last"}, segment.Range{First: segment.MaxNumber, Length: 1, Step: 1000})
	for counter, want := range map[int64]int64{math.MaxInt64 - 11: 1, math.MaxInt64 - 10: 0, math.MaxInt64: 0} { // with a gap
		c.HSet(t.Context(), tagsKey(pool), "next:x", counter, "skip:x", 0)
		got, err := s.Take(t.Context(), segment.Request{Tag: "x"})
		if got.Length != want || want == 0 && (!errors.Is(err, segment.ErrExhausted) || !strings.Contains(err.Error(), "plus 10 that are skipped")) {
			t.Errorf("with the counter %d and another history Take() = %+v, %v", counter, got, err)
		}
	}
	createTag(t, s, "old", segment.TagConfig{})
	if err := s.CreateTag(t.Context(), "new", segment.TagConfig{Start: segment.MaxNumber - 9, UnusedBefore: time.Unix(1, 0)}); !errors.Is(err, segment.ErrExhausted) {
		t.Errorf("CreateTag() = %v, want ErrExhausted", err)
	}
}

// A record that somebody has damaged is refused, and says what to set.
func TestDamagedTag(t *testing.T) {
	s, c, pool := newStore(t)
	createTag(t, s, "x", segment.TagConfig{})
	good := c.HGetAll(t.Context(), tagsKey(pool)).Val()
	values := []string{"", "-1", "+1", " 1", "1 ", "01", "1.0", "1e3", "0x10", "nan", "inf", "9223372036854775808", "10000000000000000000", strings.Repeat("9", 400), "1\n", "x", "-"}
	for field, values := range map[string][]string{
		"next:x": values, "step:x": append(values[:len(values):len(values)], "0", "1099511627777"),
		"skip:x": values, "skip": append(values[:len(values):len(values)], "2251799813685249"),
	} {
		for _, value := range values {
			c.HSet(t.Context(), tagsKey(pool), field, value)
			for _, r := range []segment.Request{{Tag: "x"}, {Tag: "x", Size: 1, AtLeast: 1}} {
				_, err := s.Take(t.Context(), r)
				if !errors.Is(err, segment.ErrSource) || !strings.Contains(err.Error(), strconv.Quote(field)) || !strings.Contains(err.Error(), "HSET") {
					t.Errorf("with %s %q Take() = %v, want ErrSource", field, value, err)
				}
			}
		}
		if field == "skip:x" { // without it, all is skipped
			// What the error says to set must not lead to numbers from before a loss that another tag has noticed.
			_, err := s.Take(t.Context(), segment.Request{Tag: "x"})
			if !strings.Contains(err.Error(), "set it to 0 with HSET") {
				t.Errorf("Take() = %v", err)
			}
			c.HSet(t.Context(), tagsKey(pool), field, 0, "skip", 1_000_000)
			wantTake(t, s, segment.Request{Tag: "x", Size: 1}, segment.Range{First: 1_000_001, Length: 1, Step: 1000})
			c.HSet(t.Context(), tagsKey(pool), good)
			continue
		}
		c.HDel(t.Context(), tagsKey(pool), field)
		_, err := s.Take(t.Context(), segment.Request{Tag: "x"})
		if !errors.Is(err, segment.ErrSource) {
			t.Errorf("without %s Take() = %v, want ErrSource", field, err)
		}
		if err := s.CreateTag(t.Context(), "x", segment.TagConfig{}); err == nil {
			t.Errorf("without %s CreateTag() has created the tag again", field)
		}
		c.HSet(t.Context(), tagsKey(pool), good)
	}
	// A tag that an operator has made by hand, and one at 0.
	c.HSet(t.Context(), tagsKey(pool), "next:hand", 0, "step:hand", 10)
	wantTake(t, s, segment.Request{Tag: "hand", Size: 1}, segment.Range{First: 1_000_000, Length: 1, Step: 10})
	c.HSet(t.Context(), tagsKey(pool), "next:hand", 0)
	wantTake(t, s, segment.Request{Tag: "hand", Size: 2}, segment.Range{First: 0, Length: 2, Step: 10})
	c.Del(t.Context(), tagsKey(pool))
	c.Set(t.Context(), tagsKey(pool), "x", 0)
	_, err := s.Take(t.Context(), segment.Request{Tag: "x"})
	for _, err := range []error{err, s.CreateTag(t.Context(), "x", segment.TagConfig{})} {
		if !errors.Is(err, segment.ErrSource) || !strings.Contains(err.Error(), "another program uses a key") {
			t.Errorf("with a key of another type the error is %v", err)
		}
	}
}

// Invalid arguments are refused before the server is used.
func TestInvalidRequests(t *testing.T) {
	c := connect(t, "127.0.0.1:1")
	for name, s := range map[string]*redisstore.Store{
		"the failover gap is -1":         redisstore.New(c, redisstore.WithFailoverGap(-1)),
		"the failover gap is 4294967297": redisstore.New(c, redisstore.WithFailoverGap(1<<maxGapBits+1)),
		"the client is nil":              redisstore.New(nil),
		"must be created by New":         new(redisstore.Store),
	} {
		_, err := s.Take(t.Context(), segment.Request{Tag: "x"})
		for _, err := range []error{err, s.CreateTag(t.Context(), "x", segment.TagConfig{})} {
			if !errors.Is(err, segment.ErrOption) || !strings.Contains(err.Error(), name) {
				t.Errorf("the error is %v, want %q", err, name)
			}
		}
	}
	s := redisstore.New(c)
	for _, r := range []segment.Request{{}, {Tag: " x"}, {Tag: "x", Size: -1}, {Tag: "x", Size: segment.MaxStep + 1}, {Tag: "x", AtLeast: -1}} {
		if _, err := s.Take(t.Context(), r); !errors.Is(err, segment.ErrOption) && !errors.Is(err, segment.ErrTag) {
			t.Errorf("Take(%+v) = %v", r, err)
		}
	}
	for tag, c := range map[string]segment.TagConfig{"": {}, "x": {Step: -1}, "y": {Start: math.MaxInt64}, "z": {Description: "\n"}} {
		if err := s.CreateTag(t.Context(), tag, c); !errors.Is(err, segment.ErrOption) && !errors.Is(err, segment.ErrTag) {
			t.Errorf("CreateTag(%q, %+v) = %v", tag, c, err)
		}
	}
	_, err := s.Take(t.Context(), segment.Request{Tag: "x"})
	if err == nil || !strings.Contains(err.Error(), "check the address") || !strings.Contains(err.Error(), `"x"`) {
		t.Errorf("without a server Take() = %v", err)
	}
}

// tagFields returns the hash of the tags.
func tagFields(t testing.TB, c goredis.UniversalClient, pool string) string {
	t.Helper()
	return fmt.Sprint(c.HGetAll(context.Background(), tagsKey(pool)).Val())
}

package segmenttest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/ringuid/ringuid/segment"
)

// A second CreateTag of a tag fails, and changes nothing.
func testCreateTwice(t *sourceTest) {
	other := t.open()
	t.create("orders", segment.TagConfig{Start: 100, Step: 10})
	second := segment.TagConfig{Start: 5, Step: 20, Description: "second"}
	exists := func() {
		t.Helper()
		for _, c := range []segment.TagConfig{second, {}, {Start: 1 << 40}, {UnusedBefore: time.Now().Add(-time.Hour)}} {
			if err := t.createErr(other, "orders", c); !errors.Is(err, segment.ErrTagExists) {
				t.Errorf("CreateTag of a tag that exists returned %v; want an error that wraps %q", err, segment.ErrTagExists)
			}
		}
	}
	exists()
	var taken ledger
	taken.add(t.take(t.source, segment.Request{Tag: "orders"}))
	exists()
	got := t.take(t.source, segment.Request{Tag: "orders"})
	t.checkLength(segment.Request{Tag: "orders"}, got, 10)
	taken.add(got)
	taken.checkDense(t, 100)
}

// Of several CreateTags of one tag at the same time, exactly one succeeds, and the tag is as that has made it.
func testCreateConcurrently(t *sourceTest) {
	const creators = 6
	clients := t.clients(creators)
	for round := range 8 {
		tag := fmt.Sprintf("tag %d", round)
		errs := make([]error, creators)
		concurrently(creators, func(n int) {
			errs[n] = t.createErr(clients[n], tag, segment.TagConfig{Start: int64(n+1) * 1000, Step: int64(n + 1)})
		})
		winner := -1
		for n, err := range errs {
			switch {
			case err == nil && winner >= 0:
				t.Fatalf("two CreateTags of one tag succeeded")
			case err == nil:
				winner = n
			case !errors.Is(err, segment.ErrTagExists):
				t.Fatalf("CreateTag, called concurrently, returned %v; want nil or an error that wraps %q", err, segment.ErrTagExists)
			}
		}
		if winner < 0 {
			t.Fatalf("no CreateTag of a tag succeeded: %v", errs)
		}
		got := t.take(clients[0], segment.Request{Tag: tag})
		t.checkLength(segment.Request{Tag: tag}, got, int64(winner+1))
		if start := int64(winner+1) * 1000; got.First < start || got.First >= start+stride(got) {
			t.Fatalf("the first range of a tag is %+v; want the start %d, which the CreateTag that succeeded has set", got, start)
		}
	}
}

// A program that creates tags by itself does not need to know whether the store has lost something.
func testUnusedBefore(t *sourceTest) {
	before := time.Now().Add(-time.Hour)
	err := t.createErr(t.source, "day 1", segment.TagConfig{UnusedBefore: before})
	switch {
	case errors.Is(err, segment.ErrNoTag):
		// The store cannot know whether it was emptied, so it refuses until somebody has declared it new.
		t.refused(t.source, segment.Request{Tag: "day 1"}, segment.ErrNoTag)
		t.create("day 1", segment.TagConfig{})
	case err != nil:
		t.Fatalf("CreateTag with UnusedBefore in an empty store returned %v; want nil, or an error that wraps %q", err, segment.ErrNoTag)
	}
	if got := t.take(t.source, segment.Request{Tag: "day 1"}); got.First < 1 {
		t.Errorf("the first range of a tag is %+v; want its start, 1, or later", got)
	}
	// A store with tags accepts it.
	for n := range 3 {
		tag := fmt.Sprintf("day %d", n+2)
		t.create(tag, segment.TagConfig{Start: 100, Step: 5, UnusedBefore: time.Now()})
		var taken ledger
		for range 3 {
			taken.add(t.take(t.open(), segment.Request{Tag: tag}))
		}
		taken.check(t)
		if first := taken.ranges[0].First; first < 100 {
			t.Errorf("the first number of a tag that starts at 100 is %d", first)
		}
	}
}

// Names that no tag can have are refused.
func testBadTags(t *sourceTest) {
	for _, tag := range []string{"", ".", "..", " ", "a ", " a", "a\x00b", "a\nb", "\x7f", "a\u0085b", "\xff", "a\xc3", strings.Repeat("a", segment.MaxTagLength+1), strings.Repeat("é", 65)} {
		t.refused(t.source, segment.Request{Tag: tag, Size: 1}, segment.ErrTag)
		if err := t.createErr(t.source, tag, segment.TagConfig{}); !errors.Is(err, segment.ErrTag) {
			t.Errorf("CreateTag(%q) returned %v; want an error that wraps %q", tag, err, segment.ErrTag)
		}
	}
}

// Fields out of range are refused, and change nothing.
func testBadOptions(t *sourceTest) {
	t.create("orders", segment.TagConfig{Start: 100, Step: 10})
	for _, r := range []segment.Request{{Size: -1}, {Size: math.MinInt64}, {Size: segment.MaxStep + 1}, {Size: math.MaxInt64}, {AtLeast: -1}, {Size: 1, AtLeast: math.MinInt64}} {
		r.Tag = "orders"
		t.refused(t.source, r, segment.ErrOption)
	}
	if got := t.take(t.source, segment.Request{Tag: "orders"}); got.First < 100 || got.First >= 100+stride(got) {
		t.Errorf("after Takes with invalid fields, the first range is %+v; want 100 as its first number", got)
	}
	for _, c := range []segment.TagConfig{{Start: -1}, {Start: math.MaxInt64}, {Step: -1}, {Step: segment.MaxStep + 1}, {Step: math.MinInt64},
		{Description: "a\x00b"}, {Description: "a\nb"}, {Description: "\xff"}, {Description: strings.Repeat("é", segment.MaxDescriptionLength+1)}} {
		if err := t.createErr(t.source, "invoices", c); !errors.Is(err, segment.ErrOption) {
			t.Errorf("CreateTag with %+v returned %v; want an error that wraps %q", c, err, segment.ErrOption)
		}
		t.refused(t.source, segment.Request{Tag: "invoices"}, segment.ErrNoTag)
	}
}

// similarTags are groups of tags that stores are known to confuse.
var similarTags = [][]string{
	{"orders", "ORDERS", "Orders", "order", "orders2", "orders/2", "orders:2", "orders.2"},
	{"a", "b", "a/b", "a//b", "a/", "/a", "/", "...", "../a", "a/../b"},
	{"a%", "a_", "a*", "a?", "a[b]", "ab", "aXb", "a b", "a  b", "a+b", "a%20b"},
	{"café", "cafe", "cafe\u0301", "CAFÉ"},
	{"ß", "ss", "SS", "ẞ"},
	{"ſ", "s", "S", "K", "\u212a", "k", "İ", "i", "ı", "I"},
	{"ﬁ", "fi", "１", "1", "①", "01", "1.0"},
	{"日本", "日本語", "にほん", "ニホン", "🙂", "🙃", "a🙂"},
	{"it's", `it"s`, `it\s`, `it\'s`, "it`s", "it;s", "it--s", "x'); DROP TABLE leaf_alloc; --", "${x}", "{x}", "{x}y", "%s", "%[1]d"},
	{"null", "NULL", "0", "-1", "true", "id", "next", "tag", "history"},
	{"a\u200bb", "a\u00adb", "a\u00a0b", "\ufeffa", "a\u202eb"},
}

// Tags that differ in any way are different tags.
func testSimilarTags(t *sourceTest) {
	other := t.open()
	seen := map[string]bool{}
	type created struct {
		tag   string
		start int64
	}
	var all []created
	for _, group := range similarTags {
		for _, tag := range group {
			if seen[tag] {
				continue
			}
			seen[tag] = true
			// It is no other tag that exists already.
			t.refused(other, segment.Request{Tag: tag}, segment.ErrNoTag)
			start := int64(len(all)+1) * 1_000_000
			err := t.createErr(t.source, tag, segment.TagConfig{Start: start, Step: 10, Description: "tag " + tag})
			switch {
			case err == nil:
				all = append(all, created{tag, start})
			case t.h.FoldsTags && (errors.Is(err, segment.ErrTagExists) || errors.Is(err, segment.ErrTag)):
				t.Logf("the store cannot have the tag %q: %v", tag, err)
				t.refused(other, segment.Request{Tag: tag}, segment.ErrNoTag)
			default:
				t.Errorf("CreateTag(%q) after tags with similar names: %v", tag, err)
			}
		}
	}
	for round := range int64(3) {
		for _, c := range all {
			got := t.take(other, segment.Request{Tag: c.tag, Size: 5})
			if want := c.start + 5*round; got.First != want && stride(got) == 1 && !t.h.MayReturnFewer || got.First < c.start || last(got) >= c.start+1_000_000 {
				t.Errorf("the range of tag %q is %+v; want %d as its first number: it is confused with another tag", c.tag, got, want)
			}
		}
	}
}

// Tags of the greatest length, and many tags.
func testLongTags(t *sourceTest) {
	long := []string{
		strings.Repeat("a", segment.MaxTagLength),
		strings.Repeat("a", segment.MaxTagLength-1) + "b",
		strings.Repeat("a", segment.MaxTagLength-1),
		strings.Repeat("日", 42) + "ab",
		strings.Repeat("日", 42) + "ac",
		strings.Repeat("🙂", 32),
		strings.Repeat("%", segment.MaxTagLength),
		strings.Repeat("/", segment.MaxTagLength),
	}
	for n := range 40 {
		long = append(long, fmt.Sprintf("tenant %d of many", n))
	}
	for n, tag := range long {
		t.create(tag, segment.TagConfig{Start: int64(n+1) * 1000, Step: 10})
	}
	clients := t.clients(4)
	ledgers := make([]ledger, len(long))
	var wrong sync.Once
	concurrently(len(clients), func(g int) {
		ctx, cancel := context.WithTimeout(context.Background(), 3*callTimeout)
		defer cancel()
		for n, tag := range long {
			got, err := t.call(ctx, clients[g], segment.Request{Tag: tag, Size: 4})
			if err != nil || got.First < int64(n+1)*1000 || last(got) >= int64(n+2)*1000 {
				wrong.Do(func() { t.Errorf("Take of tag %q, which starts at %d, returned %+v, %v", tag, (n+1)*1000, got, err) })
				return
			}
			ledgers[n].add(got)
		}
	})
	for n := range ledgers {
		ledgers[n].check(t)
	}
}

package filestore

import (
	"errors"
	"math"
	"os"
	"testing"
	"time"

	"github.com/ringuid/ringuid/segment"
)

// With WithCopyGap, a copy continues beyond a gap, once, and so do tags that may have been created after the copy was
// made.
func TestFileCopyGap(t *testing.T) {
	path, f := newTagsFile(t, "orders", "last")
	editFile(t, path, func(c *tagContent) { c.tag("last").next = math.MaxInt64 - 50 })
	old := mustReadFile(t, path)
	before := time.Now()
	for range 3 {
		mustTakeFile(t, f, "orders") // up to 30
	}
	remove(t, path)
	write(t, path, old)
	f = openTags(path, WithCopyGap(100))
	for n := range int64(3) {
		if got := mustTakeFile(t, f, "orders"); got.First != 101+10*n {
			t.Errorf("range %d after a copy is %+v, want %d", n, got, 101+10*n)
		}
	}
	if _, err := f.Take(t.Context(), segment.Request{Tag: "last"}); !errors.Is(err, segment.ErrExhausted) {
		t.Errorf("a tag that ends within the gap: %v, want ErrExhausted", err)
	}
	f = openTags(path)
	for tag, tt := range map[string]struct {
		c    segment.TagConfig
		want int64
	}{
		"known to be new":        {segment.TagConfig{Start: 5}, 5},
		"perhaps there before":   {segment.TagConfig{Start: 5, UnusedBefore: before}, 105},
		"after the copy":         {segment.TagConfig{Start: 5, UnusedBefore: time.Now().Add(time.Second)}, 5},
		"perhaps there, at last": {segment.TagConfig{Start: segment.MaxNumber, UnusedBefore: before}, 0},
	} {
		if err := f.CreateTag(t.Context(), tag, tt.c); err != nil {
			t.Fatal(err)
		}
		got, err := f.Take(t.Context(), segment.Request{Tag: tag})
		if tt.want == 0 && !errors.Is(err, segment.ErrExhausted) || tt.want != 0 && got.First != tt.want {
			t.Errorf("tag %s: %+v, %v; want %d", tag, got, err, tt.want)
		}
	}
	// A file that is damaged is not accepted.
	write(t, path, old[:len(old)-2])
	if _, err := openTags(path, WithCopyGap(100)).Take(t.Context(), segment.Request{Tag: "orders"}); !errors.Is(err, segment.ErrSource) {
		t.Errorf("a damaged file with WithCopyGap: %v, want ErrSource", err)
	}
}

// A tag that was created after one copy, and lost with the next one, begins beyond both gaps.
func TestFileCopyGapTwice(t *testing.T) {
	path, _ := newTagsFile(t, "orders")
	before := time.Now()
	data := mustReadFile(t, path)
	for n := range int64(2) {
		remove(t, path)
		write(t, path, data)
		f := openTags(path, WithCopyGap(100))
		mustTakeFile(t, f, "orders")
		data = mustReadFile(t, path)
		if err := f.CreateTag(t.Context(), "lost", segment.TagConfig{UnusedBefore: before}); err != nil {
			t.Fatal(err)
		}
		if got := mustTakeFile(t, f, "lost"); got.First != 1+100*(n+1) {
			t.Errorf("after %d copies, a tag that was lost with each of them begins with %+v; want %d", n+1, got, 1+100*(n+1))
		}
	}
}

// A tag that may have been created up to the time of a copy begins beyond the gap, and one that was certainly not
// begins at its start.
func TestFileUnusedBeforeCopy(t *testing.T) {
	path, _ := newTagsFile(t, "orders")
	if err := os.WriteFile(path+".copy", mustReadFile(t, path), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".copy", path); err != nil {
		t.Fatal(err)
	}
	f := openTags(path, WithCopyGap(1000))
	if got := mustTakeFile(t, f, "orders"); got.First != 1001 {
		t.Fatalf("Take after the copy = %+v, want 1001", got)
	}
	c, err := decodeFile(mustReadFile(t, path))
	if err != nil {
		t.Fatal(err)
	}
	copied := time.UnixMilli(c.copied)
	for name, tt := range map[string]struct {
		unusedBefore time.Time
		first        int64
	}{"before": {copied.Add(-time.Millisecond), 1001}, "at": {copied, 1001}, "after": {copied.Add(time.Millisecond), 1}, "never": {time.Time{}, 1}} {
		if err := f.CreateTag(t.Context(), name, segment.TagConfig{UnusedBefore: tt.unusedBefore}); err != nil {
			t.Fatal(err)
		}
		if got := mustTakeFile(t, f, name); got.First != tt.first {
			t.Errorf("%s: the first range is %+v, want %d", name, got, tt.first)
		}
	}
}

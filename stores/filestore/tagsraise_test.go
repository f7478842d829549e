package filestore

import (
	"os"
	"testing"
	"time"

	"github.com/ringuid/ringuid/segment"
)

// RaiseTag does not write the file if it does not raise the counter.
func TestFileRaiseTagWritesNothing(t *testing.T) {
	path, f := newTagsFile(t, "orders")
	if err := f.RaiseTag(t.Context(), "orders", 500); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, next := range []int64{500, 499, 1} {
		if err := f.RaiseTag(t.Context(), "orders", next); err != nil {
			t.Fatal(err)
		}
		if after, err := os.Stat(path); err != nil || !os.SameFile(before, after) {
			t.Errorf("RaiseTag to %d has written the file, whose counter is 500: %v", next, err)
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

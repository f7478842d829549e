package filestore

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/ringuid/ringuid/segment"
)

// With WithCopyGap, a copy continues beyond a gap, once, and so do tags that may have been created after the copy was
// made.
func TestFileCopyGap(t *testing.T) {
	path, f := newTagsFile(t, "orders", "last")
	if err := f.RaiseTag(t.Context(), "last", math.MaxInt64-50); err != nil {
		t.Fatal(err)
	}
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

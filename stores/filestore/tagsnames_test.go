package filestore

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/ringuid/ringuid/internal/lockedfile"
	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/segment"
)

// A file or a lock file with two names (hard links) is refused under both.
func TestFileWithTwoNames(t *testing.T) {
	for linked, suffixes := range map[string][]string{"file": {""}, "lock file": {".lock"}, "both": {"", ".lock"}} {
		path, f := newTagsFile(t, "orders")
		other := filepath.Join(t.TempDir(), "other"+TagsSuffix)
		for _, suffix := range suffixes {
			if err := os.Link(path+suffix, other+suffix); err != nil {
				testkit.Missing(t, "the file system has no hard links: ", err)
			}
		}
		for _, f := range []*Store{f, openTags(path), openTags(other), openTags(other, WithCopyGap(1))} {
			_, err := f.Take(t.Context(), segment.Request{Tag: "orders"})
			if !errors.Is(err, lockedfile.ErrNames) || !errors.Is(err, segment.ErrSource) {
				t.Errorf("%s: %v; want ErrSource because of two names", linked, err)
			}
		}
		for _, suffix := range suffixes {
			remove(t, other+suffix)
		}
		if got := mustTakeFile(t, f, "orders"); got.First != 1 {
			t.Errorf("%s: after the other names were removed: %+v", linked, got)
		}
	}
}

// Of a symbolic link to the file of a pool, the tags are those of the file, whether that exists or not.
func TestTagsOfSymbolicLink(t *testing.T) {
	for _, exists := range []bool{false, true} {
		directory := t.TempDir()
		path := filepath.Join(directory, "ids")
		if exists {
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		first, second := filepath.Join(directory, "first"), filepath.Join(t.TempDir(), "second")
		if err := errors.Join(os.Symlink("ids", first), os.Symlink(first, second)); err != nil {
			testkit.Missing(t, "there are no symbolic links: ", err)
		}
		if err := New(second).CreateTag(t.Context(), "orders", segment.TagConfig{Step: 10}); err != nil {
			t.Fatal(err)
		}
		for n, p := range []string{path, first, second, path} {
			if got := mustTakeFile(t, New(p), "orders"); got.First != 1+10*int64(n) {
				t.Errorf("the file exists: %v; the range of %s is %+v", exists, p, got)
			}
		}
	}
}

// A relative link in a directory that is a link itself begins where that leads to, as for the operating system.
func TestTagsOfLinkInLinkedDirectory(t *testing.T) {
	directory := t.TempDir()
	path := filepath.Join(directory, "shared", "ids")
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.MkdirAll(filepath.Join(directory, "releases", "42"), 0o700)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Symlink(filepath.Join("releases", "42"), filepath.Join(directory, "current")),
		os.Symlink(filepath.Join("..", "..", "shared", "ids"), filepath.Join(directory, "releases", "42", "ids"))); err != nil {
		testkit.Missing(t, "there are no symbolic links: ", err)
	}
	link, behind := filepath.Join(directory, "current", "ids"), filepath.Join(directory, "ids")
	if err := os.Symlink("current/../../shared/ids", behind); err != nil {
		t.Fatal(err)
	}
	if err := New(link).CreateTag(t.Context(), "orders", segment.TagConfig{Step: 10}); err != nil {
		t.Fatal(err)
	}
	for n, p := range []string{path, link, behind} {
		if got := mustTakeFile(t, New(p), "orders"); got.First != 1+10*int64(n) {
			t.Errorf("the range of %s is %+v", p, got)
		}
	}
}

// Symbolic links lead to one file and one lock.
func TestFileSymbolicLink(t *testing.T) {
	path, f := newTagsFile(t, "orders")
	link := filepath.Join(t.TempDir(), "link"+TagsSuffix)
	if err := os.Symlink(path, link); err != nil {
		testkit.Missing(t, "there are no symbolic links: ", err)
	}
	for n := range int64(4) {
		if got := mustTakeFile(t, []*Store{f, openTags(link)}[n%2], "orders"); got.First != 1+10*n {
			t.Errorf("range %d is %+v", n, got)
		}
	}
}

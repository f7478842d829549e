package filestore

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringuid/ringuid/internal/lockedfile"
	"github.com/ringuid/ringuid/segment"
)

// openTags returns a Store whose tags are in the file at path.
func openTags(path string, opts ...Option) *Store {
	return New(strings.TrimSuffix(path, TagsSuffix), opts...)
}

// editFile changes the content of a file as an operator could do who knows its format, and keeps its identity.
func editFile(tb testing.TB, path string, change func(c *tagContent)) {
	tb.Helper()
	f := openTags(path)
	err := f.tags.do(context.Background(), &tagCall{done: make(chan struct{}), apply: func(c *tagContent) error {
		change(c)
		return nil
	}})
	if err != nil {
		tb.Fatal(err)
	}
}

// newTagsFile returns a File in a new directory that has the given tags, with the step 10.
func newTagsFile(tb testing.TB, tags ...string) (path string, f *Store) {
	tb.Helper()
	path = filepath.Join(tb.TempDir(), "segments"+TagsSuffix)
	f = openTags(path)
	for _, tag := range tags {
		if err := f.CreateTag(context.Background(), tag, segment.TagConfig{Step: 10}); err != nil {
			tb.Fatal(err)
		}
	}
	return path, f
}

// mustTakeFile takes from a file that can be used.
func mustTakeFile(tb testing.TB, f *Store, tag string) segment.Range {
	tb.Helper()
	got, err := f.Take(context.Background(), segment.Request{Tag: tag})
	if err != nil {
		tb.Fatal(err)
	}
	return got
}

// mustReadFile returns the content of a file.
func mustReadFile(tb testing.TB, path string) []byte {
	tb.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// holdFileLock holds the lock of a file, as another process does, until the function that it returns is called.
func holdFileLock(tb testing.TB, path string) (release func()) {
	tb.Helper()
	lock, err := lockedfile.Open(context.Background(), path, lockedfile.Waiting{MaxPause: maxFilePause})
	if err != nil {
		tb.Fatal(err)
	}
	return func() { lock.Close() }
}

// failFileAt makes a File fail after a step, until the test changes it again.
func failFileAt(f *Store, at lockedfile.Step, err error) {
	f.tags.hook = func(s lockedfile.Step) error {
		if s == at {
			return err
		}
		return nil
	}
}

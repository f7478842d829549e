package filestore

import (
	"testing"

	"github.com/ringuid/ringuid/internal/lockedfile"
)

// For the tests of package filestore_test, which use package segmenttest. A path is that of New.

// HoldFileLock holds the lock of a file until the function that it returns is called.
func HoldFileLock(tb testing.TB, path string) (release func()) {
	return holdFileLock(tb, path+TagsSuffix)
}

// SetFileCounter sets the next number of a tag.
func SetFileCounter(tb testing.TB, path, tag string, next int64) {
	editFile(tb, path+TagsSuffix, func(c *tagContent) { c.tag(tag).next = next })
}

// SetBackFile returns a function that gives the file the tags again that it has now, and keeps its identity.
func SetBackFile(tb testing.TB, path string) (setBack func()) {
	c, err := decodeFile(mustReadFile(tb, path+TagsSuffix))
	if err != nil {
		tb.Fatal(err)
	}
	return func() { editFile(tb, path+TagsSuffix, func(now *tagContent) { now.tags, now.index = c.tags, c.index }) }
}

// FailFileWhen makes calls of f fail after the file was written, while failing returns an error.
func FailFileWhen(f *Store, failing func() error) *Store {
	f.tags.hook = func(s lockedfile.Step) error {
		if s == lockedfile.StepSynced {
			return failing()
		}
		return nil
	}
	return f
}

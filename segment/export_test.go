package segment

import (
	"testing"

	"github.com/ringuid/ringuid/internal/lockedfile"
)

// For the tests of package segment_test, which use package segmenttest.

// HoldFileLock holds the lock of a file until the function that it returns is called.
func HoldFileLock(tb testing.TB, path string) (release func()) { return holdFileLock(tb, path) }

// SetFileCounter sets the next number of a tag.
func SetFileCounter(tb testing.TB, path, tag string, next int64) {
	editFile(tb, path, func(c *fileContent) { c.tag(tag).next = next })
}

// SetBackFile returns a function that gives the file the tags again that it has now, and keeps its identity.
func SetBackFile(tb testing.TB, path string) (setBack func()) {
	c, err := decodeFile(mustReadFile(tb, path))
	if err != nil {
		tb.Fatal(err)
	}
	return func() { editFile(tb, path, func(now *fileContent) { now.tags, now.index = c.tags, c.index }) }
}

// FailFileWhen makes calls of f fail after the file was written, while failing returns an error.
func FailFileWhen(f *File, failing func() error) *File {
	f.hook = func(s lockedfile.Step) error {
		if s == lockedfile.StepSynced {
			return failing()
		}
		return nil
	}
	return f
}

package segment

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/ringuid/ringuid/internal/lockedfile"
)

// editFile changes the content of a file as an operator could do who knows its format, and keeps its identity.
func editFile(tb testing.TB, path string, change func(c *fileContent)) {
	tb.Helper()
	f := NewFile(path)
	err := f.do(context.Background(), &fileCall{done: make(chan struct{}), apply: func(c *fileContent) (bool, error) {
		change(c)
		return true, nil
	}})
	if err != nil {
		tb.Fatal(err)
	}
}

// newTagsFile returns a File in a new directory that has the given tags, with the step 10.
func newTagsFile(tb testing.TB, tags ...string) (path string, f *File) {
	tb.Helper()
	path = filepath.Join(tb.TempDir(), "segments")
	f = NewFile(path)
	for _, tag := range tags {
		if err := f.CreateTag(context.Background(), tag, TagConfig{Step: 10}); err != nil {
			tb.Fatal(err)
		}
	}
	return path, f
}

// mustTakeFile takes from a file that can be used.
func mustTakeFile(tb testing.TB, f *File, tag string) Range {
	tb.Helper()
	got, err := f.Take(context.Background(), Request{Tag: tag})
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
func failFileAt(f *File, at lockedfile.Step, err error) {
	f.hook = func(s lockedfile.Step) error {
		if s == at {
			return err
		}
		return nil
	}
}

package filestore

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// damages are what can happen to a file, with a part of the error. old is an earlier content.
var damages = map[string]struct {
	damage func(t *testing.T, path string, old []byte)
	want   string
}{
	"missing": {func(t *testing.T, path string, _ []byte) { remove(t, path) }, "is missing"},
	"empty":   {func(t *testing.T, path string, _ []byte) { write(t, path, nil) }, "not what this package wrote"},
	"cut":     {func(t *testing.T, path string, _ []byte) { write(t, path, mustReadFile(t, path)[:100]) }, "not what this package wrote"},
	"without its last byte": {func(t *testing.T, path string, _ []byte) {
		data := mustReadFile(t, path)
		write(t, path, data[:len(data)-1])
	}, "not what this package wrote"},
	"zeros":     {func(t *testing.T, path string, _ []byte) { write(t, path, make([]byte, 4096)) }, "not what this package wrote"},
	"directory": {func(t *testing.T, path string, _ []byte) { remove(t, path); os.Mkdir(path, 0o700) }, "not a regular file"},
	"changed": {func(t *testing.T, path string, _ []byte) {
		write(t, path, bytes.Replace(mustReadFile(t, path), []byte(`tag "orders" `), []byte(`tag "orderS" `), 1))
	}, "not what this package wrote"},
	"older content": {func(t *testing.T, path string, old []byte) { write(t, path, old) }, "is a copy"},
	"renamed copy": {func(t *testing.T, path string, old []byte) {
		write(t, path+".old", old)
		if err := os.Rename(path+".old", path); err != nil {
			t.Fatal(err)
		}
	}, "is a copy"},
	"both copied": {func(t *testing.T, path string, old []byte) {
		remove(t, path)
		remove(t, path+".lock")
		write(t, path, old)
		write(t, path+".lock", []byte(fileLockMarker))
	}, "is a copy"},
	"lock file deleted": {func(t *testing.T, path string, _ []byte) { remove(t, path+".lock") }, "is a copy"},
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

// A file that cannot be trusted is refused by all methods, and not changed, by the File that has used it and by a
// new one.
func TestFileIsRefused(t *testing.T) {
	for name, tt := range damages {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // it waits for the disk most of the time
			greatest := 4
			if testing.Short() {
				greatest = 2
			}
			for writes := 1; writes <= greatest; writes++ { // inode numbers are used alternately
				path, f := newTagsFile(t, "orders", "invoices")
				mustTakeFile(t, f, "orders")
				old := mustReadFile(t, path)
				time.Sleep(20 * time.Millisecond) // the resolution of the time of creation
				for range writes {
					mustTakeFile(t, f, "orders")
				}
				time.Sleep(20 * time.Millisecond)
				tt.damage(t, path, old)
				before, _ := os.ReadFile(path)
				check := func(err error) {
					t.Helper()
					if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), path) || name != "directory" && !errors.Is(err, segment.ErrSource) {
						t.Errorf("after %d writes: %v; want ErrSource with the path and %q", writes, err, tt.want)
					}
				}
				for _, f := range []*Store{f, openTags(path)} {
					_, err := f.Take(t.Context(), segment.Request{Tag: "orders"})
					check(err)
					check(f.CreateTag(t.Context(), "tickets", segment.TagConfig{}))
				}
				if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
					t.Errorf("the file was changed from %q to %q", before, after)
				}
			}
		})
	}
}

// A file of another machine is refused, even if its inode numbers were equal. A machine without an identity is
// like one machine.
func TestFileOfAnotherMachine(t *testing.T) {
	for _, tt := range []struct {
		written, read string
		ok            bool
	}{{"a", "a", true}, {"", "", true}, {"a", "b", false}, {"a", "", false}, {"", "a", false}} {
		path := filepath.Join(t.TempDir(), "segments"+TagsSuffix)
		f := openTags(path)
		f.tags.machine = func() string { return tt.written }
		if err := f.CreateTag(t.Context(), "orders", segment.TagConfig{}); err != nil {
			t.Fatal(err)
		}
		f.tags.machine = func() string { return tt.read }
		_, err := f.Take(t.Context(), segment.Request{Tag: "orders"})
		if tt.ok != (err == nil) || !tt.ok && (!errors.Is(err, segment.ErrSource) || !strings.Contains(err.Error(), "another machine")) {
			t.Errorf("written on %q, read on %q: %v", tt.written, tt.read, err)
		}
	}
}

// What prevents the use of a file is an error that says what to do.
func TestFileErrors(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing", "segments"+TagsSuffix)
	if err := openTags(missing).CreateTag(t.Context(), "orders", segment.TagConfig{}); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "create the directory") {
		t.Errorf("without a directory: %v", err)
	}
	empty := filepath.Join(t.TempDir(), "segments"+TagsSuffix)
	if err := openTags(empty).CreateTag(t.Context(), "orders", segment.TagConfig{UnusedBefore: time.Now()}); !errors.Is(err, segment.ErrNoTag) || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("an automatic creation without a file: %v, want ErrNoTag", err)
	}
	if _, err := os.Stat(empty); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a creation that was refused has created the file: %v", err)
	}
	for name, f := range map[string]*Store{
		"no path": openTags(""), "nil option": openTags("a", nil), "gap": openTags("a", WithCopyGap(0)), "zero": {}, "nil": nil,
	} {
		_, err := f.Take(t.Context(), segment.Request{Tag: "orders"})
		for _, err := range []error{err, f.CreateTag(t.Context(), "orders", segment.TagConfig{})} {
			if !errors.Is(err, segment.ErrOption) {
				t.Errorf("%s: %v, want ErrOption", name, err)
			}
		}
		if f.String() == "" {
			t.Errorf("%s: no description", name)
		}
	}
	// A file of another kind is refused, without the advice to delete it.
	pool := filepath.Join(t.TempDir(), "ids")
	if _, err := New(pool+TagsSuffix).Read(t.Context(), recycled.Query{}); err != nil {
		t.Fatal(err)
	}
	if err := New(pool).CreateTag(t.Context(), "orders", segment.TagConfig{}); !errors.Is(err, segment.ErrSource) || !strings.Contains(err.Error(), "it is a slot file") ||
		!strings.Contains(err.Error(), "do not change or delete it") {
		t.Errorf("a file of slots instead of tags: %v", err)
	}
}

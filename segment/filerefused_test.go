package segment

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/lockedfile"
	"github.com/ringuid/ringuid/internal/testreq"
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
			for writes := 1; writes <= 4; writes++ { // inode numbers are used alternately
				path, f := newTagsFile(t, "orders", "invoices")
				mustTakeFile(t, f, "orders")
				old := mustReadFile(t, path)
				time.Sleep(5 * time.Millisecond) // the resolution of the time of creation
				for range writes {
					mustTakeFile(t, f, "orders")
				}
				time.Sleep(5 * time.Millisecond)
				tt.damage(t, path, old)
				before, _ := os.ReadFile(path)
				check := func(err error) {
					t.Helper()
					if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), path) || name != "directory" && !errors.Is(err, ErrSource) {
						t.Errorf("after %d writes: %v; want ErrSource with the path and %q", writes, err, tt.want)
					}
				}
				for _, f := range []*File{f, NewFile(path)} {
					_, err := f.Take(t.Context(), Request{Tag: "orders"})
					check(err)
					check(f.CreateTag(t.Context(), "tickets", TagConfig{}))
					check(f.RaiseTag(t.Context(), "orders", 1000))
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
		path := filepath.Join(t.TempDir(), "segments")
		f := NewFile(path)
		f.machine = func() string { return tt.written }
		if err := f.CreateTag(t.Context(), "orders", TagConfig{}); err != nil {
			t.Fatal(err)
		}
		f.machine = func() string { return tt.read }
		_, err := f.Take(t.Context(), Request{Tag: "orders"})
		if tt.ok != (err == nil) || !tt.ok && (!errors.Is(err, ErrSource) || !strings.Contains(err.Error(), "another machine")) {
			t.Errorf("written on %q, read on %q: %v", tt.written, tt.read, err)
		}
	}
}

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
	f = NewFile(path, WithCopyGap(100))
	for n := range int64(3) {
		if got := mustTakeFile(t, f, "orders"); got.First != 101+10*n {
			t.Errorf("range %d after a copy is %+v, want %d", n, got, 101+10*n)
		}
	}
	if _, err := f.Take(t.Context(), Request{Tag: "last"}); !errors.Is(err, ErrExhausted) {
		t.Errorf("a tag that ends within the gap: %v, want ErrExhausted", err)
	}
	f = NewFile(path)
	for tag, tt := range map[string]struct {
		c    TagConfig
		want int64
	}{
		"known to be new":        {TagConfig{Start: 5}, 5},
		"perhaps there before":   {TagConfig{Start: 5, UnusedBefore: before}, 105},
		"after the copy":         {TagConfig{Start: 5, UnusedBefore: time.Now().Add(time.Second)}, 5},
		"perhaps there, at last": {TagConfig{Start: MaxNumber, UnusedBefore: before}, 0},
	} {
		if err := f.CreateTag(t.Context(), tag, tt.c); err != nil {
			t.Fatal(err)
		}
		got, err := f.Take(t.Context(), Request{Tag: tag})
		if tt.want == 0 && !errors.Is(err, ErrExhausted) || tt.want != 0 && got.First != tt.want {
			t.Errorf("tag %s: %+v, %v; want %d", tag, got, err, tt.want)
		}
	}
	// A file that is damaged is not accepted.
	write(t, path, old[:len(old)-2])
	if _, err := NewFile(path, WithCopyGap(100)).Take(t.Context(), Request{Tag: "orders"}); !errors.Is(err, ErrSource) {
		t.Errorf("a damaged file with WithCopyGap: %v, want ErrSource", err)
	}
}

// A file or a lock file with two names (hard links) is refused under both.
func TestFileWithTwoNames(t *testing.T) {
	for linked, suffixes := range map[string][]string{"file": {""}, "lock file": {".lock"}, "both": {"", ".lock"}} {
		path, f := newTagsFile(t, "orders")
		other := filepath.Join(t.TempDir(), "other")
		for _, suffix := range suffixes {
			if err := os.Link(path+suffix, other+suffix); err != nil {
				testreq.Missing(t, "the file system has no hard links: ", err)
			}
		}
		for _, f := range []*File{f, NewFile(path), NewFile(other), NewFile(other, WithCopyGap(1))} {
			_, err := f.Take(t.Context(), Request{Tag: "orders"})
			if !errors.Is(err, lockedfile.ErrNames) || !errors.Is(err, ErrSource) {
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

// Symbolic links lead to one file and one lock.
func TestFileSymbolicLink(t *testing.T) {
	path, f := newTagsFile(t, "orders")
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(path, link); err != nil {
		testreq.Missing(t, "there are no symbolic links: ", err)
	}
	for n := range int64(4) {
		if got := mustTakeFile(t, []*File{f, NewFile(link)}[n%2], "orders"); got.First != 1+10*n {
			t.Errorf("range %d is %+v", n, got)
		}
	}
}

// What prevents the use of a file is an error that says what to do.
func TestFileErrors(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing", "segments")
	if err := NewFile(missing).CreateTag(t.Context(), "orders", TagConfig{}); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "create the directory") {
		t.Errorf("without a directory: %v", err)
	}
	empty := filepath.Join(t.TempDir(), "segments")
	if err := NewFile(empty).CreateTag(t.Context(), "orders", TagConfig{UnusedBefore: time.Now()}); !errors.Is(err, ErrNoTag) || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("an automatic creation without a file: %v, want ErrNoTag", err)
	}
	if _, err := os.Stat(empty); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a creation that was refused has created the file: %v", err)
	}
	for name, f := range map[string]*File{
		"no path": NewFile(""), "nil option": NewFile("a", nil), "gap": NewFile("a", WithCopyGap(0)), "zero": {}, "nil": nil,
	} {
		_, err := f.Take(t.Context(), Request{Tag: "orders"})
		for _, err := range []error{err, f.CreateTag(t.Context(), "orders", TagConfig{}), f.RaiseTag(t.Context(), "orders", 1)} {
			if !errors.Is(err, ErrOption) {
				t.Errorf("%s: %v, want ErrOption", name, err)
			}
		}
		if f.String() == "" {
			t.Errorf("%s: no description", name)
		}
	}
	_, f := newTagsFile(t, "orders")
	for err, want := range map[error]error{
		f.RaiseTag(t.Context(), "orders", 0):     ErrOption,
		f.RaiseTag(t.Context(), "", 1):           ErrTag,
		f.RaiseTag(t.Context(), "invoices", 100): ErrNoTag,
	} {
		if !errors.Is(err, want) {
			t.Errorf("RaiseTag = %v, want %v", err, want)
		}
	}
	for _, next := range []int64{500, 400, 1, 500} { // never lowered
		if err := f.RaiseTag(t.Context(), "orders", next); err != nil {
			t.Fatal(err)
		}
	}
	if got := mustTakeFile(t, f, "orders"); got.First != 500 {
		t.Errorf("after RaiseTag: %+v", got)
	}
}

// A Take waits for the lock until its context ends, and the error says for what. Those that share its
// turn are not affected.
func TestFileWaitsForLock(t *testing.T) {
	path, f := newTagsFile(t, "orders")
	release := holdFileLock(t, path)
	results := make(chan error, 8)
	for n := range 8 {
		timeout := 50 * time.Millisecond
		if n%2 == 1 {
			timeout = time.Minute
		}
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), timeout)
			defer cancel()
			_, err := f.Take(ctx, Request{Tag: "orders"})
			results <- err
		}()
	}
	for range 4 {
		if err := <-results; !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), path) {
			t.Errorf("Take while another process holds the lock = %v", err)
		}
	}
	release()
	for range 4 {
		if err := <-results; err != nil {
			t.Errorf("Take after the lock was released = %v", err)
		}
	}
	if got := mustTakeFile(t, f, "orders"); got.First != 41 {
		t.Errorf("4 Takes of 10 numbers were executed, and the next range is %+v; want 41", got)
	}
}

// Errors of a write belong to the calls of that write only.
func TestFileCrashes(t *testing.T) {
	crash := errors.New("crash")
	for at := range lockedfile.StepCount {
		t.Run(fmt.Sprint("step ", int(at)), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "segments")
			last, crashes := int64(0), 0
			for n := range 6 {
				for _, method := range []func(f *File) error{
					func(f *File) error {
						err := f.CreateTag(t.Context(), "orders", TagConfig{Step: 10})
						if errors.Is(err, ErrTagExists) {
							return nil
						}
						return err
					},
					func(f *File) error {
						got, err := f.Take(t.Context(), Request{Tag: "orders", AtLeast: last})
						if err == nil {
							last = got.First + got.Length
						}
						return err
					},
				} {
					f := NewFile(path)
					failFileAt(f, at, crash)
					if err := method(f); errors.Is(err, crash) {
						crashes++
					} else if err != nil && !(errors.Is(err, ErrNoTag) && last == 0) {
						t.Fatalf("round %d: %v", n, err)
					}
					// The process that crashed goes on, and a new one.
					f.hook = nil
					for _, f := range []*File{f, NewFile(path)} {
						if err := method(f); err != nil && !(errors.Is(err, ErrNoTag) && last == 0) {
							t.Fatalf("round %d, after a crash: %v", n, err)
						}
					}
				}
			}
			if crashes == 0 {
				t.Errorf("step %d was not reached", at)
			}
		})
	}
}

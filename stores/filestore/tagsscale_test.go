package filestore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ringuid/ringuid/internal/lockedfile"
	"github.com/ringuid/ringuid/segment"
)

// newManyTags returns a File with n tags, whose step is 10.
func newManyTags(tb testing.TB, n int) *Store {
	tb.Helper()
	_, f := newTagsFile(tb)
	err := f.tags.do(context.Background(), &tagCall{done: make(chan struct{}), apply: func(c *tagContent) error {
		for i := range n {
			if err := c.add(fileTag{fmt.Sprintf("tenant %d", i), 1, 10, "orders of a tenant"}); err != nil {
				return err
			}
		}
		return nil
	}})
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

// 10,000 tags in one file: each has its own numbers, also if they are taken concurrently by several Files. The Takes of
// many goroutines share their writes.
func TestFileManyTags(t *testing.T) {
	const tags = 10_000
	f := newManyTags(t, tags)
	files := []*Store{f, openTags(f.tags.path())}
	next := make([]int64, tags)
	var mu sync.Mutex
	var running sync.WaitGroup
	for g := range 64 {
		running.Go(func() {
			for n := range 8 {
				i := (g*7 + n*1237) % tags
				got, err := files[g%2].Take(t.Context(), segment.Request{Tag: fmt.Sprintf("tenant %d", i)})
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				next[i] += got.Length
				mu.Unlock()
			}
		})
	}
	running.Wait()
	c, err := decodeFile(mustReadFile(t, f.tags.path()))
	if err != nil || len(c.tags) != tags {
		t.Fatalf("the file has %d tags, %v", len(c.tags), err)
	}
	for i, tag := range c.tags {
		if tag.name != fmt.Sprintf("tenant %d", i) || tag.next != 1+next[i] {
			t.Fatalf("tag %d is %+v; want the next number %d", i, tag, 1+next[i])
		}
	}
}

// The calls of many goroutines share one write.
func TestFileSharesWrites(t *testing.T) {
	path, f := newTagsFile(t, "orders")
	var writes atomic.Int32
	f.tags.hook = func(s lockedfile.Step) error {
		if s == lockedfile.StepWritten {
			writes.Add(1)
		}
		return nil
	}
	before := mustReadFile(t, path)
	release := holdFileLock(t, path)
	var got sync.Map
	var running sync.WaitGroup
	for n := range 100 {
		running.Go(func() {
			switch n % 10 {
			case 0:
				if _, err := f.Take(t.Context(), segment.Request{Tag: "unknown"}); !errors.Is(err, segment.ErrNoTag) {
					t.Errorf("Take of an unknown tag = %v", err)
				}
			case 1:
				if _, err := f.Take(t.Context(), segment.Request{Tag: "orders", AtLeast: 1 << 40}); !errors.Is(err, segment.ErrSetBack) {
					t.Errorf("Take with a great AtLeast = %v", err)
				}
			default:
				r, err := f.Take(t.Context(), segment.Request{Tag: "orders"})
				if _, twice := got.LoadOrStore(r.First, true); err != nil || twice {
					t.Errorf("Take = %+v, %v, twice: %v", r, err, twice)
				}
			}
		})
	}
	for waiting := 0; waiting < 100; runtime.Gosched() {
		f.tags.mu.Lock()
		waiting = len(f.tags.waiting)
		f.tags.mu.Unlock()
	}
	if string(mustReadFile(t, path)) != string(before) {
		t.Error("the file was changed while another process has the lock")
	}
	release()
	running.Wait()
	if writes.Load() != 1 {
		t.Errorf("100 calls that waited were executed with %d writes, want 1", writes.Load())
	}
	if r := mustTakeFile(t, f, "orders"); r.First != 801 {
		t.Errorf("80 Takes of 10 numbers were executed, and the next range is %+v; want 801", r)
	}
}

// BenchmarkFile measures Take with different numbers of tags, by one and by 64 goroutines. Compare it with
// BenchmarkSync, what the disk needs.
func BenchmarkFile(b *testing.B) {
	for _, tags := range []int{1, 100, 10_000} {
		b.Run(fmt.Sprintf("tags=%d", tags), func(b *testing.B) {
			f := newManyTags(b, tags)
			for i := 0; b.Loop(); i++ {
				mustTakeFile(b, f, fmt.Sprintf("tenant %d", i%tags))
			}
		})
		b.Run(fmt.Sprintf("tags=%d/two processes", tags), func(b *testing.B) {
			f := newManyTags(b, tags)
			files := []*Store{f, openTags(f.tags.path())}
			for i := 0; b.Loop(); i++ {
				mustTakeFile(b, files[i%2], fmt.Sprintf("tenant %d", i%tags))
			}
		})
		b.Run(fmt.Sprintf("tags=%d/64 goroutines", tags), func(b *testing.B) {
			f := newManyTags(b, tags)
			b.SetParallelism(64)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					mustTakeFile(b, f, "tenant 0")
				}
			})
		})
	}
	b.Run("sync only", func(b *testing.B) {
		directory := b.TempDir()
		for b.Loop() {
			file, err := os.CreateTemp(directory, "x")
			if err == nil {
				_, err = file.WriteString("x")
			}
			if err == nil {
				err = errors.Join(file.Sync(), file.Close(), os.Rename(file.Name(), filepath.Join(directory, "y")))
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	})
}

//go:build linux

package filestore

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/segment"
)

// When the disk is full, a Take fails and changes nothing, and leaves no temporary file. The test limits the size of
// files for a process, which has the same effect on a write: only a part of it is done.
func TestFileDiskFull(t *testing.T) {
	if path := testkit.ChildArg(); path != "" {
		signal.Ignore(syscall.SIGXFSZ) // so that a write returns an error
		var old syscall.Rlimit
		if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old); err != nil {
			t.Fatal(err)
		}
		f, before := openTags(path), mustReadFile(t, path)
		for _, limit := range []uint64{0, 1, uint64(len(before) / 2), uint64(len(before) - 40)} {
			if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: limit, Max: old.Max}); err != nil {
				t.Fatal(err)
			}
			for _, f := range []*Store{f, openTags(path)} {
				_, err := f.Take(t.Context(), segment.Request{Tag: "orders"})
				if !errors.Is(err, syscall.EFBIG) || errors.Is(err, segment.ErrSource) || !strings.Contains(err.Error(), path) {
					t.Fatalf("Take with %d bytes = %v; want an error of the write", limit, err)
				}
				if err := f.CreateTag(t.Context(), "invoices", segment.TagConfig{}); !errors.Is(err, syscall.EFBIG) {
					t.Fatalf("CreateTag with %d bytes = %v", limit, err)
				}
				if _, err := f.Take(t.Context(), segment.Request{Tag: "invoices"}); !errors.Is(err, segment.ErrNoTag) {
					t.Fatalf("Take of a tag that was not created = %v", err)
				}
			}
			if string(mustReadFile(t, path)) != string(before) {
				t.Fatal("the file was changed")
			}
		}
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &old); err != nil {
			t.Fatal(err)
		}
		fmt.Printf("next %d\n", mustTakeFile(t, f, "orders").First)
		return
	}
	path, f := newTagsFile(t, "orders", "tickets")
	mustTakeFile(t, f, "orders")
	child := testkit.StartChild(t, path)
	out := slices.Collect(child.Lines())
	if err := child.Wait(); err != nil || !slices.Equal(out, []string{"next 11"}) {
		t.Errorf("the process wrote %q, %v; want the next number 11", out, err)
	}
	if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 2 {
		t.Errorf("the directory has %v; want the file and its lock file", entries)
	}
	if got := mustTakeFile(t, f, "orders"); got.First != 21 {
		t.Errorf("the next range is %+v, want 21", got)
	}
}

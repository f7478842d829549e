//go:build linux

package filestore

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/segment"
)

// Files that may not be written are errors, and change nothing. The superuser may write to all files, so the
// test becomes another user in a process of its own.
func TestFileReadOnly(t *testing.T) {
	directory := testkit.ChildArg()
	if directory == "" {
		directory = t.TempDir()
		for path, mode := range map[string]os.FileMode{filepath.Dir(directory): 0o755, directory: 0o777} {
			if err := os.Chmod(path, mode); err != nil {
				t.Fatal(err)
			}
		}
		child := testkit.StartChild(t, directory)
		out := slices.Collect(child.Lines())
		if err := child.Wait(); err != nil {
			t.Errorf("the process of another user: %v\n%s", err, strings.Join(out, "\n"))
		}
		return
	}
	if os.Geteuid() == 0 {
		const nobody = 65534
		if err := errors.Join(syscall.Setgid(nobody), syscall.Setuid(nobody)); err != nil {
			testkit.Missing(t, "the process cannot become another user: ", err)
		}
	}
	directory = filepath.Join(directory, "own")
	if err := os.Mkdir(directory, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(directory, "segments"+TagsSuffix)
	f := openTags(path)
	if err := f.CreateTag(t.Context(), "orders", segment.TagConfig{}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{directory, path + ".lock"} {
		if err := os.Chmod(name, 0o500); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Take(t.Context(), segment.Request{Tag: "orders"}); !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "as the user who created the file") {
			t.Errorf("without the permission to write %s: %v", name, err)
		}
		if err := os.Chmod(name, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if got := mustTakeFile(t, f, "orders"); got.First != 1 {
		t.Errorf("after the permission was given: %+v", got)
	}
}

package lockedfile

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Only temporary files of this file are removed.
func TestRemoveTemporaries(t *testing.T) {
	directory := t.TempDir()
	path := filepath.Join(directory, "file")
	for range 3 {
		if _, err := WriteTemporary(path, func(*os.File) ([]byte, error) { return []byte("half"), nil }); err != nil {
			t.Fatal(err)
		}
	}
	if names := list(t, directory); len(names) != 3 {
		t.Fatalf("there are %q; want 3 temporary files", names)
	}
	keep := []string{
		"file", "file.lock", "file.tmp", "file.tmp1", "file.tmp20261122", "file.tmp-ringuid", "file.tmp-ringuidx", "file.tmp-ringuid1x", "file.tmp-ringuid-1",
		"other.tmp-ringuid1", "file2.tmp-ringuid1", "afile.tmp-ringuid1", "FILE.tmp-ringuid7",
		"file.tmp-ringuid5", "file.tmp-ringuid5.lock", // a file in use under this name, and its lock file
	}
	for _, name := range keep {
		if err := os.WriteFile(filepath.Join(directory, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(directory, "file.tmp-ringuid6"), 0o700); err != nil {
		t.Fatal(err)
	}
	keep = append(keep, "file.tmp-ringuid6")
	if err := os.Symlink("file", filepath.Join(directory, "file.tmp-ringuid8")); err == nil {
		keep = append(keep, "file.tmp-ringuid8")
	}
	RemoveTemporaries(path)
	slices.Sort(keep)
	if names := list(t, directory); !slices.Equal(names, keep) {
		t.Errorf("there are %q; want %q", names, keep)
	}
	RemoveTemporaries(filepath.Join(directory, "missing", "file")) // does nothing
}

// list returns the names of what is in a directory.
func list(t *testing.T, directory string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(directory)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

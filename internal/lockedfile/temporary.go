package lockedfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// temporaryInfix is what the name of a temporary file has between the name of its file and a random number. People do not choose it
// for files of their own, such as a copy with a date.
const temporaryInfix = ".tmp-ringuid"

// WriteTemporary writes a new file in the directory of path, syncs it to disk, and returns its name. content
// returns the content of the file that it gets. Each call uses another name, because a process that lost its
// lock may write concurrently.
//
// If the process ends before it renames or removes the file, RemoveTemporaries removes it.
func WriteTemporary(path string, content func(*os.File) ([]byte, error)) (temporary string, err error) {
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+temporaryInfix+"*")
	if err != nil {
		return "", err
	}
	data, err := content(file)
	if err == nil {
		_, err = file.Write(data)
	}
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		os.Remove(file.Name())
		return "", err
	}
	return file.Name(), nil
}

// RemoveTemporaries removes temporary files of the file at path that a crash has left behind. The caller must hold the lock, so
// nobody else is writing one, except for a process that has lost its lock: the rename of that one then fails, as it should. A file that
// cannot be removed stays there.
func RemoveTemporaries(path string) {
	directory, err := os.Open(filepath.Dir(path))
	if err != nil {
		return
	}
	defer directory.Close()
	prefix := filepath.Base(path) + temporaryInfix
	for {
		entries, err := directory.ReadDir(1000)
		for _, e := range entries {
			number, isTemporary := strings.CutPrefix(e.Name(), prefix)
			if !isTemporary || number == "" || strings.Trim(number, "0123456789") != "" || !e.Type().IsRegular() {
				continue
			}
			name := filepath.Join(filepath.Dir(path), e.Name())
			if _, err := os.Lstat(name + Suffix); errors.Is(err, fs.ErrNotExist) { // not a file that is used under this name
				os.Remove(name)
			}
		}
		if err != nil {
			return
		}
	}
}

package lockedfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrNames is the error for a file, or a lock file, that has several names (hard links).
var ErrNames = errors.New("it has several names (hard links)")

// ErrNotRegular is the error for a directory, a pipe and the like.
var ErrNotRegular = errors.New("not a regular file")

// CheckNames returns an error that wraps ErrNames if an open file has several names. Each name has a lock file
// of its own, and replacing the file under one name does not change what the other one leads to: two
// processes could continue from one content.
func CheckNames(file *os.File) error {
	n, err := names(file)
	if err != nil {
		return err
	}
	if n > 1 {
		return &fs.PathError{Op: "open", Path: file.Name(), Err: fmt.Errorf("%w: %d; remove all names but one, and use that everywhere", ErrNames, n)}
	}
	return nil
}

// Resolve resolves symbolic links, so that all names of a file lead to the same lock file. The file itself
// may be missing, but its directory must exist.
func Resolve(path string) (string, error) {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return filepath.EvalSymlinks(path)
	}
	directory, err := filepath.EvalSymlinks(filepath.Dir(path))
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w; create the directory %s, which must be on persistent storage", err, filepath.Dir(path))
	}
	return filepath.Join(directory, filepath.Base(path)), err
}

// ReadRegular reads a regular file that has one name. It returns an error for other files, for example a pipe,
// because reading from them may block, and no context could stop that.
func ReadRegular(path string) ([]byte, error) {
	data, _, err := read(path, false)
	return data, err
}

// read is ReadRegular, and returns the identity of the file too.
func read(path string, identified bool) (data []byte, id string, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, "", err
	}
	if !info.Mode().IsRegular() {
		return nil, "", &fs.PathError{Op: "read", Path: path, Err: ErrNotRegular}
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, "", err
	}
	defer file.Close()
	if err := CheckNames(file); err != nil {
		return nil, "", err
	}
	if identified {
		if id, err = ID(file); err != nil {
			return nil, "", err
		}
	}
	data = make([]byte, 0, info.Size()+512)
	for {
		n, err := file.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if err == io.EOF {
			return data, id, nil
		}
		if err != nil {
			return nil, "", err
		}
		if len(data) == cap(data) {
			data = append(data, 0)[:len(data)]
		}
	}
}

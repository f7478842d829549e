package testserver

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
)

// CacheEnv is the name of an environment variable with a directory in which all tests of a run share the data directories of
// new servers, so that they are created only once, which is slow. make test sets it. Otherwise, each test program has such a
// directory.
const CacheEnv = "RINGUID_TEST_CACHE"

// installing is held while a data directory is created.
var installing sync.Mutex

// Install makes the subdirectory data: as a copy of that of an earlier server of the kind with this name, or with create.
func (p *Process) Install(kind string, create func(data string) error) error {
	data := p.Path("data")
	if err := os.RemoveAll(data); err != nil {
		return err
	}
	cache, err := cacheDirectory()
	if err != nil {
		return err
	}
	template := filepath.Join(cache, kind)
	installing.Lock()
	defer installing.Unlock()
	if _, err := os.Stat(template); err == nil {
		// PostgreSQL requires that only the owner may read the directory.
		return errors.Join(os.CopyFS(data, os.DirFS(template)), os.Chmod(data, 0o700), p.account.own(data))
	}
	if err := create(data); err != nil {
		return err
	}
	// Other processes may do the same at this time. The first one gives the directory its name.
	unique, err := os.MkdirTemp(cache, "new")
	if err != nil {
		return err
	}
	defer os.RemoveAll(unique)
	if err := os.CopyFS(filepath.Join(unique, "data"), os.DirFS(data)); err != nil {
		return err
	}
	if err := os.Rename(filepath.Join(unique, "data"), template); err != nil {
		_, missing := os.Stat(template)
		return missing
	}
	return nil
}

// cacheDirectory returns the directory of CacheEnv, or that of this process.
func cacheDirectory() (string, error) {
	if directory := os.Getenv(CacheEnv); directory != "" {
		return directory, nil
	}
	remover, err := ownCache()
	if err != nil {
		return "", err
	}
	return remover.Args[len(remover.Args)-1], nil
}

// ownCache creates a directory and starts a process that removes it when this one has ended, however that happens. The
// directory is the last argument of the process, whose standard input remains open.
var ownCache = sync.OnceValues(func() (*exec.Cmd, error) {
	directory, err := os.MkdirTemp("", "ringuid-srv")
	if err != nil {
		return nil, err
	}
	remover := exec.Command("sh", "-c", `trap "" HUP INT TERM; cat; rm -rf "$0"`, directory)
	_, err = remover.StdinPipe()
	return remover, errors.Join(err, remover.Start())
})

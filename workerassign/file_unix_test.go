//go:build unix && !aix && !solaris

package workerassign

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/leaktest"
)

// A pipe in place of a file is refused. Reading from it would hold the lock permanently.
func TestPipeIsRefused(t *testing.T) {
	leaktest.Check(t)
	for _, name := range []string{"worker", "worker.lock"} {
		t.Run(name, func(t *testing.T) {
			directory := t.TempDir()
			if err := unix.Mkfifo(filepath.Join(directory, name), 0o600); err != nil {
				testkit.Missing(t, "pipes cannot be created in this directory: ", err)
			}
			got := make(chan error, 1)
			go func() {
				_, err := NewFile(filepath.Join(directory, "worker"), WithTimeout(time.Minute)).Assign(context.Background(), Request{})
				got <- err
			}()
			select {
			case err := <-got:
				if !errors.Is(err, ErrFile) {
					t.Errorf("Assign() = %v, want ErrFile", err)
				}
			case <-time.After(2 * time.Minute):
				t.Fatal("Assign() hangs")
			}
		})
	}
}

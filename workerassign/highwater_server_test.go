package workerassign_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/ringuid/ringuid/internal/mariadbtest"
	"github.com/ringuid/ringuid/workerassign"
)

// Invariant 1, after a server has lost its last rows: a host that received some of their keys refuses
// them, and inserts no more rows. Otherwise its inserts would increment the counter until the host
// received keys that belong to another host with a greater mark.
func TestInvariant1HighWaterFileStopsItsHost(t *testing.T) {
	db, dsn := mariadbtest.Connect(t)
	mariadbtest.RunScript(t, db, schemaScript(t))
	pool, directory := mariadbtest.Open(t, dsn), t.TempDir()
	host := func(name string) *workerassign.Disposable {
		return workerassign.NewDisposable(pool, workerassign.WithHighWaterFile(filepath.Join(directory, name)),
			discardLog())
	}
	seen := make(map[int64]bool)
	assign := func(d *workerassign.Disposable) error {
		l, err := d.Assign(context.Background(), workerassign.Request{})
		if err != nil {
			return err
		}
		if seen[l.WorkerID()] {
			t.Errorf("worker ID %d was assigned twice", l.WorkerID())
		}
		seen[l.WorkerID()] = true
		return nil
	}
	for name, n := range map[string]int{"a": 3, "b": 6} {
		for range n {
			if err := assign(host(name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	db.MustExec("DELETE FROM WORKER_NODE WHERE ID >= 2")
	db.MustExec("ALTER TABLE WORKER_NODE AUTO_INCREMENT = 2")
	for _, name := range []string{"a", "b", "a", "b", "a", "b", "a", "b", "a", "b"} {
		if err := assign(host(name)); !errors.Is(err, workerassign.ErrTooLow) {
			t.Errorf("%s: Assign() = %v, want ErrTooLow", name, err)
		}
	}
	if len(seen) != 9 {
		t.Errorf("%d worker IDs were assigned, want 9", len(seen))
	}
}

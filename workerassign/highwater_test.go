package workerassign

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/DATA-DOG/go-sqlmock"
)

// A host stores the greatest worker ID that was assigned to it, and refuses a worker ID that is not
// greater.
func TestHighWaterFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "granted")
	const stopped = -1 // no row is inserted, because of an earlier refusal
	assign := func(t *testing.T, key, want int64) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			d, m := newMockDisposable(t, WithHighWaterFile(path)) // a new one each time, as in another process
			if want == stopped {
				l, err := d.Assign(context.Background(), Request{})
				if l != nil || !errors.Is(err, ErrTooLow) || !strings.Contains(err.Error(), "a key was refused before") || !strings.Contains(err.Error(), path+".refused") {
					t.Errorf("Assign() = %v, %v; want ErrTooLow and no insert", l, err)
				}
				return
			}
			expectInsert(m).WillReturnResult(sqlmock.NewResult(key, 1))
			if want > 0 {
				expectCommit(m)
			} else {
				expectRollback(m)
			}
			l, err := d.Assign(context.Background(), Request{})
			switch {
			case want > 0 && (err != nil || l.WorkerID() != want):
				t.Errorf("Assign() = %v, %v; want %d", l, err, want)
			case want == 0 && (l != nil || !errors.Is(err, ErrTooLow) || !strings.Contains(err.Error(), "as described in schema.sql")):
				t.Errorf("Assign() = %v, %v; want ErrTooLow", l, err)
			}
		})
	}
	for _, step := range []struct{ key, want int64 }{{10, 10}, {9, 0}, {10, 0}, {11, 11}, {1, 0}, {500, 500}, {499, 0}} {
		assign(t, step.key, step.want)
		if step.want == 0 {
			assign(t, 1_000, stopped) // also for a key that would be accepted
			if err := os.Remove(path + ".refused"); err != nil {
				t.Fatal(err)
			}
		}
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != formatNumber(highWaterHeader, 500) {
		t.Errorf("the file contains %q, %v", text, err)
	}

	// A file that is missing or corrupt, or is a worker file, is an error before a row is inserted.
	for name, change := range map[string]func() error{
		"missing":       func() error { return os.Remove(path) },
		"corrupt":       func() error { return os.WriteFile(path, []byte("x"), 0o600) },
		"a worker file": func() error { return os.WriteFile(path, []byte(formatCounter(5)), 0o600) },
	} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
		synctest.Test(t, func(t *testing.T) {
			d, _ := newMockDisposable(t, WithHighWaterFile(path))
			if l, err := d.Assign(context.Background(), Request{}); l != nil || !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), path) {
				t.Errorf("%s: Assign() = %v, %v; want ErrCorrupt", name, l, err)
			}
		})
		if err := os.WriteFile(path, []byte(formatNumber(highWaterHeader, 500)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		d, _ := newMockDisposable(t, WithHighWaterFile(filepath.Join(path, "no directory")))
		if l, err := d.Assign(context.Background(), Request{}); l != nil || !errors.Is(err, ErrFile) {
			t.Errorf("Assign() without the file's directory = %v, %v; want ErrFile", l, err)
		}
	})
}

// A committed key is not used if it cannot be written to the file.
func TestHighWaterFileWriteError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "granted")
	synctest.Test(t, func(t *testing.T) {
		d, m := newMockDisposable(t, WithHighWaterFile(path))
		expectSuccess(m, 10)
		d.highWater.file.afterStep = func(s step) error {
			if s == stepRenamed {
				return errors.New("disk error")
			}
			return nil
		}
		if l, err := d.Assign(context.Background(), Request{}); l != nil || !errors.Is(err, ErrFile) || errors.Is(err, ErrPermanent) {
			t.Errorf("Assign() = %v, %v; want ErrFile", l, err)
		}
	})
}

// Many goroutines share the file. At the end it has the greatest key. No key is refused, because each
// goroutine compares its key with the mark that it read before its insert.
func TestHighWaterFileIsShared(t *testing.T) {
	path := filepath.Join(t.TempDir(), "granted")
	goroutines, each := 8, 25
	if testing.Short() {
		goroutines, each = 3, 5
	}
	log := discardQueue()
	var (
		all  sync.WaitGroup
		mu   sync.Mutex
		keys int64
	)
	for range goroutines {
		all.Go(func() {
			h, err := newHighWater(path)
			if err != nil {
				t.Error(err)
				return
			}
			for range each {
				mark, err := h.check(context.Background(), log)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock() // stands for the database
				keys++
				key := keys
				mu.Unlock()
				if key <= mark {
					t.Errorf("key %d would be refused, because the mark was %d", key, mark)
				}
				if err := h.raise(context.Background(), log, key); err != nil {
					t.Error(err)
					return
				}
				if mark, err := h.check(context.Background(), log); err != nil || mark < key {
					t.Errorf("after key %d the mark is %d, %v", key, mark, err)
				}
			}
		})
	}
	all.Wait()
	h, _ := newHighWater(path)
	if mark, err := h.check(context.Background(), log); err != nil || mark != int64(goroutines*each) {
		t.Errorf("the mark is %d, %v; want %d", mark, err, goroutines*each)
	}
}

// If the file cannot be written, no row is inserted, because each insert would use up a key.
func TestHighWaterFileIsCheckedBeforeInsert(t *testing.T) {
	// The name of the lock file has the maximum length. The name of the temporary file is longer.
	path := filepath.Join(t.TempDir(), strings.Repeat("g", 255-len(".lock")))
	synctest.Test(t, func(t *testing.T) {
		d, _ := newMockDisposable(t, WithHighWaterFile(path))
		if l, err := d.Assign(context.Background(), Request{}); l != nil || !errors.Is(err, ErrFile) {
			t.Errorf("Assign() = %v, %v; want ErrFile", l, err)
		}
	})
}

// delayedDB is a pool that calls a function before it returns a connection.
type delayedDB struct {
	DB
	beforeConn func()
}

func (d delayedDB) Conn(ctx context.Context) (*sql.Conn, error) {
	d.beforeConn()
	return d.DB.Conn(ctx)
}

// Keys that other processes of the host receive while this one waits for a connection count. The
// connection may lead to the server that replaced the one that assigned those keys.
func TestHighWaterFileDuringAFailover(t *testing.T) {
	path := filepath.Join(t.TempDir(), "granted")
	synctest.Test(t, func(t *testing.T) {
		d, m := newMockDisposable(t, WithHighWaterFile(path))
		other, err := newHighWater(path)
		if err != nil {
			t.Fatal(err)
		}
		d.db = delayedDB{d.db, func() {
			if err := other.raise(context.Background(), discardQueue(), 12); err != nil {
				t.Error(err)
			}
		}}
		expectInsert(m).WillReturnResult(sqlmock.NewResult(11, 1))
		expectRollback(m)
		if l, err := d.Assign(context.Background(), Request{}); l != nil || !errors.Is(err, ErrTooLow) {
			t.Errorf("Assign() = %v, %v; want ErrTooLow, because 12 was assigned meanwhile", l, err)
		}
	})
}

// A key was assigned twice if another process of the host wrote it to the file after this process
// inserted its row.
func TestHighWaterFileOfTwoServers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "granted")
	synctest.Test(t, func(t *testing.T) {
		d, m := newMockDisposable(t, WithHighWaterFile(path))
		other, err := newHighWater(path)
		if err != nil {
			t.Fatal(err)
		}
		expectSuccess(m, 11)
		opened := 0
		d.highWater.file.afterStep = func(s step) error {
			if s == stepOpened {
				if opened++; opened == 2 { // the second time is in raise
					return other.raise(context.Background(), discardQueue(), 11)
				}
			}
			return nil
		}
		if l, err := d.Assign(context.Background(), Request{}); l != nil || !errors.Is(err, ErrTooLow) || !strings.Contains(err.Error(), "as described in schema.sql") {
			t.Errorf("Assign() = %v, %v; want ErrTooLow", l, err)
		}
	})
}

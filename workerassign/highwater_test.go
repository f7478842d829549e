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

// A host remembers the greatest worker ID that it was granted, and refuses a lower one,
// or the same.
func TestHighWaterFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "granted")
	const stopped = -1 // nothing is inserted any more
	assign := func(t *testing.T, key, want int64) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			d, m := newMockDisposable(t, WithHighWaterFile(path)) // another process, each time
			if want == stopped {
				l, err := d.Assign(context.Background(), Request{})
				if l != nil || !errors.Is(err, ErrTooLow) || !strings.Contains(err.Error(), "one was refused before") || !strings.Contains(err.Error(), path+".refused") {
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
			case want == 0 && (l != nil || !errors.Is(err, ErrTooLow) || !strings.Contains(err.Error(), "as schema.sql describes")):
				t.Errorf("Assign() = %v, %v; want ErrTooLow", l, err)
			}
		})
	}
	for _, step := range []struct{ key, want int64 }{{10, 10}, {9, 0}, {10, 0}, {11, 11}, {1, 0}, {500, 500}, {499, 0}} {
		assign(t, step.key, step.want)
		if step.want == 0 {
			assign(t, 1_000, stopped) // whatever it would be
			if err := os.Remove(path + ".refused"); err != nil {
				t.Fatal(err)
			}
		}
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != formatNumber(highWaterHeader, 500) {
		t.Errorf("the file is %q, %v", text, err)
	}

	// A file that is gone or damaged, or is a worker file, is an error before anything is inserted.
	for name, change := range map[string]func() error{
		"gone":          func() error { return os.Remove(path) },
		"damaged":       func() error { return os.WriteFile(path, []byte("x"), 0o600) },
		"a worker file": func() error { return os.WriteFile(path, []byte(formatCounter(5)), 0o600) },
	} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
		synctest.Test(t, func(t *testing.T) {
			d, _ := newMockDisposable(t, WithHighWaterFile(path))
			if l, err := d.Assign(context.Background(), Request{}); l != nil || !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), path) {
				t.Errorf("with a file that is %s Assign() = %v, %v; want ErrCorrupt", name, l, err)
			}
		})
		if err := os.WriteFile(path, []byte(formatNumber(highWaterHeader, 500)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		d, _ := newMockDisposable(t, WithHighWaterFile(filepath.Join(path, "no directory")))
		if l, err := d.Assign(context.Background(), Request{}); l != nil || !errors.Is(err, ErrFile) {
			t.Errorf("without a directory Assign() = %v, %v; want ErrFile", l, err)
		}
	})
}

// A key that is committed is not used unless the file has it.
func TestHighWaterFileThatCannotBeWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "granted")
	synctest.Test(t, func(t *testing.T) {
		d, m := newMockDisposable(t, WithHighWaterFile(path))
		expectSuccess(m, 10)
		d.highWater.file.afterStep = func(s step) error {
			if s == stepRenamed {
				return errors.New("the disk is gone")
			}
			return nil
		}
		if l, err := d.Assign(context.Background(), Request{}); l != nil || !errors.Is(err, ErrFile) || errors.Is(err, ErrPermanent) {
			t.Errorf("Assign() = %v, %v; want ErrFile", l, err)
		}
	})
}

// Many who share the file: it ends with the greatest, and nothing is refused, because each
// compares its key with what was there before its insert.
func TestHighWaterFileIsShared(t *testing.T) {
	path := filepath.Join(t.TempDir(), "granted")
	const holders, each = 8, 25
	log := discardQueue()
	var (
		all  sync.WaitGroup
		mu   sync.Mutex
		keys int64
	)
	for range holders {
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
				mu.Lock() // the database
				keys++
				key := keys
				mu.Unlock()
				if key <= mark {
					t.Errorf("key %d would be refused, the mark was %d", key, mark)
				}
				if err := h.raise(context.Background(), log, key); err != nil {
					t.Error(err)
					return
				}
				if mark, err := h.check(context.Background(), log); err != nil || mark < key {
					t.Errorf("after %d the mark is %d, %v", key, mark, err)
				}
			}
		})
	}
	all.Wait()
	h, _ := newHighWater(path)
	if mark, err := h.check(context.Background(), log); err != nil || mark != holders*each {
		t.Errorf("the mark is %d, %v; want %d", mark, err, holders*each)
	}
}

// Where the file cannot be written, nothing is inserted: each try would spend a key.
func TestHighWaterFileIsCheckedBeforeTheInsert(t *testing.T) {
	// The name of its lock file is as long as names may be, that of the next content is longer.
	path := filepath.Join(t.TempDir(), strings.Repeat("g", 255-len(".lock")))
	synctest.Test(t, func(t *testing.T) {
		d, _ := newMockDisposable(t, WithHighWaterFile(path))
		if l, err := d.Assign(context.Background(), Request{}); l != nil || !errors.Is(err, ErrFile) {
			t.Errorf("Assign() = %v, %v; want ErrFile", l, err)
		}
	})
}

// during is a pool of which a connection is waited for until a function has returned.
type delayedDB struct {
	DB
	beforeConn func()
}

func (d delayedDB) Conn(ctx context.Context) (*sql.Conn, error) {
	d.beforeConn()
	return d.DB.Conn(ctx)
}

// What other processes of the host are granted while this one waits for a connection counts: the
// connection may be to the successor of the server that granted it.
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
			t.Errorf("Assign() = %v, %v; want ErrTooLow, 12 was granted meanwhile", l, err)
		}
	})
}

// A key that another process of the host was granted between the insert and the look at the file
// came a second time.
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
				if opened++; opened == 2 { // by raise
					return other.raise(context.Background(), discardQueue(), 11)
				}
			}
			return nil
		}
		if l, err := d.Assign(context.Background(), Request{}); l != nil || !errors.Is(err, ErrTooLow) || !strings.Contains(err.Error(), "as schema.sql describes") {
			t.Errorf("Assign() = %v, %v; want ErrTooLow", l, err)
		}
	})
}

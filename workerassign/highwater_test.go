package workerassign

import (
	"context"
	"errors"
	"log/slog"
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
	assign := func(t *testing.T, key, want int64) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			d, m := mock(t, WithHighWaterFile(path)) // another process, each time
			expect(m).WillReturnResult(sqlmock.NewResult(key, 1))
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
			d, _ := mock(t, WithHighWaterFile(path))
			if l, err := d.Assign(context.Background(), Request{}); l != nil || !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), path) {
				t.Errorf("with a file that is %s Assign() = %v, %v; want ErrDamaged", name, l, err)
			}
		})
		if err := os.WriteFile(path, []byte(formatNumber(highWaterHeader, 500)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		d, _ := mock(t, WithHighWaterFile(filepath.Join(path, "no folder")))
		if l, err := d.Assign(context.Background(), Request{}); l != nil || !errors.Is(err, ErrFile) {
			t.Errorf("without a folder Assign() = %v, %v; want ErrFile", l, err)
		}
	})
}

// A key that is committed is not used unless the file has it.
func TestHighWaterFileThatCannotBeWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "granted")
	synctest.Test(t, func(t *testing.T) {
		d, m := mock(t, WithHighWaterFile(path))
		expectKey(m, 10)
		d.highWater.file.step = func(s step) error {
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
				mark, err := h.read()
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
				if err := h.raise(context.Background(), slog.Default(), key); err != nil {
					t.Error(err)
					return
				}
				if mark, err := h.read(); err != nil || mark < key {
					t.Errorf("after %d the mark is %d, %v", key, mark, err)
				}
			}
		})
	}
	all.Wait()
	h, _ := newHighWater(path)
	if mark, err := h.read(); err != nil || mark != holders*each {
		t.Errorf("the mark is %d, %v; want %d", mark, err, holders*each)
	}
}

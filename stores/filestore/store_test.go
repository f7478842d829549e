package filestore

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/lockedfile"
	"github.com/ringuid/ringuid/internal/millis"
	"github.com/ringuid/ringuid/internal/safelog"
	"github.com/ringuid/ringuid/internal/testkit/leaktest"
	"github.com/ringuid/ringuid/internal/testkit/slottest"
	"github.com/ringuid/ringuid/internal/workerfile"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// quiet is the option of stores and assigners whose log does not matter.
var quiet = WithLogger(slog.New(slog.DiscardHandler))

// newSlotsForTest creates a pool with n slots in a slot file and returns its state.
func newSlotsForTest(t testing.TB, s recycled.Store, n int64) recycled.State {
	t.Helper()
	state := slottest.Read(t, s, recycled.Query{All: true})
	if state.Pool.Revision != 0 || len(state.Slots) != 0 || state.History == "" || !state.NoLoss || !state.HostClock {
		t.Fatalf("a new file has the state %+v", state)
	}
	now := millis.Down(state.Now)
	p := recycled.Pool{Revision: 1, Format: "1-28-22-13", Slots: n, History: state.History, Since: now,
		Horizon: 75 * time.Second, Fencing: 30 * time.Second, Skew: 5 * time.Second}
	w := recycled.Write{History: state.History, Pool: &p}
	for id := range n {
		w.Slots = append(w.Slots, recycled.Slot{WorkerID: id, Revision: 1, Token: rand.Text(), From: now, Until: now.Add(time.Minute), History: leaseHistory(p),
			Written: now, FreeAt: now.Add(time.Hour), Holder: recycled.Holder{Name: fmt.Sprint("orders-", id), Host: "host-1", Process: "4711", Since: now}})
		w.Replaced = append(w.Replaced, recycled.Slot{})
	}
	slottest.WantWritten(t, s, true, w)
	return slottest.Read(t, s, recycled.Query{All: true})
}

// nextSlot returns a slot as the next write of it.
func nextSlot(s recycled.Slot, token string) recycled.Slot {
	s.Revision++
	s.Token = token
	return s
}

// After a crash at any step of a write, the file has the content before or after it, and all that was
// acknowledged.
func TestSlotFileCrashAfterEachStep(t *testing.T) {
	leaktest.Check(t)
	for at := range lockedfile.StepCount {
		t.Run(fmt.Sprint("step ", int(at)), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "slots")
			crash := func(s *Store) {
				s.file.Hook = func(reached lockedfile.Step) error {
					if reached == at {
						return errCrash
					}
					return nil
				}
			}
			first := New(path) // a crash while the file is created
			crash(first)
			if _, err := first.Read(context.Background(), recycled.Query{}); at != lockedfile.StepRead && !errors.Is(err, errCrash) {
				t.Fatalf("Read() = %v, want a crash", err)
			}
			store := New(path)
			state := newSlotsForTest(t, store, 2)
			for range 5 {
				crashed := New(path)
				crash(crashed)
				want := recycled.Write{History: state.History, Slots: []recycled.Slot{nextSlot(state.Slots[0], rand.Text()), nextSlot(state.Slots[1], rand.Text())}, Replaced: state.Slots}
				written, err := crashed.Write(context.Background(), want)
				if written != (err == nil) {
					t.Fatalf("Write() = %v, %v", written, err)
				}
				got := slottest.Read(t, store, recycled.Query{All: true})
				made := got.Slots[0] == want.Slots[0] && got.Slots[1] == want.Slots[1]
				unmade := got.Slots[0] == state.Slots[0] && got.Slots[1] == state.Slots[1]
				if !made && (written || !unmade) || got.History != state.History {
					t.Fatalf("after a Write that returned %v, %v the slots are %+v, before it %+v", written, err, got.Slots, state.Slots)
				}
				state = got
			}
		})
	}
}

// A file that is missing although it existed, or corrupt, is a permanent error that names it, and does
// not change.
func TestSlotFileIsNotReset(t *testing.T) {
	path := filepath.Join(t.TempDir(), "slots")
	newSlotsForTest(t, New(path), 3)
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{
		"missing":          nil,
		"empty":            {},
		"cut":              content[:len(content)/2],
		"cut at a line":    content[:bytes.LastIndexByte(content[:len(content)-1], '\n')+1],
		"changed":          bytes.Replace(content, []byte("orders-1"), []byte("orders-2"), 1),
		"extended":         append(bytes.Clone(content), '\n'),
		"of another kind":  []byte("ringuid-worker v1 7 crc32c=00000000\n"),
		"without slots":    content[bytes.LastIndexByte(content[:len(content)-1], '\n')+1:],
		"without a header": content[bytes.IndexByte(content, '\n')+1:],
	} {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if text != nil {
			if err := os.WriteFile(path, text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			_, err := New(path).Read(context.Background(), recycled.Query{All: true})
			_, writeErr := New(path).Write(context.Background(), recycled.Write{})
			for _, err := range []error{err, writeErr} {
				if !errors.Is(err, workerassign.ErrCorrupt) || !errors.Is(err, workerassign.ErrPermanent) || !strings.Contains(err.Error(), path) {
					t.Errorf("%s: the error is %v; want ErrCorrupt and ErrPermanent with the path", name, err)
				}
			}
		}
		if now, err := os.ReadFile(path); text != nil && !bytes.Equal(now, text) || text == nil && err == nil {
			t.Errorf("%s: the file was changed to %q, %v", name, now, err)
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if state := slottest.Read(t, New(path, quiet), recycled.Query{All: true}); len(state.Slots) != 3 {
		t.Errorf("the file with its former content has %d slots, want 3", len(state.Slots))
	}
}

// R7: a file that was replaced by a copy of an earlier one has another history, whatever way it was
// replaced. A write that was prepared before is refused.
func TestR7SlotFileCopy(t *testing.T) {
	for name, restore := range map[string]func(t *testing.T, path string, old []byte){
		"written in place": func(t *testing.T, path string, old []byte) {
			if err := os.WriteFile(path, old, 0o600); err != nil {
				t.Fatal(err)
			}
		},
		"renamed": func(t *testing.T, path string, old []byte) {
			if err := os.WriteFile(path+".old", old, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(path+".old", path); err != nil {
				t.Fatal(err)
			}
		},
		"deleted before": func(t *testing.T, path string, old []byte) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, old, 0o600); err != nil {
				t.Fatal(err)
			}
		},
		"with its lock file": func(t *testing.T, path string, old []byte) {
			for _, name := range []string{path, path + ".lock"} {
				if err := os.Remove(name); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile(path, old, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path+".lock", []byte(workerfile.LockMarker), 0o600); err != nil {
				t.Fatal(err)
			}
		},
		"without its lock file": func(t *testing.T, path string, _ []byte) {
			if err := os.Remove(path + ".lock"); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "slots")
			store := New(path, quiet)
			state := newSlotsForTest(t, store, 2)
			for writes := 1; writes <= 4; writes++ { // inode numbers are used alternately
				old, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				before := state
				for range writes {
					slottest.WantWritten(t, store, true, recycled.Write{History: state.History, Slots: []recycled.Slot{nextSlot(state.Slots[0], rand.Text())}, Replaced: state.Slots[:1]})
					state = slottest.Read(t, store, recycled.Query{All: true})
				}
				time.Sleep(20 * time.Millisecond) // the resolution of the time of creation
				restore(t, path, old)
				if written, err := store.Write(context.Background(), recycled.Write{History: before.History, Slots: []recycled.Slot{nextSlot(before.Slots[0], "x")}, Replaced: before.Slots[:1]}); written || err != nil {
					t.Errorf("after %d writes a Write with the former history returned %v, %v; want false", writes, written, err)
				}
				state = slottest.Read(t, store, recycled.Query{All: true})
				if state.History == before.History {
					t.Errorf("after %d writes a copy has the history of the original", writes)
				}
				if again := slottest.Read(t, New(path, quiet), recycled.Query{}); again.History != state.History {
					t.Errorf("the history changed again, from %q to %q", state.History, again.History)
				}
			}
		})
	}
}

// Errors of the file system that another try does not fix are permanent, so that a service which
// starts does not wait.
func TestSlotFilePermanentErrors(t *testing.T) {
	directory := t.TempDir()
	for _, name := range []string{"d", "locked.lock"} {
		if err := os.Mkdir(filepath.Join(directory, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(directory, "f"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		store recycled.Store
		want  error
	}{
		"no path":                         {New(""), workerassign.ErrOption},
		"bad option":                      {New(filepath.Join(directory, "a"), WithTimeout(0)), workerassign.ErrOption},
		"nil option":                      {New(filepath.Join(directory, "a"), nil), workerassign.ErrOption},
		"no directory":                    {New(filepath.Join(directory, "missing", "slots")), workerassign.ErrPermanent},
		"a directory":                     {New(filepath.Join(directory, "d")), workerassign.ErrPermanent},
		"a lock file that is a directory": {New(filepath.Join(directory, "locked")), workerassign.ErrPermanent},
		"in a file":                       {New(filepath.Join(directory, "f", "slots")), workerassign.ErrPermanent},
	} {
		s := tt.store
		if _, err := s.Read(context.Background(), recycled.Query{}); !errors.Is(err, tt.want) {
			t.Errorf("%s: Read() = %v, want %v", name, err, tt.want)
		}
		l, err := recycled.New(s, recycled.WithTimeout(5*time.Second)).Assign(context.Background(), workerassign.Request{Format: "f", MaxWorkerID: 3})
		if l != nil || !errors.Is(err, tt.want) || errors.Is(err, workerassign.ErrGaveUp) {
			t.Errorf("%s: Assign() = %v, %v; want %v at once", name, l, err, tt.want)
		}
	}
	if _, err := New(filepath.Join(directory, "d")).Read(context.Background(), recycled.Query{}); !errors.Is(err, workerassign.ErrFile) {
		t.Errorf("Read() of a directory = %v, want ErrFile", err)
	}
}

// A Read or Write waits for the lock until its context ends.
func TestSlotFileWaitsForLock(t *testing.T) {
	leaktest.Check(t)
	path := filepath.Join(t.TempDir(), "slots")
	s := New(path)
	newSlotsForTest(t, s, 1)
	lock, err := s.file.Open(context.Background(), safelog.NewQueue(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
	defer cancel()
	if _, err := s.Read(ctx, recycled.Query{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Read() = %v, want DeadlineExceeded", err)
	}
	if _, err := s.Write(ctx, recycled.Write{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Write() = %v, want DeadlineExceeded", err)
	}
	lock.Close()
	slottest.Read(t, s, recycled.Query{})
}

// BenchmarkSlotFile measures the calls of a file with many slots.
func BenchmarkSlotFile(b *testing.B) {
	for _, slots := range []int64{100, 1000, 10_000} {
		s := New(filepath.Join(b.TempDir(), "slots"))
		state := newSlotsForTest(b, s, slots)
		b.Run(fmt.Sprint("Write/slots=", slots), func(b *testing.B) {
			slot := slottest.Read(b, s, recycled.Query{WorkerIDs: []int64{slots / 2}}).Slots[0]
			for b.Loop() {
				next := nextSlot(slot, slot.Token)
				slottest.WantWritten(b, s, true, recycled.Write{History: state.History, Slots: []recycled.Slot{next}, Replaced: []recycled.Slot{slot}})
				slot = next
			}
		})
		b.Run(fmt.Sprint("Read/slots=", slots), func(b *testing.B) {
			for b.Loop() {
				slottest.Read(b, s, recycled.Query{WorkerIDs: []int64{slots / 2}})
			}
		})
	}
}

var errCrash = errors.New("crash")

package workerassign

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/leaktest"
	"github.com/ringuid/ringuid/internal/testreq"
)

// assign takes a worker ID and fails the test if there is none.
func assign(tb testing.TB, a Assigner) int64 {
	tb.Helper()
	l, err := a.Assign(context.Background(), Request{})
	if err != nil {
		tb.Fatal(err)
	}
	return l.WorkerID()
}

func TestFileCounts(t *testing.T) {
	leaktest.Check(t)
	path := filepath.Join(t.TempDir(), "worker")
	for want := int64(1); want <= 50; want++ {
		if got := assign(t, NewFile(path)); got != want { // a new one each time, as after a restart
			t.Fatalf("worker ID %d, want %d", got, want)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil || string(text) != "ringuid-worker v1 50 crc32c=64eaeaeb\n" {
		t.Errorf("the file holds %q, %v", text, err)
	}
	l, err := NewFile(path).Assign(context.Background(), Request{})
	if err != nil {
		t.Fatal(err)
	}
	granted, err := l.Reserve(context.Background(), time.Now())
	if !l.NotBefore().IsZero() || !granted.Equal(Unbounded()) || err != nil || l.Release(context.Background(), time.Time{}) != nil {
		t.Errorf("the lease is from %v to %v, %v; want no bounds", l.NotBefore(), granted, err)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 2 {
		t.Errorf("%d files lie in the directory (%v), want the counter and its lock", len(entries), err)
	}
	for _, e := range entries {
		if info, err := e.Info(); err != nil || info.Mode().Perm() != 0o600 && runtime.GOOS != "windows" {
			t.Errorf("%s: %v, %v", e.Name(), info.Mode(), err)
		}
	}
}

var corruptTexts = []string{
	"", "\n", "ringuid-worker v1", "ringuid-worker v1 5", "ringuid-worker v1 5 crc32c=00000000\n", "7", "7\n",
	strings.TrimSuffix(formatCounter(5), "\n"), formatCounter(5) + "\n", " " + formatCounter(5), formatCounter(5) + formatCounter(6),
	formatCounter(0), formatCounter(-1), formatCounter(math.MinInt64),
	strings.Replace(formatCounter(5), "5", "6", 1), strings.Replace(formatCounter(5), " 5", " 05", 1), strings.Replace(formatCounter(5), " 5", " +5", 1),
	strings.Replace(formatCounter(5), "v1", "v2", 1), strings.ToUpper(formatCounter(5)),
	"ringuid-worker v1 99999999999999999999 crc32c=00000000\n", strings.Repeat("\x00", 4096),
}

// A damaged file is an error that names it, and stays as it is: counting from 1 again would
// give out every worker ID a second time.
func TestDamagedFileIsNeverStartedAgain(t *testing.T) {
	for _, text := range corruptTexts {
		path := filepath.Join(t.TempDir(), "worker")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			l, err := NewFile(path).Assign(context.Background(), Request{})
			if l != nil || !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "beyond all worker IDs") ||
				!strings.Contains(err.Error(), "never an older copy") {
				t.Errorf("%q: Assign() = %v, %v; want ErrCorrupt with the path and what to do", text, l, err)
			}
		}
		if now, err := os.ReadFile(path); err != nil || string(now) != text {
			t.Errorf("%q became %q, %v", text, now, err)
		}
	}
}

// A counter that is gone while its lock file is there has been lost. The number that the
// error advises to write mends it.
func TestLostFileIsNeverStartedAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "worker")
	assign(t, NewFile(path))
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		l, err := NewFile(path).Assign(context.Background(), Request{})
		if l != nil || !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), path+" is gone") {
			t.Errorf("Assign() = %v, %v; want ErrCorrupt with the path", l, err)
		}
	}
	if err := os.WriteFile(path, []byte(formatCounter(1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := assign(t, NewFile(path)); got != 1001 {
		t.Errorf("worker ID %d, want 1001", got)
	}
}

func TestFileThatCannotBeUsed(t *testing.T) {
	leaktest.Check(t)
	directory := t.TempDir()
	for _, tt := range []struct {
		name, path string
		prepare    func(path string) error
		want       error
		text       string
	}{
		{"no directory", filepath.Join(directory, "none", "worker"), nil, fs.ErrNotExist, "none"},
		{"a directory", filepath.Join(directory, "directory"), func(p string) error { return os.Mkdir(p, 0o700) }, ErrFile, "directory"},
		{"a link to nowhere", filepath.Join(directory, "link"), func(p string) error { return os.Symlink(filepath.Join(directory, "nowhere"), p) }, ErrFile, "link"},
		{"at the end", filepath.Join(directory, "end"), func(p string) error {
			return os.WriteFile(p, []byte(formatCounter(math.MaxInt64)), 0o600)
		}, ErrFile, "9223372036854775807"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.prepare != nil {
				if err := tt.prepare(tt.path); errors.As(err, new(*os.LinkError)) {
					testreq.Missing(t, "this system has no links: ", err)
				} else if err != nil {
					t.Fatal(err)
				}
			}
			l, err := NewFile(tt.path).Assign(context.Background(), Request{})
			if l != nil || !errors.Is(err, tt.want) || !errors.Is(err, ErrFile) || !strings.Contains(err.Error(), tt.text) || !strings.Contains(err.Error(), tt.path) {
				t.Errorf("Assign() = %v, %v; want %v with %q", l, err, tt.want, tt.text)
			}
		})
	}
	if _, err := os.Stat(filepath.Join(directory, "nowhere")); err == nil {
		t.Error("a link to nowhere was followed")
	}
}

// Whoever names the file, by a link or by a relative path, counts in the same one.
func TestFileByOtherNames(t *testing.T) {
	directory, other := t.TempDir(), t.TempDir()
	path, link := filepath.Join(directory, "worker"), filepath.Join(other, "link")
	if err := os.Symlink(directory, filepath.Join(other, "directory")); err != nil {
		testreq.Missing(t, "this system has no links: ", err)
	}
	if got := assign(t, NewFile(filepath.Join(other, "directory", "worker"))); got != 1 {
		t.Errorf("worker ID %d, want 1", got)
	}
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if got := assign(t, NewFile(link)); got != 2 {
		t.Errorf("worker ID %d, want 2", got)
	}
	t.Chdir(directory)
	relative := NewFile("worker")
	t.Chdir(other)
	if got := assign(t, relative); got != 3 {
		t.Errorf("worker ID %d, want 3", got)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link became %v, %v", info, err)
	}
}

// D11: what cannot be used is refused by name.
func TestD11FileOptions(t *testing.T) {
	for _, tt := range []struct {
		path   string
		option FileOption
		want   string
	}{
		{"", WithTimeout(time.Second), "the path of the worker file is empty"},
		{"x", nil, "an option is nil"},
		{"x", WithTimeout(0), "timeout is 0s"},
		{"x", WithLogger(nil), "the logger is nil"},
	} {
		if l, err := NewFile(tt.path, tt.option).Assign(context.Background(), Request{}); l != nil || !errors.Is(err, ErrOption) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Assign() = %v, %v; want ErrOption with %q", l, err, tt.want)
		}
	}
}

// While another one holds the lock, Assign waits, and no longer than it may.
func TestFileWaitsForTheLock(t *testing.T) {
	leaktest.Check(t)
	path := filepath.Join(t.TempDir(), "worker")
	f := NewFile(path)
	lock, err := f.acquireLock(context.Background(), discardQueue(), path+".lock")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
	defer cancel()
	l, err := f.Assign(ctx, Request{})
	if l != nil || !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, ErrGaveUp) || !strings.Contains(err.Error(), path+".lock") {
		t.Errorf("Assign() = %v, %v; want a RetryError with the lock's name", l, err)
	}
	if l, err := NewFile(path, WithTimeout(10*time.Millisecond)).Assign(context.Background(), Request{}); l != nil || !errors.Is(err, ErrGaveUp) {
		t.Errorf("Assign() with a timeout = %v, %v", l, err)
	}
	got := make(chan int64)
	go func() { got <- assign(t, f) }()
	time.Sleep(10 * time.Millisecond)
	lock.Close()
	if id := <-got; id != 1 {
		t.Errorf("worker ID %d, want 1", id)
	}
}

// needsDeletesOfOpenFiles skips a test where an open file cannot be deleted, as on Windows: there
// nobody deletes a lock file that is in use.
func requireOpenFileDeletion(t *testing.T) {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "open"))
	if err != nil {
		t.Fatal(err)
	}
	err = os.Remove(file.Name())
	file.Close()
	if err != nil {
		testreq.Missing(t, "this system does not delete open files: ", err)
	}
}

// A lock file that is deleted before it is locked keeps nobody out, and so is not the one to hold.
func TestLockFileIsReplaced(t *testing.T) {
	leaktest.Check(t)
	requireOpenFileDeletion(t)
	path := filepath.Join(t.TempDir(), "worker")
	f, deleted := NewFile(path), 0
	f.afterStep = func(at step) error {
		if at == stepOpened && deleted < 3 {
			deleted++
			return os.Remove(path + ".lock")
		}
		return nil
	}
	lock, err := f.acquireLock(context.Background(), discardQueue(), path+".lock")
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if deleted != 3 || !sameFile(lock, path+".lock") {
		t.Errorf("after %d deletions, a deleted file is taken for the lock", deleted)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if other, err := NewFile(path).acquireLock(ctx, discardQueue(), path+".lock"); err == nil {
		other.Close()
		t.Error("two hold the lock")
	}
}

// Somebody deletes the lock file in the middle of an assignment, and others count by a new
// one meanwhile: no worker ID comes twice, and the counter is not set back.
func TestInvariant1LockFileIsDeletedMidway(t *testing.T) {
	leaktest.Check(t)
	requireOpenFileDeletion(t)
	for at := stepLocked; at < stepCount; at++ {
		for first := range 2 { // with no counter yet, and with one
			t.Run(fmt.Sprint("step ", int(at), " after ", first), func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "worker")
				seen := map[int64]bool{}
				take := func(f *File) error {
					l, err := f.Assign(context.Background(), Request{})
					if err != nil {
						return err
					}
					if seen[l.WorkerID()] {
						t.Errorf("worker ID %d was given twice", l.WorkerID())
					}
					seen[l.WorkerID()] = true
					return nil
				}
				for range first {
					if err := take(NewFile(path)); err != nil {
						t.Fatal(err)
					}
				}
				f, reached := NewFile(path), false
				f.afterStep = func(s step) error {
					if s != at {
						return nil
					}
					reached = true
					if err := os.Remove(path + ".lock"); err != nil {
						t.Error(err)
					}
					for range 3 {
						if err := take(NewFile(path)); err != nil {
							t.Error(err)
						}
					}
					return nil
				}
				err := take(f)
				if !reached {
					if at != stepMarked || first == 0 {
						t.Fatal("the step was not reached")
					}
					return
				}
				if !errors.Is(err, ErrFile) {
					t.Errorf("Assign() without its lock = %v, want ErrFile", err)
				}
				for range 3 {
					if err := take(NewFile(path)); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
}

var errCrash = errors.New("crash")

// A crash after any step, over and over: no worker ID is given twice, none is a false alarm.
func TestCrashAtEveryStep(t *testing.T) {
	leaktest.Check(t)
	for at := range stepCount {
		t.Run(fmt.Sprint("step ", int(at)), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "worker")
			last := int64(0)
			for range 5 {
				f := NewFile(path)
				f.afterStep = func(s step) error {
					if s == at {
						return errCrash
					}
					return nil
				}
				if l, err := f.Assign(context.Background(), Request{}); err == nil {
					if at != stepMarked { // which comes in the first round only
						t.Fatalf("step %d was not reached", at)
					}
					if l.WorkerID() <= last {
						t.Fatalf("worker ID %d after %d", l.WorkerID(), last)
					}
					last = l.WorkerID()
				} else if !errors.Is(err, errCrash) {
					t.Fatal(err)
				}
				got := assign(t, NewFile(path))
				if got <= last || got > last+2 {
					t.Fatalf("worker ID %d after %d", got, last)
				}
				last = got
			}
		})
	}
}

// Many goroutines, each with a File of its own: each number once, and none left out.
func TestInvariant1FileGoroutines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "worker")
	const goroutines, each = 16, 20
	var (
		mu   sync.Mutex
		seen = map[int64]bool{}
		all  sync.WaitGroup
	)
	for range goroutines {
		all.Go(func() {
			f := NewFile(path)
			for range each {
				id := assign(t, f)
				mu.Lock()
				if seen[id] || id < 1 || id > goroutines*each {
					t.Errorf("worker ID %d was given twice, or is out of the row", id)
				}
				seen[id] = true
				mu.Unlock()
			}
		})
	}
	all.Wait()
	if len(seen) != goroutines*each {
		t.Errorf("%d worker IDs, want %d", len(seen), goroutines*each)
	}
}

// Processes that start at once on one file, some of which are killed in the middle: no
// worker ID comes twice.
func TestInvariant1FileProcesses(t *testing.T) {
	if path := os.Getenv("RINGUID_TEST_FILE"); path != "" {
		f := NewFile(path)
		for range 25 {
			fmt.Println("id", assign(t, f))
		}
		return
	}
	path := filepath.Join(t.TempDir(), "worker")
	const processes = 12
	var (
		all     sync.WaitGroup
		outputs [processes]string
	)
	for n := range processes {
		all.Go(func() {
			cmd := exec.Command(os.Args[0], "-test.run=^TestInvariant1FileProcesses$", "-test.count=1")
			cmd.Env = append(os.Environ(), "RINGUID_TEST_FILE="+path)
			var out strings.Builder
			cmd.Stdout = &out
			if err := cmd.Start(); err != nil {
				t.Error(err)
				return
			}
			killed := n%4 == 0
			if killed {
				time.AfterFunc(time.Duration(10+5*n)*time.Millisecond, func() { cmd.Process.Kill() })
			}
			if err := cmd.Wait(); err != nil && !killed {
				t.Errorf("process %d: %v\n%s", n, err, out.String())
			}
			outputs[n] = out.String()
		})
	}
	all.Wait()
	seen := map[int64]bool{}
	for n, out := range outputs {
		count := 0
		for line := range strings.Lines(out) {
			text, ok := strings.CutPrefix(line, "id ")
			if !ok || !strings.HasSuffix(text, "\n") {
				continue
			}
			id, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
			if err != nil || id < 1 || seen[id] {
				t.Errorf("process %d: worker ID %q was given twice, or is none", n, text)
			}
			seen[id] = true
			count++
		}
		if count != 25 && n%4 != 0 {
			t.Errorf("process %d took %d worker IDs, want 25", n, count)
		}
	}
}

func FuzzParseCounter(f *testing.F) {
	for _, text := range append(corruptTexts, formatCounter(1), formatCounter(math.MaxInt64)) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := parseCounter([]byte(text))
		if err == nil && (n < 1 || formatCounter(n) != text) || err != nil && n != 0 {
			t.Errorf("parseCounter(%q) = %d, %v", text, n, err)
		}
	})
}

// A process that was paused, whose lock file was deleted meanwhile, does not set back what others
// count: neither by its own rename nor by what it leaves for another's.
func TestInvariant1LockFileDeletedDuringAPause(t *testing.T) {
	requireOpenFileDeletion(t)
	path := filepath.Join(t.TempDir(), "worker")
	ctx := context.Background()
	assign := func(f *File) int64 {
		l, err := f.Assign(ctx, Request{})
		if err != nil {
			t.Fatal(err)
		}
		return l.WorkerID()
	}
	for range 5 {
		assign(NewFile(path))
	}
	var (
		greatest      int64
		paused, other = NewFile(path), NewFile(path)
		otherWrites   = make(chan struct{})
		pausedWrote   = make(chan struct{})
		ended         = make(chan error, 1)
	)
	other.afterStep = func(s step) error {
		if s == stepWritten {
			close(otherWrites)
			<-pausedWrote
		}
		return nil
	}
	paused.afterStep = func(s step) error {
		switch s {
		case stepRead:
			if err := os.Remove(path + ".lock"); err != nil {
				return err
			}
			for range 4 {
				greatest = assign(NewFile(path))
			}
			go func() {
				l, err := other.Assign(ctx, Request{})
				if err == nil {
					greatest = l.WorkerID()
				}
				ended <- err
			}()
			<-otherWrites
		case stepWritten:
			close(pausedWrote)
			<-ended
		}
		return nil
	}
	if l, err := paused.Assign(ctx, Request{}); err == nil {
		t.Errorf("worker ID %d without a lock", l.WorkerID())
	}
	if id := assign(NewFile(path)); id <= greatest {
		t.Errorf("worker ID %d comes again, up to %d were assigned", id, greatest)
	}
}

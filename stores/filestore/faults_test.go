//go:build unix && !aix && !solaris

package filestore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/fleettest"
	"github.com/ringuid/ringuid/internal/testkit/ledger"
	"github.com/ringuid/ringuid/stores/filestore"
	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// R2: a process is killed in the middle of its writes to a slot file, again and again, while other generators use
// the file. The next process always finds a good file, and no UID is generated twice.
func TestSlotFileProcessKilled(t *testing.T) {
	testkit.Slow(t, "it starts processes")
	if path := fleettest.ProcessAddress(); path != "" {
		// Goroutines with clients of their own: the process writes nearly all the time.
		log := ledger.NewChild(os.Stdout)
		for range 3 {
			s := log.Client(filestore.New(path), fleettest.ClockBound)
			a := s.Assigner(fleettest.Assigner(s))
			go fleettest.RunProcess(s, 10*time.Millisecond, 4*time.Millisecond, func(ctx context.Context, cached bool) (uid.Generator, error) {
				return fleettest.NewGenerator(ctx, a, cached)
			})
		}
		select {}
	}
	path := filepath.Join(t.TempDir(), "slots")
	f := fleettest.New()
	for n := range 2 {
		f.Run(filestore.New(path), n%2 == 0, 300*time.Millisecond)
	}
	f.RunLeases(filestore.New(path))
	p := fleettest.NewProcesses(f)
	kills, processes, unfinished := fleettest.Kills(), 0, 0
	for ; unfinished < kills && processes < 20*kills; processes++ {
		cmd := p.Start(t, path)
		p.Wait(t, 10, 3)
		time.Sleep(rand.N(20 * time.Millisecond))
		for end := time.Now().Add(50 * time.Millisecond); len(temporaryFiles(t, path)) == 0 && time.Now().Before(end); {
		}
		p.Kill(cmd)
		// A process that is killed in the middle of a write leaves a file that has not been renamed. Nobody else
		// has one while the lock is held here.
		release := holdFileLock(t, path)
		left := temporaryFiles(t, path)
		release()
		state, err := filestore.New(path).Read(testkit.Patient(t), recycled.Query{All: true})
		if err != nil || int64(len(state.Slots)) != state.Pool.Slots {
			t.Fatalf("after %d processes the pool has %d slots, %d of them in the file: %v", processes, state.Pool.Slots, len(state.Slots), err)
		}
		release = holdFileLock(t, path)
		if again := temporaryFiles(t, path); len(again) > 0 {
			t.Errorf("a new process has not removed %v", again)
		}
		release()
		if len(left) > 0 {
			unfinished++
		}
	}
	_, starts := p.Counts()
	t.Logf("%d processes were killed, %d of them in the middle of a write; they started %d generators", processes, unfinished, starts)
	if unfinished < kills {
		t.Errorf("%d processes were killed in the middle of a write, want %d", unfinished, kills)
	}
	f.Check(t, int64(kills)*100)
}

// temporaryFiles returns the names of the files that are to replace a slot file.
func temporaryFiles(t *testing.T, path string) []string {
	t.Helper()
	names, err := filepath.Glob(path + ".tmp*")
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// holdFileLock acquires the lock of a slot file, as a process does that is stopped in the middle of a write. It
// returns what releases the lock.
func holdFileLock(t testing.TB, path string) (release func()) {
	t.Helper()
	lock, err := os.OpenFile(path+".lock", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	return func() { lock.Close() }
}

// The lock of the file is held for longer than a grant.
func TestSlotFilePaused(t *testing.T) {
	testkit.Slow(t, "it takes some seconds")
	path, release := filepath.Join(t.TempDir(), "slots"), func() {}
	fleettest.Pause(t, func() recycled.Store { return filestore.New(path) },
		func() { release = holdFileLock(t, path) }, func() { release() })
}

// R3: a process that was stopped beyond its lease, and whose slot was taken by another, is granted nothing
// any more when it continues, and takes another slot.
func TestR3SlotFileProcessStopped(t *testing.T) {
	testkit.Slow(t, "it starts processes")
	if path := testkit.ChildArg(); path != "" {
		leaseUntilLost(t, path)
		return
	}
	path := filepath.Join(t.TempDir(), "slots")
	c := testkit.StartChild(t, path)
	first := c.Line()
	release := holdFileLock(t, path) // otherwise the process might be stopped while it holds the lock
	c.Pause()
	release()
	a := recycled.New(filestore.New(path), append(slotFileOptions, recycled.WithWorkerID(0), recycled.WithHorizon(time.Hour))...)
	l, err := a.Assign(testkit.Patient(t), slotFileRequest(2)) // waits until the slot is free
	if err != nil {
		t.Fatal(err)
	}
	granted, err := l.Reserve(testkit.Patient(t), time.Now().Add(30*time.Minute)) // the process must not get the slot back
	if err != nil {
		t.Fatal(err)
	}
	c.Resume()
	spans := []grantedSpan{{l.WorkerID(), l.NotBefore().UnixMilli(), granted.Until.UnixMilli(), 1}}
	last := grantedSpan{}
	for line := first; line != "lost"; line = c.Line() {
		last = parseSpan(t, line)
	}
	spans = append(spans, last, parseSpan(t, c.Line()))
	if next := spans[2].workerID; next != 1 {
		t.Errorf("the process that lost its lease got worker ID %d, want 1", next)
	}
	checkDisjoint(t, spans)
}

// leaseUntilLost extends a lease until it is lost, and then takes another.
func leaseUntilLost(t *testing.T, path string) {
	// It creates the pool, whose horizon limits all grants.
	a := recycled.New(filestore.New(path), append(slotFileOptions, recycled.WithHorizon(time.Hour))...)
	for lost := false; ; lost = true {
		l, err := a.Assign(testkit.Patient(t), slotFileRequest(2))
		if err != nil {
			t.Fatal(err)
		}
		for {
			granted, err := l.Reserve(testkit.Patient(t), time.Now().Add(100*time.Millisecond))
			if errors.Is(err, workerassign.ErrLeaseLost) {
				fmt.Println("lost")
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			printSpan(l, granted.Until)
			if lost {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// R3: a process is stopped beyond its lease, and its slot is taken by another. It generates UIDs, whereas the
// process of TestR3SlotFileProcessStopped takes leases.
func TestSlotFileStoppedGenerator(t *testing.T) {
	testkit.Slow(t, "it takes some seconds")
	fleettest.StoppedProcess(t, func(t *testing.T) string { return filepath.Join(t.TempDir(), "slots") },
		func(t *testing.T, path string) recycled.Store {
			if pid, err := os.ReadFile(path + ".pid"); err == nil {
				stopOutsideOfLock(t, path, string(pid))
			} else if err := os.WriteFile(path+".pid", fmt.Append(nil, os.Getpid()), 0o600); err != nil {
				t.Fatal(err)
			}
			return filestore.New(path)
		})
}

// stopOutsideOfLock lets a child that is stopped, perhaps while it holds the lock of the file, continue, and stops it again outside
// of the lock: nobody could take a slot until it released the lock.
func stopOutsideOfLock(t *testing.T, path, pid string) {
	process, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatal(err)
	}
	syscall.Kill(process, syscall.SIGCONT)
	defer holdFileLock(t, path)()
	syscall.Kill(process, syscall.SIGSTOP)
	testkit.WaitStopped(t, process)
}

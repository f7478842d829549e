// Package leasetest has what tests of several packages do with leases.
package leasetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/millis"
	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/workerassign"
)

// Request returns the request of a generator that can have so many worker IDs.
func Request(workerIDs int64) workerassign.Request {
	return workerassign.Request{Format: "test", MaxWorkerID: workerIDs - 1}
}

// MustAssign returns the lease of an Assign that must succeed.
func MustAssign(tb testing.TB, a workerassign.Assigner, r workerassign.Request) workerassign.Lease {
	tb.Helper()
	l, err := a.Assign(context.Background(), r)
	if err != nil {
		tb.Fatal(err)
	}
	return l
}

// MustReserve returns what a lease was granted.
func MustReserve(tb testing.TB, l workerassign.Lease, until time.Time) time.Time {
	tb.Helper()
	granted, err := l.Reserve(context.Background(), until)
	if err != nil {
		tb.Fatal(err)
	}
	return granted.Until
}

// MustHold takes a lease and reserves time up to d from now. It returns the end of what was granted too.
func MustHold(tb testing.TB, a workerassign.Assigner, d time.Duration) (workerassign.Lease, time.Time) {
	tb.Helper()
	l := MustAssign(tb, a, Request(1024))
	return l, MustReserve(tb, l, time.Now().Add(d))
}

// MustRelease releases a lease.
func MustRelease(tb testing.TB, l workerassign.Lease, used time.Time) {
	tb.Helper()
	if err := l.Release(context.Background(), used); err != nil {
		tb.Fatal(err)
	}
}

// GrantUntilKilled is what a child does: it takes a lease, extends it until the child is killed, and prints the worker ID and the
// beginning of the lease, and then the worker ID and the end of each grant.
func GrantUntilKilled(t *testing.T, a workerassign.Assigner) {
	l, err := a.Assign(testkit.Patient(t), Request(8))
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(l.WorkerID(), l.NotBefore().UnixMilli())
	for until := millis.Later(l.NotBefore(), time.Now()); ; until = until.Add(time.Millisecond) {
		granted, err := l.Reserve(context.Background(), until)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println(l.WorkerID(), granted.Until.UnixMilli())
	}
}

// GrantSequence checks what processes print that use one file, one after the other: all have the same worker ID, and no time is
// granted twice.
type GrantSequence struct {
	WorkerID, Last int64 // -1 before the first line; the end of what was granted
}

// Run runs a process, which calls GrantUntilKilled, and kills it a moment after its second line. It calls running before that. If
// running is nil, it kills the process while it starts, perhaps.
func (s *GrantSequence) Run(t *testing.T, c *testkit.Child, running func()) {
	t.Helper()
	kill := func() { time.AfterFunc(rand.N(40*time.Millisecond), c.Kill) }
	if running == nil {
		kill()
	}
	count := 0
	for line := range c.Lines() {
		var id, at int64
		if _, err := fmt.Sscanf(line, "%d %d", &id, &at); err != nil {
			t.Fatalf("the process wrote %q", line)
		}
		if at < s.Last || s.WorkerID >= 0 && id != s.WorkerID {
			t.Errorf("a process has worker ID %d at %d; the one before had worker ID %d up to %d", id, at, s.WorkerID, s.Last)
		}
		s.WorkerID, s.Last = id, at
		if count++; count == 2 && running != nil {
			running()
			kill()
		}
	}
	c.Wait()
	if count < 2 && running != nil {
		t.Errorf("a process wrote %d lines", count)
	}
}

// WantInUse checks that an assigner gets no lease while a process has the file.
func WantInUse(t *testing.T, a workerassign.Assigner) {
	t.Helper()
	if l, err := a.Assign(testkit.Patient(t), Request(8)); l != nil || !errors.Is(err, workerassign.ErrInUse) {
		t.Errorf("Assign() while a process has the file = %v, %v; want ErrInUse", l, err)
	}
}

// WantError fails the test if err does not match target, or does not contain all texts.
func WantError(t testing.TB, what string, err, target error, texts ...string) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Errorf("%s: the error is %v; want one that matches %v", what, err, target)
		return
	}
	if strings.Contains(err.Error(), "%!") {
		t.Errorf("%s: the error is %q, with a verb of fmt that has the wrong argument", what, err)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("%s: the error is\n%v\nand does not contain\n%s", what, err, text)
		}
	}
}

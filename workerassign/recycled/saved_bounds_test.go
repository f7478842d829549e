package recycled

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/lockedfile"
	"github.com/ringuid/ringuid/internal/testkit/leasetest"
	"github.com/ringuid/ringuid/workerassign"
)

// The store is asked when more than a quarter of the span has passed, and then at most once in a hundredth of the span, or once a
// minute if that is less; also if the clock was set back meanwhile.
func TestSavedAsksStoreSeldom(t *testing.T) {
	for _, c := range []struct{ span, period time.Duration }{{10 * time.Second, 100 * time.Millisecond}, {24 * time.Hour, time.Minute}} {
		s := newSavedTest(t)
		l := s.mustAssign(s.newSaved(WithSpan(c.span)))
		asked := func(after time.Duration, want int) {
			t.Helper()
			s.now = s.now.Add(after)
			before := s.store.reads
			leasetest.MustReserve(t, l, s.now.Add(time.Millisecond))
			if n := s.store.reads - before; n != want {
				t.Errorf("span %v, %v after the last call: the store was asked %d times, want %d", c.span, after, n, want)
			}
		}
		asked(c.span/4, 0)
		s.store.down.Store(true)
		asked(time.Millisecond, 1)
		asked(c.period-time.Millisecond, 0)
		asked(time.Millisecond, 1)
		asked(0, 0)
		asked(-time.Millisecond, 1)
		s.store.down.Store(false)
		asked(c.period, 1)
		asked(c.period, 0)
		l.crash()
	}
}

// The span may be a second to a year.
func TestSavedSpanBounds(t *testing.T) {
	s := newSavedTest(t)
	for span, want := range map[time.Duration]bool{time.Second - 1: false, time.Second: true, 365 * 24 * time.Hour: true, 365*24*time.Hour + 1: false} {
		r := s.recycled(WithHorizon(365 * 24 * time.Hour))
		if err := Saved(r, s.path, WithSpan(span)).(*saved).cfg.err; (err == nil) != want || err != nil && !errors.Is(err, workerassign.ErrOption) {
			t.Errorf("WithSpan(%v): %v", span, err)
		}
	}
	// Worker ID 0 is a worker ID like others.
	l := s.mustAssign(s.newSaved())
	l.crash()
	if l.WorkerID() != 0 {
		t.Fatalf("the first worker ID is %d", l.WorkerID())
	}
	for id, want := range map[int64]bool{0: true, 1: false} {
		got, err := Saved(s.recycled(WithWorkerID(id)), s.path).Assign(t.Context(), s.request())
		if (err == nil) != want || err != nil && (!errors.Is(err, workerassign.ErrOption) || !strings.Contains(err.Error(), "has a lease on worker ID 0, and this assigner's is 1")) {
			t.Errorf("WithWorkerID(%d): %v", id, err)
		}
		if err == nil {
			got.(*savedLease).crash()
		}
	}
	other := newSavedTest(t)
	l = other.mustAssign(Saved(other.recycled(WithWorkerID(3)), other.path))
	l.crash()
	if _, err := Saved(other.recycled(WithWorkerID(0)), other.path).Assign(t.Context(), other.request()); !errors.Is(err, workerassign.ErrOption) {
		t.Errorf("WithWorkerID(0) with the file of worker ID 3: %v", err)
	}
}

// An extension whose reply is lost is tried once more; one that another swap has overtaken, again and again.
func TestSavedExtensionIsTriedAgain(t *testing.T) {
	s := newSavedTest(t)
	s.mustAssign(s.newSaved()).crash()
	writes := s.store.writes
	s.store.loseReplies.Store(100)
	l := s.mustAssign(s.newSaved()) // with the lease in the file
	if n := s.store.writes - writes; n != 2 {
		t.Errorf("%d writes whose replies are lost, want 2", n)
	}
	l.crash()
	s.store.loseReplies.Store(0)
	s.store.refuse = 4
	l = s.mustAssign(s.newSaved())
	if s.store.refuse != 0 || !l.record.slot.Until.Equal(s.now.Add(24*time.Hour)) {
		t.Errorf("%d swaps are still to be overtaken, and the lease ends at %v; want 0 and a day later", s.store.refuse, l.record.slot.Until)
	}
	l.crash()
}

// R4: if the file cannot be written, no slot is claimed.
func TestR4SavedClaimsNothingWithoutFile(t *testing.T) {
	errDisk := errors.New("disk error")
	for _, slots := range []int{0, 1} { // one that is free, or none
		s := newSavedTest(t)
		if slots > 0 {
			l, err := s.recycled().Assign(t.Context(), s.request())
			if err != nil {
				t.Fatal(err)
			}
			leasetest.MustRelease(t, l, s.now)
			s.now = s.now.Add(time.Second)
		}
		a := s.newSaved()
		a.file.Hook = func(at lockedfile.Step) error {
			if at == lockedfile.StepWritten {
				return errDisk
			}
			return nil
		}
		if l, err := a.Assign(t.Context(), s.request()); l != nil || !errors.Is(err, errDisk) {
			t.Errorf("Assign() = %v, %v; want the error of the file", l, err)
		}
		state, err := s.store.Read(t.Context(), Query{All: true})
		if err != nil || len(state.Slots) != slots {
			t.Errorf("the store has %+v, %v", state, err)
		}
		for _, slot := range state.Slots {
			if slot.Token != "" {
				t.Errorf("the slot of worker ID %d was claimed", slot.WorkerID)
			}
		}
	}
}

// A record without a revision or a token is not what Saved has written.
func TestSavedRecordRevision(t *testing.T) {
	for _, c := range []struct {
		revision int64
		tokens   []string
		want     bool
	}{{1, []string{"t"}, true}, {1, []string{"t", "u"}, true}, {1, nil, false}, {0, []string{"t"}, false}, {-1, []string{"t"}, false}} {
		r := savedRecord{slot: Slot{WorkerID: 1, Revision: c.revision, History: "h"}, mark: start, format: "f", tokens: c.tokens}
		e := &lockedfile.Encoder{}
		r.encode(e)
		if _, ok := decodeSavedRecord(&lockedfile.Decoder{Rest: strings.TrimPrefix(string(e.Out), "\n") + "\n"}); ok != c.want {
			t.Errorf("a record of revision %d with %d tokens is decoded: %v (%q)", c.revision, len(c.tokens), ok, e.Out)
		}
	}
}

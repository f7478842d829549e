package recycled

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/lockedfile"
	"github.com/ringuid/ringuid/internal/millis"
	"github.com/ringuid/ringuid/internal/testkit"
)

// Invariant 1: whatever happens to the process, the store and the clock, no two spans of one worker ID overlap, and the
// store has granted all that was granted locally. Another fleet member uses the pool too. The timeouts are those of a
// synctest bubble, so that a slow disk does not end them.
func TestInvariant1SavedRandom(t *testing.T) {
	seeds := uint64(12)
	if testkit.Race {
		seeds = testkit.Size[uint64](3, 12) // it has one goroutine
	}
	if testing.Short() {
		seeds = 1
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { testSavedRandom(t, seed) })
		})
	}
}

func testSavedRandom(t *testing.T, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 11))
	s := newSavedTest(t)
	var crashAt int
	newSaved := func() *saved {
		a := Saved(s.recycled(WithTimeout(20*time.Millisecond)), s.path).(*saved)
		a.storeTimeout = 10 * time.Millisecond
		a.file.Hook = func(lockedfile.Step) error {
			if crashAt--; crashAt == 0 {
				return errCrash
			}
			return nil
		}
		return a
	}
	var spans []testSpan
	other := s.recycled()
	for range 60 {
		switch random.IntN(4) {
		case 0:
			s.now = s.now.Add(time.Duration(random.Int64N(int64(30 * time.Hour))))
		case 1:
			s.now = s.now.Add(-time.Duration(random.Int64N(int64(time.Hour))))
		default:
			s.now = s.now.Add(time.Duration(random.Int64N(int64(time.Minute))))
		}
		s.store.down.Store(random.IntN(3) == 0)
		s.store.loseReplies.Store(int64(random.IntN(8) / 6))
		if len(spans) > 0 && random.IntN(10) == 0 {
			s.changeHistory()
		}
		if crashAt = random.IntN(60); crashAt >= 40 {
			crashAt = 0
		}
		if random.IntN(4) == 0 { // a lease of another host, which is not released
			if l, err := other.Assign(withTestTimeout(t), s.request()); err == nil {
				if granted, err := l.Reserve(withTestTimeout(t), s.now.Add(time.Minute)); err == nil {
					spans = append(spans, testSpan{l.WorkerID(), l.NotBefore(), granted.Until})
				}
			}
			continue
		}
		lease, err := newSaved().Assign(context.Background(), s.request())
		if err != nil {
			continue
		}
		l := lease.(*savedLease)
		span := testSpan{l.WorkerID(), l.NotBefore(), l.NotBefore()}
		for range random.IntN(5) {
			s.now = s.now.Add(time.Duration(random.Int64N(int64(10 * time.Hour))))
			granted, err := l.Reserve(context.Background(), s.now.Add(45*time.Second))
			if err == nil {
				span.end = millis.Later(span.end, granted.Until)
			}
		}
		if random.IntN(2) == 0 {
			used := span.begin.Add(time.Duration(random.Int64N(int64(span.end.Sub(span.begin)) + 1))).Truncate(time.Millisecond)
			l.Release(context.Background(), used) // even if it fails
			span.end = used
		}
		l.crash()
		spans = append(spans, span)
	}
	if len(spans) < 20 { // of 60 rounds
		t.Errorf("only %d spans", len(spans))
	}
	for i, a := range spans {
		for _, b := range spans[:i] {
			if a.workerID == b.workerID && a.begin.Before(b.end) && b.begin.Before(a.end) && a.begin.Before(a.end) && b.begin.Before(b.end) {
				t.Errorf("worker ID %d: the spans %v to %v and %v to %v overlap", a.workerID, b.begin, b.end, a.begin, a.end)
			}
		}
	}
}

// testSpan is what a lease was granted or has used.
type testSpan struct {
	workerID   int64
	begin, end time.Time
}

func withTestTimeout(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	t.Cleanup(cancel)
	return ctx
}

// A crash at any step of the file leaves the lease: the next start has the same worker ID, as soon as one was taken.
func TestSavedCrashAfterEachStep(t *testing.T) {
	for at := range lockedfile.StepCount {
		s := newSavedTest(t)
		workerID, end := int64(-1), time.Time{}
		rounds := 12
		if testing.Short() {
			rounds = 3
		}
		for round := range rounds {
			a := s.newSaved()
			reached := 0
			a.file.Hook = func(now lockedfile.Step) error {
				if now == at {
					if reached++; reached > round {
						return errCrash
					}
				}
				return nil
			}
			if lease, err := a.Assign(context.Background(), s.request()); err == nil {
				l := lease.(*savedLease)
				for range 2 {
					s.now = s.now.Add(7 * time.Hour)
					granted, err := l.Reserve(context.Background(), s.now.Add(time.Minute))
					if err == nil {
						end = millis.Later(end, granted.Until)
					} else if !errors.Is(err, errCrash) {
						t.Fatal(err)
					}
				}
				if err := l.Release(context.Background(), end); err != nil && !errors.Is(err, errCrash) {
					t.Fatal(err)
				}
				l.crash()
			} else if !errors.Is(err, errCrash) {
				t.Fatal(err)
			}
			next := s.mustAssign(s.newSaved())
			if next.NotBefore().Before(end) || workerID >= 0 && next.WorkerID() != workerID {
				t.Errorf("step %d, round %d: worker ID %d from %v; want %d from %v at the earliest", at, round, next.WorkerID(), next.NotBefore(), workerID, end)
			}
			workerID = next.WorkerID()
			next.crash()
		}
	}
}

// Any content of the file is refused or kept.
func FuzzDecodeSavedRecord(f *testing.F) {
	r := savedRecord{format: "f", mark: start}.acknowledged(Slot{WorkerID: 3, Revision: 4, Token: "t", From: start, Until: start, History: "h"})
	r.tokens = withToken(r.tokens, "u")
	e := &lockedfile.Encoder{}
	r.encode(e)
	f.Add(string(e.Out[1:]) + "\n")
	f.Fuzz(func(t *testing.T, text string) {
		r, ok := decodeSavedRecord(&lockedfile.Decoder{Rest: text})
		if !ok {
			return
		}
		e := &lockedfile.Encoder{}
		r.encode(e)
		again, ok := decodeSavedRecord(&lockedfile.Decoder{Rest: string(e.Out[1:]) + "\n"})
		if !ok || fmt.Sprint(again) != fmt.Sprint(r) {
			t.Errorf("%+v became %+v", r, again)
		}
	})
}

// The number of tokens of a lease is bounded. The acknowledged one remains.
func TestTokensAreBounded(t *testing.T) {
	tokens := []string{"first"}
	for n := range 100 {
		tokens = withToken(tokens, fmt.Sprint(n))
	}
	if len(tokens) != maxTokens || tokens[0] != "first" || tokens[maxTokens-1] != "99" {
		t.Errorf("the tokens are %q", tokens)
	}
}

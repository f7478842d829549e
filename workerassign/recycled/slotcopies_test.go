package recycled_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit/leasetest"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/assigntest"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// wantVoid fails the test if Reserve of a lease does not return an error that wraps ErrVoid and ErrLeaseLost and contains text,
// again and again, or if its Release changes the slot.
func (f *fleet) wantVoid(what string, l workerassign.Lease, text string) {
	f.Helper()
	for range 2 {
		until, err := l.Reserve(f.Context(), time.Now().Add(30*time.Second))
		if !until.Until.IsZero() {
			f.Errorf("%s: Reserve granted the time up to %v", what, until.Until)
		}
		leasetest.WantError(f.T, what, err, workerassign.ErrVoid, text)
		leasetest.WantError(f.T, what, err, workerassign.ErrLeaseLost)
	}
	if log := f.logged(); strings.Count(log, "level=ERROR") != 1 || !strings.Contains(log, "UIDs may have been generated twice") {
		f.Errorf("%s: the log is %q; must have one error", what, log)
	}
	writes := f.Writes()
	if err := l.Release(f.Context(), time.Now()); err != nil || f.Writes() != writes {
		f.Errorf("%s: Release of a void lease returned %v after %d writes, want 0", what, err, f.Writes()-writes)
	}
}

// wantLost fails the test if Reserve of a lease does not return an error that wraps ErrLeaseLost and contains text, or if that
// wraps ErrVoid.
func (f *fleet) wantLost(what string, l workerassign.Lease, text string) {
	f.Helper()
	_, err := l.Reserve(f.Context(), time.Now().Add(30*time.Second))
	leasetest.WantError(f.T, what, err, workerassign.ErrLeaseLost, text)
	if errors.Is(err, workerassign.ErrVoid) {
		f.Errorf("%s: the error is %v; must not wrap ErrVoid, because the grant stays", what, err)
	}
	if log := f.logged(); strings.Contains(log, "level=ERROR") {
		f.Errorf("%s: the log has an error: %s", what, log)
	}
}

// R4: of a process and its copy, only the first one that extends the lease goes on. What the other one was granted is void.
func TestR4CopyExtends(t *testing.T) {
	for _, first := range []string{"the process", "the copy"} {
		inFleet(t, func(f *fleet) {
			winner := f.assign(f.assigner())
			f.reserve(winner, 20*time.Second)
			loser := recycled.CopyLease(winner)
			if first == "the copy" {
				winner, loser = loser, winner
			}
			time.Sleep(time.Second)
			f.reserve(winner, 30*time.Second)
			f.wantVoid(first+" was first", loser, "a copy of this process has extended the lease of worker ID 0")
			f.reserve(winner, 40*time.Second)
			f.release(winner)
			if slot := f.slot(0); slot.Token != "" {
				f.Errorf("%s was first, and could not release the slot: %+v", first, slot)
			}
		})
	}
}

// A slow log handler does not delay the error, so that the generator drops what was granted at once.
func TestR4SlowLogger(t *testing.T) {
	inFleet(t, func(f *fleet) {
		slow := recycled.WithLogger(slog.New(slowHandler{slog.DiscardHandler}))
		winner := f.assign(f.assigner(slow))
		loser := recycled.CopyLease(winner)
		time.Sleep(time.Second)
		f.reserve(winner, 30*time.Second)
		begin := time.Now()
		_, err := loser.Reserve(f.Context(), time.Now().Add(30*time.Second))
		if took := time.Since(begin); took > 0 || !errors.Is(err, workerassign.ErrVoid) {
			f.Errorf("Reserve returned %v after %v, want ErrVoid at once", err, took)
		}
		time.Sleep(time.Minute) // the handler ends
	})
}

// slowHandler takes a minute for each record.
type slowHandler struct{ slog.Handler }

func (slowHandler) Enabled(context.Context, slog.Level) bool { return true }

func (slowHandler) Handle(context.Context, slog.Record) error {
	time.Sleep(time.Minute)
	return nil
}

// R4: the same if the copy extends the lease between the read and the write, even if its write is equal to the other one,
// because it has drawn the same random numbers at the same time.
func TestR4CopiesAtOnce(t *testing.T) {
	for _, equal := range []bool{false, true} {
		inFleet(t, func(f *fleet) {
			l := f.assign(f.assigner())
			f.reserve(l, 20*time.Second)
			twin := recycled.CopyLease(l)
			done := false
			f.SetFaults(func(op assigntest.Op) assigntest.Fault {
				if done || op.Write == nil {
					return assigntest.NoFault
				}
				done = true
				if !equal {
					f.reserve(twin, 30*time.Second)
				} else if ok, err := f.Write(f.Context(), *op.Write); !ok || err != nil {
					f.Errorf("Write = %v, %v", ok, err)
				}
				return assigntest.NoFault
			})
			f.wantVoid(fmt.Sprintf("equal: %v", equal), l, "a copy of this process has extended the lease of worker ID 0")
		})
	}
}

// R4: the tokens of two tries have the store's time, at Assign and at each extension, because the random numbers of two
// copies may be equal.
func TestR4TokensHaveTheTime(t *testing.T) {
	inFleet(t, func(f *fleet) {
		tokens := map[string]bool{}
		see := func(l workerassign.Lease) {
			token := f.slot(l.WorkerID()).Token
			if at := strconv.FormatInt(f.Dump().Now.UnixMicro(), 36); !strings.Contains(token, at) || tokens[token] || len(token) > 64 {
				f.Errorf("the token %q does not have the store's time, %s, or is not fresh, or too long for a column", token, at)
			}
			tokens[token] = true
		}
		l := f.assign(f.assigner())
		see(l)
		for range 3 {
			time.Sleep(time.Second)
			f.reserve(l, 30*time.Second)
			see(l)
		}
	})
}

// A copy that was closed has released the lease: what the other one was granted is void, whether another lease has begun
// or not.
func TestR4CopyReleases(t *testing.T) {
	for _, taken := range []bool{false, true} {
		inFleet(t, func(f *fleet) {
			l := f.assign(f.assigner())
			f.reserve(l, 20*time.Second)
			f.release(recycled.CopyLease(l))
			time.Sleep(2 * time.Millisecond)
			if !taken {
				f.wantVoid("released", l, "was released in the store at "+f.slot(0).Written.UTC().Format(time.RFC3339Nano)+", and not by this process: a copy of it was closed")
				return
			}
			third := f.assign(f.assigner())
			if third.WorkerID() != l.WorkerID() {
				f.Fatalf("the third lease has worker ID %d, want %d", third.WorkerID(), l.WorkerID())
			}
			f.reserve(third, 30*time.Second)
			f.wantVoid("released and taken", l, "or a copy of this process has released it")
			f.reserve(third, 40*time.Second)
		})
	}
}

// A store that loses acknowledged writes without another history: the holder finds that another lease begins before the end of
// its own. What it was granted is void. It begins no new history, because a copy that was closed may look the same, and must not
// stop a fleet.
func TestR4WritesWereLost(t *testing.T) {
	for name, hold := range map[string]func(f *fleet, l workerassign.Lease){
		"held":     func(f *fleet, l workerassign.Lease) { f.reserve(l, 10*time.Second) },
		"released": func(f *fleet, l workerassign.Lease) { f.reserve(l, 10*time.Second); f.release(l) },
		"held, by a server whose clock is behind": func(f *fleet, l workerassign.Lease) { f.reserve(l, 10*time.Second) },
		"at the start of the lease": func(f *fleet, l workerassign.Lease) {
			if slot := f.slot(0); !slot.From.Equal(slot.Until) {
				f.Fatalf("%+v was extended", slot)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			inFleet(t, func(f *fleet) {
				f.release(f.assign(f.assigner()))
				time.Sleep(time.Second)
				writes := f.Writes()
				l := f.assign(f.assigner())
				for range 3 {
					time.Sleep(time.Second)
					f.reserve(l, 30*time.Second)
				}
				f.LoseWrites(f.Writes() - writes)
				if name == "held, by a server whose clock is behind" {
					f.StepClock(-3900 * time.Millisecond)
				}
				other := f.assign(f.assigner())
				if other.WorkerID() != l.WorkerID() {
					f.Fatalf("the other lease has worker ID %d, want %d", other.WorkerID(), l.WorkerID())
				}
				hold(f, other)
				before := f.Dump()
				f.wantVoid("writes were lost", l, "the store has lost writes that it had acknowledged (a restored backup, etcd's --force-new-cluster, or a server that took over without them), or a copy of this process has released it")
				if after := f.Dump(); after.Pool != before.Pool {
					f.Errorf("the pool was %+v, and is %+v", before.Pool, after.Pool)
				}
			})
		})
	}
}

// R4: the store has lost an extension of the lease, and a copy has written the slot with the same revision instead.
func TestR4CopyExtendsAfterALostExtension(t *testing.T) {
	inFleet(t, func(f *fleet) {
		l := f.assign(f.assigner())
		f.reserve(l, 10*time.Second)
		twin := recycled.CopyLease(l)
		f.reserve(l, 20*time.Second)
		revision := f.slot(0).Revision
		f.LoseWrites(1)
		f.reserve(twin, 30*time.Second)
		if got := f.slot(0).Revision; got != revision {
			f.Fatalf("the copy has written revision %d, want %d", got, revision)
		}
		f.wantVoid("the same revision", l, "a copy of this process has extended the lease of worker ID 0")
	})
}

// R4, R7: a copy has extended the lease, and then the store has another history. That the copy has a part of the grant is known all the
// same. Whether another lease that begins before its end is a sign of lost writes is not: R7 has its own floor for these.
func TestR4CopyExtendsBeforeFailover(t *testing.T) {
	for _, action := range []string{"Reserve", "Release"} {
		for _, copied := range []bool{false, true} {
			inFleet(t, func(f *fleet) {
				l := f.assign(f.assigner())
				f.reserve(l, 20*time.Second)
				twin := recycled.CopyLease(l)
				time.Sleep(time.Second)
				if copied {
					f.reserve(twin, 30*time.Second)
				} else {
					f.release(twin)
				}
				f.Failover(0)
				var err error
				if action == "Reserve" {
					_, err = l.Reserve(f.Context(), time.Now().Add(30*time.Second))
				} else {
					err = l.Release(f.Context(), time.Now())
				}
				if errors.Is(err, workerassign.ErrVoid) != copied || (err == nil) != (!copied && action == "Release") {
					f.Errorf("the copy has extended the lease: %v; %s = %v", copied, action, err)
				}
				if log := f.logged(); strings.Contains(log, "level=ERROR") != copied {
					f.Errorf("the copy has extended the lease: %v; %s: the log is %q", copied, action, log)
				}
			})
		}
	}
}

// R4: a server that is behind shows the slot as the former holder had extended it, before its release lowered until. That is no
// other lease in a part of this one.
func TestR4OldStateBeforeRelease(t *testing.T) {
	for n := range 4 {
		used, pause := n%2 == 1, []time.Duration{workerassign.DefaultSkew + time.Second, time.Second / 10}[n/2]
		inFleet(t, func(f *fleet) {
			former := f.assign(f.assigner())
			f.reserve(former, 20*time.Second)
			var end time.Time // nothing was used
			if time.Sleep(pause); used {
				end = time.Now()
			}
			if err := former.Release(f.Context(), end); err != nil {
				f.Fatal(err)
			}
			time.Sleep(2 * time.Millisecond)
			l := f.assign(f.assigner())
			f.reserve(l, 20*time.Second)
			if granted := f.slot(0).Until; l.WorkerID() != 0 || !granted.After(former.NotBefore()) {
				f.Fatalf("the lease has worker ID %d, and is granted until %v", l.WorkerID(), granted)
			}
			f.SetLag(3)
			f.wantLost(fmt.Sprintf("used: %v, after %v", used, pause), l, "shows an old state of the slot of worker ID 0")
		})
	}
}

// R4: the same for the holder before the former one.
func TestR4OldStateOfAnEarlierHolder(t *testing.T) {
	inFleet(t, func(f *fleet) {
		l := f.assign(f.assigner())
		first := l.NotBefore()
		f.reserve(l, 30*time.Second)
		for range 2 {
			time.Sleep(workerassign.DefaultSkew + time.Second)
			f.release(l)
			time.Sleep(2 * time.Millisecond)
			l = f.assign(f.assigner())
		}
		f.reserve(l, 30*time.Second)
		for lag := 1; ; lag++ {
			f.SetLag(lag)
			s, err := f.Read(f.Context(), recycled.Query{WorkerIDs: []int64{0}})
			if err != nil || len(s.Slots) == 0 {
				f.Fatalf("the first holder's state is not shown: %+v, %v", s, err)
			}
			if s.Slots[0].From.Equal(first) && s.Slots[0].Until.After(l.NotBefore()) {
				break // as the first holder had extended it
			}
		}
		f.wantLost("an earlier holder", l, "shows an old state of the slot of worker ID 0")
	})
}

// What a lease finds that is lost, and whose grant stays: nobody was granted the same time.
func TestGrantStays(t *testing.T) {
	raise := func(f *fleet, ahead time.Duration) {
		if err := f.assigner().RaiseFloor(f.Context(), time.Now().Add(ahead)); err != nil {
			f.Fatal(err)
		}
	}
	for name, tt := range map[string]struct {
		happens func(f *fleet)
		text    string
	}{
		"overtaken": {func(f *fleet) {
			time.Sleep(time.Minute)
			f.reserve(f.assign(f.assigner(recycled.WithWorkerID(0))), time.Second)
		}, "worker ID 0 was taken by"},
		"overtaken and released": {func(f *fleet) {
			time.Sleep(time.Minute)
			f.release(f.assign(f.assigner(recycled.WithWorkerID(0))))
		}, "worker ID 0 was taken by"},
		"a raised floor":                    {func(f *fleet) { raise(f, time.Minute) }, "an operator raised the floor"},
		"a floor at the end of the horizon": {func(f *fleet) { raise(f, 20*time.Second) }, "an operator raised the floor"},
		"another history":                   {func(f *fleet) { f.Failover(2) }, "was leased under the history"},
		"an old state, released":            {func(f *fleet) { f.LoseWrites(2) }, "shows an old state of the slot of worker ID 0"},
	} {
		t.Run(name, func(t *testing.T) {
			inFleet(t, func(f *fleet) {
				f.release(f.assign(f.assigner()))
				time.Sleep(time.Second)
				l := f.assign(f.assigner())
				f.reserve(l, 20*time.Second)
				tt.happens(f)
				f.wantLost(name, l, tt.text)
			})
		})
	}
	inFleet(t, func(f *fleet) { // the one before was not released
		f.reserve(f.assign(f.assigner()), time.Second)
		time.Sleep(time.Minute)
		writes := f.Writes()
		l := f.assign(f.assigner(recycled.WithWorkerID(0)))
		f.reserve(l, 20*time.Second)
		f.LoseWrites(f.Writes() - writes)
		f.wantLost("an old state, held by another", l, "shows an old state of the slot of worker ID 0")
	})
	inFleet(t, func(f *fleet) { // overtaken before it was granted anything
		l := f.assign(f.assigner())
		time.Sleep(time.Minute)
		f.reserve(f.assign(f.assigner(recycled.WithWorkerID(0))), time.Second)
		f.wantLost("overtaken at its start", l, "worker ID 0 was taken by")
	})
}

// loseWrites has the requests of all writes lost, and collects them.
func (f *fleet) loseWrites(lost *[]recycled.Write) {
	f.SetFaults(func(op assigntest.Op) assigntest.Fault {
		if op.Write == nil {
			return assigntest.NoFault
		}
		*lost = append(*lost, *op.Write)
		return assigntest.LoseRequest
	})
}

// R4: writes of earlier tries may arrive after later tries: each token that was tried is the lease's own, until a write is
// acknowledged.
func TestR4LateTries(t *testing.T) {
	for late := range 4 {
		inFleet(t, func(f *fleet) {
			l := f.assign(f.assigner())
			f.reserve(l, 10*time.Second)
			var tries []recycled.Write
			f.loseWrites(&tries)
			for range 2 { // each tries twice
				if until, err := l.Reserve(f.Context(), time.Now().Add(20*time.Second)); err == nil || errors.Is(err, workerassign.ErrLeaseLost) {
					f.Fatalf("Reserve whose requests were lost = %v, %v; want the error of the store", until.Until, err)
				}
			}
			f.SetFaults(nil)
			if len(tries) != 4 {
				f.Fatalf("there were %d tries, want 4", len(tries))
			}
			if ok, err := f.Write(f.Context(), tries[late]); !ok || err != nil {
				f.Fatalf("Write = %v, %v", ok, err)
			}
			f.wantTime("the grant", f.reserve(l, 30*time.Second), time.Now().Add(30*time.Second))
			for _, w := range tries {
				if ok, err := f.Write(f.Context(), w); ok || err != nil {
					f.Errorf("a write of an earlier try was made after a later one: %v, %v", ok, err)
				}
			}
			f.release(l)
			if f.slot(0).Token != "" {
				f.Errorf("try %d arrived late, and the lease was not released: %+v", late, f.slot(0))
			}
		})
	}
}

// R4: so many writes have had no answer that the tokens of the first ones were forgotten. If one of these is made at last, it cannot
// be told from that of a copy. Then the lease is lost, but its grant stays. One that is remembered does no harm.
func TestR4ForgottenTry(t *testing.T) {
	for _, tt := range []struct {
		tries, late int
		forgotten   bool
	}{{20, 0, true}, {20, 6, true}, {20, 7, false}, {20, 19, false}, {14, 0, false}} {
		inFleet(t, func(f *fleet) {
			l := f.assign(f.assigner())
			f.reserve(l, 20*time.Second)
			var tries []recycled.Write
			f.loseWrites(&tries)
			for len(tries) < tt.tries {
				if until, err := l.Reserve(f.Context(), time.Now().Add(40*time.Second)); err == nil {
					f.Fatalf("Reserve whose requests were lost granted %v", until.Until)
				}
				time.Sleep(time.Second / 10)
			}
			f.SetFaults(func(op assigntest.Op) assigntest.Fault { // when one more try is made, so that it is refused
				if op.Write != nil {
					f.SetFaults(nil)
					if ok, err := f.Write(f.Context(), tries[tt.late]); !ok || err != nil {
						f.Errorf("Write = %v, %v", ok, err)
					}
				}
				return assigntest.NoFault
			})
			if tt.forgotten {
				f.wantLost("a forgotten try", l, "a try that had no answer was made late, or a copy of this process")
				return
			}
			f.reserve(l, 30*time.Second)
		})
	}
}

// R1: the store has lost an extension without another history. The lease goes on, and until does not fall below what was granted:
// neither at the next extension, nor at the release, which notes what was used. Otherwise the next lease could begin below
// UIDs that were generated.
func TestR1ReleaseAfterALostExtension(t *testing.T) {
	for _, extend := range []bool{false, true} {
		inFleet(t, func(f *fleet) {
			l := f.assign(f.assigner())
			f.reserve(l, time.Second)
			f.reserve(l, 30*time.Second)
			granted := f.reserve(l, 40*time.Second)
			f.LoseWrites(2)
			if extend {
				f.wantTime("the grant", f.reserve(l, 10*time.Second), granted)
				if slot := f.slot(0); slot.Until.Before(granted) {
					f.Errorf("the slot is %+v; its until must not be before %v", slot, granted)
				}
			}
			used := granted.Add(-time.Second)
			if err := l.Release(f.Context(), used); err != nil {
				f.Fatal(err)
			}
			if slot := f.slot(0); slot.Token != "" || !slot.Until.Equal(used) {
				f.Errorf("extended again: %v: after the release the slot is %+v; must have no token, and until %v", extend, slot, used)
			}
		})
	}
}

// R4: a release whose reply was lost is not taken for the release of a copy.
func TestR4ReleaseReplyLost(t *testing.T) {
	inFleet(t, func(f *fleet) {
		l := f.assign(f.assigner())
		f.reserve(l, 20*time.Second)
		f.faultWrites(anyWrite, assigntest.LoseReply)
		f.release(l)
		if log := f.logged(); log != "" {
			f.Errorf("the log is %q", log)
		}
	})
}

// R4: a try to release whose request arrives just before that of the second try is no copy's.
func TestR4ReleaseArrivesLate(t *testing.T) {
	inFleet(t, func(f *fleet) {
		l := f.assign(f.assigner())
		f.reserve(l, 20*time.Second)
		var first *recycled.Write
		arrived := false
		f.SetFaults(func(op assigntest.Op) assigntest.Fault {
			switch {
			case op.Write == nil || arrived:
			case first == nil:
				first = op.Write
				return assigntest.LoseRequest
			default:
				arrived = true
				if ok, err := f.Write(f.Context(), *first); !ok || err != nil {
					f.Errorf("Write = %v, %v", ok, err)
				}
			}
			return assigntest.NoFault
		})
		f.release(l)
		if log := f.logged(); !arrived || log != "" {
			f.Errorf("the second try was made: %v; the log is %q", arrived, log)
		}
	})
}

// R4: a release that finds that a copy has extended or released the lease returns an error that wraps ErrVoid, so that the
// generator drops the UIDs of the lease that it has generated and not returned. It changes nothing.
func TestR4ReleaseFindsVoid(t *testing.T) {
	for name, happens := range map[string]func(f *fleet, twin workerassign.Lease){
		"a copy has extended it": func(f *fleet, twin workerassign.Lease) { f.reserve(twin, 30*time.Second) },
		"a copy has released it": (*fleet).release,
	} {
		inFleet(t, func(f *fleet) {
			l := f.assign(f.assigner())
			f.reserve(l, 20*time.Second)
			twin := recycled.CopyLease(l)
			time.Sleep(time.Second)
			happens(f, twin)
			before := f.slot(0)
			err := l.Release(f.Context(), time.Now())
			leasetest.WantError(f.T, name, err, workerassign.ErrVoid, "a copy of")
			leasetest.WantError(f.T, name, err, workerassign.ErrLeaseLost)
			if err := l.Release(f.Context(), time.Now()); err != nil || f.slot(0) != before {
				f.Errorf("%s: a second Release = %v; the slot was %+v, and is %+v", name, err, before, f.slot(0))
			}
			if log := f.logged(); strings.Count(log, "level=ERROR") != 1 {
				f.Errorf("%s: the log is %q; must have one error", name, log)
			}
		})
	}
}

// R4: the same through Prefix and Divide. Divide then assigns no part of another lease that the copy may have.
func TestR4WrappersReleaseFindsVoid(t *testing.T) {
	inFleet(t, func(f *fleet) {
		var inner []workerassign.Lease
		kept := keepLeases{f.assigner(), func(l workerassign.Lease) { inner = append(inner, l) }}
		release := func(what string, l workerassign.Lease, of int) {
			f.reserve(l, 20*time.Second)
			time.Sleep(time.Second)
			f.reserve(recycled.CopyLease(inner[of]), 30*time.Second)
			if err := l.Release(f.Context(), time.Now()); !errors.Is(err, workerassign.ErrVoid) {
				f.Errorf("Release of %s = %v; want ErrVoid", what, err)
			}
		}
		assign := func(a workerassign.Assigner) workerassign.Lease {
			l, err := a.Assign(f.Context(), f.request())
			if err != nil {
				f.Fatal(err)
			}
			return l
		}
		a := workerassign.Divide(workerassign.Prefix(kept, 0, 1), 1)
		assign(a).Release(f.Context(), time.Now())
		last, next := assign(a), assign(a)
		if len(inner) != 2 {
			f.Fatalf("%d leases were divided, want 2", len(inner))
		}
		release("the last part", last, 0)
		if assign(a); len(inner) != 3 {
			f.Errorf("the other part of a lease that a copy may have was assigned")
		}
		before := f.slot(inner[1].WorkerID())
		if err := next.Release(f.Context(), time.Now()); err != nil || f.slot(inner[1].WorkerID()) != before {
			f.Errorf("Release of a part = %v, and the slot of its lease, which a copy may use, is %+v", err, f.slot(inner[1].WorkerID()))
		}
	})
}

// Prefix passes ErrVoid on.
func TestR4PrefixVoid(t *testing.T) {
	inFleet(t, func(f *fleet) {
		var inner workerassign.Lease
		a := workerassign.Prefix(keepLeases{f.assigner(), func(l workerassign.Lease) { inner = l }}, 1, 2)
		l, err := a.Assign(f.Context(), f.request())
		if err != nil {
			f.Fatal(err)
		}
		f.reserve(l, 20*time.Second)
		time.Sleep(time.Second)
		f.reserve(recycled.CopyLease(inner), 30*time.Second)
		if _, err := l.Reserve(f.Context(), time.Now().Add(40*time.Second)); !errors.Is(err, workerassign.ErrVoid) {
			f.Errorf("Reserve = %v; want ErrVoid", err)
		}
	})
}

// R4: a part of Divide whose parent is void: no further part of it, nor of another parent that a copy may have too, is assigned,
// and none of them is released.
func TestR4DivideVoid(t *testing.T) {
	inFleet(t, func(f *fleet) {
		var parents []workerassign.Lease
		a := workerassign.Divide(keepLeases{f.assigner(), func(l workerassign.Lease) { parents = append(parents, l) }}, 1)
		part := func(format string) workerassign.Lease {
			r := f.request()
			r.Format = format
			l, err := a.Assign(f.Context(), r)
			if err != nil {
				f.Fatal(err)
			}
			f.reserve(l, 20*time.Second)
			return l
		}
		part("1-28-22-13")
		last := part("1-28-22-13") // of the same parent
		next := part("1-28-22-13")
		if len(parents) != 2 || last.WorkerID() == next.WorkerID() {
			f.Fatalf("%d parents", len(parents))
		}
		time.Sleep(time.Second)
		f.reserve(recycled.CopyLease(parents[0]), 30*time.Second)
		f.wantVoid("a part", last, "a copy of this process")
		if l := part("1-28-22-13"); len(parents) != 3 || l.WorkerID() != parents[2].WorkerID() {
			f.Errorf("the part %d was assigned, of one of %d parents; want the first one of another parent", l.WorkerID(), len(parents))
		}
		before := f.slot(parents[1].WorkerID())
		if err := next.Release(f.Context(), time.Now()); err != nil || f.slot(parents[1].WorkerID()) != before {
			f.Errorf("Release of a part = %v, and changed the slot of its parent, which a copy may use, to %+v", err, f.slot(parents[1].WorkerID()))
		}
	})
}

// keepLeases is an assigner that shows its leases to the test.
type keepLeases struct {
	workerassign.Assigner
	keep func(workerassign.Lease)
}

func (a keepLeases) Assign(ctx context.Context, r workerassign.Request) (workerassign.Lease, error) {
	l, err := a.Assigner.Assign(ctx, r)
	if err == nil {
		a.keep(l)
	}
	return l, err
}

// R5, R7: after RaiseFloor on a layout that is full, a start takes a slot, whose lease begins at the floor, although
// that lies far ahead: as after a failover, the generator waits for it.
func TestRaiseFloorOnAFullLayout(t *testing.T) {
	for name, opts := range map[string][]recycled.Option{"any worker ID": nil, "a fixed one": {recycled.WithWorkerID(2)}} {
		t.Run(name, func(t *testing.T) {
			inFleet(t, func(f *fleet) {
				f.max = 3
				for range 4 {
					f.reserve(f.assign(f.assigner()), 20*time.Second)
				}
				floor := time.Now().Add(time.Hour)
				if err := f.assigner().RaiseFloor(f.Context(), floor); err != nil {
					f.Fatal(err)
				}
				ctx, cancel := withTimeout(f, time.Second)
				defer cancel()
				l, err := f.assigner(opts...).Assign(ctx, f.request())
				if err != nil {
					f.Fatalf("Assign after RaiseFloor: %v", err)
				}
				f.wantTime("NotBefore", l.NotBefore(), floor)
				if log := f.logged(); !strings.Contains(log, "the lease begins later, at the floor of the pool") {
					f.Errorf("the log does not say so: %q", log)
				}
			})
		})
	}
	inFleet(t, func(f *fleet) { // more starts than worker IDs: the error names the floor
		f.max = 1
		f.reserve(f.assign(f.assigner()), 20*time.Second)
		f.reserve(f.assign(f.assigner()), 20*time.Second)
		f.Failover(0)
		ctx, cancel := withTimeout(f, time.Second)
		defer cancel()
		_, err := f.assigner().Assign(ctx, f.request())
		leasetest.WantError(f.T, "full", err, recycled.ErrPoolFull, "no lease begins before the pool's floor, "+f.Dump().Pool.Floor.Format(time.RFC3339Nano))
	})
}

// A first start that has to wait says so in its first log record: how long, and what would have avoided it.
func TestFirstStartSaysThatItWaits(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.assign(f.assignerOn(f.Memory))
		first, _, _ := strings.Cut(f.logged(), "\n")
		for _, text := range []string{"wait=1m50", "ringuid pool create", "UIDs begin at the floor"} {
			if !strings.Contains(first, text) {
				f.Errorf("the first log record is %q; must contain %q", first, text)
			}
		}
	})
}

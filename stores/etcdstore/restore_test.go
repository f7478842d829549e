package etcdstore

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/etcdtest"
	"github.com/ringuid/ringuid/internal/testkit/fleettest"
	"github.com/ringuid/ringuid/internal/testkit/slottest"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// restored is a pool whose server was restored from a snapshot. A lease was taken before the snapshot, and
// extended after it. Another was taken, extended and released after it.
type restored struct {
	t        *testing.T
	server   *etcdtest.Server
	store    *Store // of the process that has the lease
	lease    workerassign.Lease
	granted  time.Time // the end of all grants
	history  string
	prepared recycled.Write // a write that was prepared before the snapshot was restored
}

// restore restores a snapshot with a cluster token.
func restore(t *testing.T, token string) *restored {
	r := &restored{t: t, server: etcdtest.Start(t)}
	r.store = New(dial(t, r.server.Endpoint()))
	r.lease = r.assign(r.store)
	r.reserve(r.lease, 100*time.Millisecond)
	snapshot := r.server.Snapshot()
	r.reserve(r.lease, 600*time.Millisecond)
	s, err := r.store.Read(t.Context(), recycled.Query{WorkerIDs: []int64{r.lease.WorkerID()}})
	if err != nil {
		t.Fatal(err)
	}
	r.history = s.History
	slot := s.Slots[0]
	slot.Revision++
	slot.Until = slot.Until.Add(time.Minute)
	r.prepared = slottest.Swap(s, nil, slot)
	other := r.assign(New(dial(t, r.server.Endpoint())))
	r.reserve(other, fleettest.Horizon)
	if err := other.Release(t.Context(), r.granted); err != nil {
		t.Fatal(err)
	}
	r.server.Restore(snapshot, token)
	return r
}

func (r *restored) assign(s *Store) workerassign.Lease {
	r.t.Helper()
	return fleettest.Lease(r.t, s)
}

func (r *restored) reserve(l workerassign.Lease, d time.Duration) {
	r.t.Helper()
	granted, err := l.Reserve(r.t.Context(), time.Now().Add(d))
	if err != nil {
		r.t.Fatal(err)
	}
	if granted.Until.After(r.granted) {
		r.granted = granted.Until
	}
}

// ended fails the test unless all leases have ended, and no new one begins before the end of all grants.
func (r *restored) ended() {
	t := r.t
	t.Helper()
	testkit.Retry(t, "Reserve of a lease from before the snapshot returns ErrLeaseLost", func() error { // until the client has connected again
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_, err := r.lease.Reserve(ctx, time.Now().Add(time.Second))
		switch {
		case err == nil:
			t.Fatal("Reserve returned no error")
		case errors.Is(err, workerassign.ErrLeaseLost):
			return nil
		}
		return err
	})
	for range 3 {
		l := r.assign(New(dial(t, r.server.Endpoint())))
		if l.NotBefore().Before(r.granted) {
			t.Errorf("a lease begins at %v, and UIDs were granted until %v before", l.NotBefore(), r.granted)
		}
	}
	if ok, err := r.store.Write(t.Context(), r.prepared); ok || err != nil {
		t.Errorf("a write that was prepared before returned %v, %v; want false", ok, err)
	}
}

// A snapshot that is restored with a new token has a new cluster ID, which the first process that reads notices.
func TestRestoredSnapshot(t *testing.T) {
	t.Parallel()
	r := restore(t, "another")
	s, err := New(dial(t, r.server.Endpoint())).Read(t.Context(), recycled.Query{})
	if err != nil || s.History == r.history {
		t.Errorf("the history was %q and is %q, %v; want another one", r.history, s.History, err)
	}
	r.ended()
}

// With the old token and peer URLs the cluster ID is the same. A process that has seen more notices that the
// revision went back.
func TestRestoredSnapshotSameCluster(t *testing.T) {
	t.Parallel()
	r := restore(t, "ringuid")
	r.ended()
	s, err := r.store.Read(t.Context(), recycled.Query{})
	if err != nil || s.History == r.history {
		t.Errorf("the history was %q and is %q, %v; want another one", r.history, s.History, err)
	}
	// It is noticed once, by whoever remembers.
	for range 3 {
		again, err := r.store.Read(t.Context(), recycled.Query{})
		if err != nil || again.History != s.History {
			t.Errorf("the history was %q and is %q, %v; want the same", s.History, again.History, err)
		}
	}
}

// The snapshot may be older than the last change of the history.
func TestRestoredSnapshotOlderHistory(t *testing.T) {
	t.Parallel()
	r := &restored{t: t, server: etcdtest.Start(t)}
	r.store = New(dial(t, r.server.Endpoint()))
	r.assign(r.store)
	snapshot := r.server.Snapshot()
	old := slottest.Read(t, r.store, recycled.Query{}).History
	if err := r.store.NewHistory(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.history = slottest.Read(t, r.store, recycled.Query{}).History
	r.lease = r.assign(r.store)
	r.reserve(r.lease, fleettest.Horizon)
	s := slottest.Read(t, r.store, recycled.Query{WorkerIDs: []int64{r.lease.WorkerID()}})
	slot := s.Slots[0]
	slot.Revision++
	r.prepared = slottest.Swap(s, nil, slot)
	r.server.Restore(snapshot, "ringuid")
	r.ended()
	if now := slottest.Read(t, r.store, recycled.Query{}).History; now == old || now == r.history {
		t.Errorf("the history was %q, then %q, and is %q; want another one", old, r.history, now)
	}
}

// After NewHistory by a process that has just started, a service that has seen more does not change the history once more. If it meets an
// earlier history than the one that it has seen, it does, although the revision has not gone back.
func TestHistoriesSeenBefore(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t)
	client := dial(t, server.Endpoint())
	s := New(client)
	snapshot := server.Snapshot()
	for range 3 {
		if err := s.NewHistory(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	seen := slottest.Read(t, s, recycled.Query{}).History
	server.Restore(snapshot, "ringuid")
	if err := New(dial(t, server.Endpoint())).NewHistory(t.Context()); err != nil {
		t.Fatal(err)
	}
	noted := slottest.Read(t, New(client), recycled.Query{}).History
	if now := slottest.Read(t, s, recycled.Query{}).History; now != noted || now == seen {
		t.Errorf("the history was %q, after NewHistory %q, and is %q for a process that has seen the first; want the second", seen, noted, now)
	}
	if _, err := client.Put(t.Context(), s.historyKey(), seen); err != nil {
		t.Fatal(err)
	}
	if now := slottest.Read(t, s, recycled.Query{}).History; now == noted || now == seen {
		t.Errorf("an earlier history is there again, and is %q; want another one than %q and %q", now, noted, seen)
	}
}

// A process that has just started does not notice that. Then NewHistory ends all leases, or RaiseFloor does.
func TestRestoredSnapshotOperator(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"NewHistory", "RaiseFloor"} {
		t.Run(name, func(t *testing.T) {
			r := restore(t, "ringuid")
			operator := New(dial(t, r.server.Endpoint()))
			s, err := operator.Read(t.Context(), recycled.Query{All: true})
			if err != nil || s.History != r.history || s.Pool.Floor.After(r.granted) {
				t.Fatalf("the history was %q and is %q, %v; want the same: the test does not bite", r.history, s.History, err)
			}
			if name == "NewHistory" {
				err = operator.NewHistory(t.Context())
			} else {
				err = fleettest.Assigner(operator).RaiseFloor(t.Context(), time.Now().Add(2*fleettest.Horizon))
			}
			if err != nil {
				t.Fatal(err)
			}
			// A write that was prepared before replaces the revision that RaiseFloor has written, but not its value (R2).
			if ok, err := r.store.Write(t.Context(), r.prepared); ok {
				t.Errorf("a write that was prepared before returned %v, %v; want false", ok, err)
			}
			r.lease = endedLease{r.lease} // the process that has seen more is gone
			r.ended()
		})
	}
}

// endedLease is a lease whose process has ended: it is not extended.
type endedLease struct{ workerassign.Lease }

func (endedLease) Reserve(context.Context, time.Time) (workerassign.Grant, error) {
	return workerassign.Grant{}, workerassign.ErrLeaseLost
}

// R4: a member that lags is started with --force-new-cluster: writes that the cluster had acknowledged are lost, the cluster ID and the
// history stay, and the revision soon is greater than before. The holder of a lease that was lost finds that its grant is void,
// because another lease begins before the end of it. If NewHistory is called before services connect, no lease does.
func TestForceNewCluster(t *testing.T) {
	testkit.Full(t, "a cluster of three members")
	for name, newHistory := range map[string]bool{"forgotten": false, "with NewHistory": true} {
		t.Run(name, func(t *testing.T) {
			members := etcdtest.StartCluster(t, 3)
			lagging := members[2]
			client := dial(t, members[0].Endpoint())
			a := New(client)
			before := fleettest.Lease(t, a)
			if err := before.Release(t.Context(), time.Now()); err != nil {
				t.Fatal(err)
			}
			if _, err := New(dial(t, lagging.Endpoint())).Read(t.Context(), recycled.Query{}); err != nil { // it has everything
				t.Fatal(err)
			}
			lagging.Pause()
			again := fleettest.Assigner(a, recycled.WithWorkerID(before.WorkerID())) // also if the reply to its first write is lost
			var l workerassign.Lease
			var granted workerassign.Grant
			testkit.Retry(t, "a lease is taken and extended without the member that lags", func() (err error) {
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				if l == nil {
					if l, err = again.Assign(ctx, fleettest.Request()); err != nil {
						return err
					}
				}
				granted, err = l.Reserve(ctx, time.Now().Add(fleettest.Horizon))
				return err
			})
			for _, m := range members {
				m.Kill()
			}
			lagging.RestartWith("--force-new-cluster")
			client.SetEndpoints(lagging.Endpoint())
			b := New(dial(t, lagging.Endpoint()))
			if newHistory {
				if err := b.NewHistory(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			other := fleettest.Lease(t, b, recycled.WithWorkerID(l.WorkerID()))
			for range 20 { // so that the revision is greater than before
				if _, err := other.Reserve(t.Context(), time.Now().Add(fleettest.Horizon)); err != nil {
					t.Fatal(err)
				}
				time.Sleep(5 * time.Millisecond)
			}
			if begins := other.NotBefore(); begins.Before(granted.Until) == newHistory {
				t.Errorf("another lease begins at %v, and this one was granted until %v", begins, granted.Until)
			}
			testkit.Retry(t, "the lease is found lost", func() error { // until the client has connected again
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				_, err := l.Reserve(ctx, time.Now().Add(time.Second))
				if err == nil {
					t.Fatal("Reserve returned no error")
				}
				if !errors.Is(err, workerassign.ErrLeaseLost) {
					return err
				}
				if errors.Is(err, workerassign.ErrVoid) == newHistory {
					t.Errorf("Reserve returned %v", err)
				}
				return nil
			})
		})
	}
}

package etcdstore

import (
	"context"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/etcdtest"
	"github.com/ringuid/ringuid/internal/testkit/slottest"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// A process is paused between Read and Write. Meanwhile another takes the slot, and a snapshot from before that is
// restored with a new token. If the write is the first request that reaches the new cluster, key and record are those
// that it compares with. It must not be taken for a grant: the other lease was granted the same time.
func TestWriteToRestoredSnapshot(t *testing.T) {
	t.Parallel()
	r := &restored{t: t, server: etcdtest.Start(t)}
	r.store = New(dial(t, r.server.Endpoint()))
	r.lease = r.assign(r.store)
	if err := r.lease.Release(t.Context(), time.Time{}); err != nil {
		t.Fatal(err)
	}
	s := slottest.Read(t, r.store, recycled.Query{WorkerIDs: []int64{r.lease.WorkerID()}})
	taken := s.Slots[0]
	taken.Revision++
	taken.Token = "token"
	snapshot := r.server.Snapshot()
	other := r.assign(New(dial(t, r.server.Endpoint())))
	if other.WorkerID() != taken.WorkerID {
		t.Fatalf("the other lease has worker ID %d; the test does not bite", other.WorkerID())
	}
	r.reserve(other, 100*time.Millisecond)
	r.server.Restore(snapshot, "another")
	if _, err := dial(t, r.server.Endpoint()).Get(t.Context(), "any"); err != nil { // until the server answers
		t.Fatal(err)
	}
	testkit.Retry(t, "a write to the new cluster", func() error { // until the client has connected again
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		ok, err := r.store.Write(ctx, slottest.Swap(s, nil, taken))
		if ok {
			t.Fatal("the write to the new cluster returned true")
		}
		return err
	})
	if after := slottest.Read(t, New(dial(t, r.server.Endpoint())), recycled.Query{}); after.History == s.History {
		t.Errorf("the history is %q as before", after.History)
	}
}

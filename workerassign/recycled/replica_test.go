package recycled_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// A replica is a store whose server can be one that accepts no writes yet.
type replica struct {
	recycled.Store
	readOnly bool
	writes   int // while it was read-only
}

func (r *replica) Read(ctx context.Context, q recycled.Query) (recycled.State, error) {
	s, err := r.Store.Read(ctx, q)
	s.ReadOnly = r.readOnly
	return s, err
}

func (r *replica) Write(ctx context.Context, w recycled.Write) (bool, error) {
	if r.readOnly {
		r.writes++
		return false, errors.New("the server is read-only")
	}
	return r.Store.Write(ctx, w)
}

// R7: processes reach the replica some time before it is promoted. A floor that followed from what they read then would be
// too early, because the old primary grants until the fencing time after the promotion, and the write of that floor may be
// delayed and arrive after the promotion. So nobody writes one until the replica accepts writes.
func TestRule7FloorOfReplica(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.createPool()
		r := &replica{Store: f.Memory}
		a := f.assignerOn(r, recycled.WithTimeout(10*time.Second))
		l := f.assign(a)
		f.Failover(0)
		r.readOnly = true
		if _, err := l.Reserve(f.Context(), time.Now().Add(time.Second)); !errors.Is(err, workerassign.ErrLeaseLost) {
			t.Errorf("Reserve on a replica = %v, want ErrLeaseLost", err)
		}
		if _, err := a.Assign(f.Context(), f.request()); err == nil || !strings.Contains(err.Error(), "read-only") {
			t.Errorf("Assign on a replica = %v, want an error that says that it is read-only", err)
		}
		f.Flush() // a replica that does not have the tables' rows yet
		if _, err := a.Assign(f.Context(), f.request()); err == nil || !strings.Contains(err.Error(), "read-only") {
			t.Errorf("Assign on a replica without a pool = %v, want an error that says that it is read-only", err)
		}
		if r.writes != 0 {
			t.Errorf("there were %d writes to the replica; want none", r.writes)
		}
		r.readOnly = false
		f.wantTime("NotBefore after the promotion", f.assign(a).NotBefore(), f.Dump().Now.Add(poolFloor))
	})
}

// R7: an operator raises the floor on a replica, with an account that may write although the server is read-only, and the old
// primary grants until the replica is promoted. So the pool has the replica's history only after that, with a floor of its own.
func TestRule7RaiseFloorOnReplica(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.assign(f.assigner())
		f.Failover(0)
		raised := f.Dump().Now.Add(poolFloor)
		if err := f.assignerOn(privileged{f.Memory}).RaiseFloor(f.Context(), raised); err != nil {
			t.Fatal(err)
		}
		if floor := f.Dump().Pool.Floor; floor.Before(raised) {
			t.Errorf("the floor is %v, want %v", floor, raised)
		}
		time.Sleep(time.Hour)
		f.wantTime("NotBefore after the promotion", f.assign(f.assigner()).NotBefore(), f.Dump().Now.Add(poolFloor))
	})
}

// privileged is a store on a server that is read-only, but not for its account.
type privileged struct{ recycled.Store }

func (p privileged) Read(ctx context.Context, q recycled.Query) (recycled.State, error) {
	s, err := p.Store.Read(ctx, q)
	s.ReadOnly = true
	return s, err
}

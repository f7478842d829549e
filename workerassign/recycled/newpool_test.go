package recycled_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/workerassign/assigntest"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// R7: a process that was started with WithNewPool, and whose pool is lost with everything in it, begins with a floor:
// it has found the pool before.
func TestRule7NewPoolOnce(t *testing.T) {
	inFleet(t, func(f *fleet) {
		a := f.assigner()
		granted := f.reserve(f.assign(a), 30*time.Second)
		f.Flush()
		floor := f.Dump().Now.Add(poolFloor)
		l := f.assign(a)
		if l.NotBefore().Before(granted) {
			t.Errorf("a lease of worker ID %d begins at %v, and %v was granted before", l.WorkerID(), l.NotBefore(), granted)
		}
		f.wantTime("NotBefore after the pool was lost", l.NotBefore(), floor)
	})
}

// R7: a pool that is missing, although this process has used it, begins with a floor on a store that loses no
// acknowledged writes too: somebody has deleted the pool.
func TestRule7NewPoolNoLoss(t *testing.T) {
	inFleet(t, func(f *fleet) {
		a := f.assignerOn(f.Memory)
		f.wantTime("NotBefore of the first pool", f.assign(a).NotBefore(), time.Now())
		f.Flush()
		f.wantTime("NotBefore after the pool was deleted", f.assign(a).NotBefore(), f.Dump().Now.Add(poolFloor))
		if log := f.log.String(); !strings.Contains(log, "the pool is missing, although this process has used it") || !strings.Contains(log, "floor=") {
			t.Errorf("the log is %q; want the floor with its reason", log)
		}
	}, assigntest.WithNoLoss())
}

// R7: the log of a first start does not say that writes were lost, because nobody knows that. It says why there is a
// floor, and how to avoid it.
func TestNewPoolLog(t *testing.T) {
	for _, tt := range []struct {
		opts []recycled.Option
		want string
	}{
		{nil, "the pool is missing, and is created with a floor, because it may have been lost"},
		{[]recycled.Option{recycled.WithNewPool()}, ""},
	} {
		inFleet(t, func(f *fleet) {
			f.assign(f.assignerOn(f.Memory, tt.opts...))
			log := f.log.String()
			if strings.Contains(log, "lost writes") || !strings.Contains(log, tt.want) || (tt.want == "") != (log == "") {
				t.Errorf("the log is %q; want %q", log, tt.want)
			}
			if tt.want != "" && (!strings.Contains(log, "WithNewPool") || !strings.Contains(log, "level=WARN") || strings.Count(log, "\n") != 1) {
				t.Errorf("the log is %q; want one warning that names WithNewPool", log)
			}
		})
	}
}

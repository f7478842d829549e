package fleettest

import (
	"testing"

	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// A UID of a fleet before is a duplicate, also of one two fleets ago. Another UID is none.
func TestDuplicatesOfFleetsBefore(t *testing.T) {
	var last *Fleet
	for n, want := range []int64{0, 1, 1} {
		f := New()
		f.Begin(recycled.State{}, last)
		w := f.Writer()
		for _, worker := range []int64{1, int64(2 + n)} {
			id, err := Layout().Allocate(1000, worker, 63)
			if err != nil {
				t.Fatal(err)
			}
			f.Add(w, uid.ID(id))
		}
		if got := f.Duplicates(); got != want {
			t.Errorf("fleet %d: %d duplicates, want %d", n, got, want)
		}
		last = f
	}
}

package fleettest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/ledger"
	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/assigntest"
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

// unreadable is a store that cannot be read.
type unreadable struct{ recycled.Store }

// Read implements recycled.Store.
func (unreadable) Read(context.Context, recycled.Query) (recycled.State, error) {
	return recycled.State{}, fmt.Errorf("unreadable: %w", workerassign.ErrPermanent)
}

// A fleet in which no generator of a kind has started is wrong, although it has had leases. So is one whose ledger saw nothing.
func TestWrong(t *testing.T) {
	for _, broken := range []string{"none", "Default", "Cached", "ledger"} {
		m := assigntest.NewMemory()
		f := New()
		f.First(t, m)
		var stores [2]recycled.Store
		for n, kind := range []string{"Default", "Cached"} {
			if stores[n] = m; kind == broken {
				stores[n] = unreadable{m}
			}
			k := f.of(n == 1)
			f.Run(stores[n], n == 1, time.Hour)
			testkit.Eventually(t, "it starts or fails", func() bool { return k.taken.Load() > 0 || kind == broken && k.failed.Load() != nil })
		}
		f.RunLeases(m)
		testkit.Eventually(t, "there are grants", func() bool { return f.leases.Load() > 3 && f.Generated() > 100 })
		report := f.Ledger()
		if broken == "ledger" {
			report = ledger.Report{}
		}
		got := fmt.Sprint(f.Wrong(report))
		t.Log(broken, got)
		want := map[string]string{"none": "[]", "ledger": "[the ledger saw 0 writes"}[broken]
		if want == "" {
			want = "[0 " + broken + " generators"
		}
		if !strings.HasPrefix(got, want) || strings.Contains(want, "generators") && !strings.Contains(got, "unreadable") {
			t.Errorf("%s is broken: Wrong() = %s, want %s", broken, got, want)
		}
	}
}

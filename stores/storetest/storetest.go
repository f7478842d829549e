// Package storetest tests stores that serve worker IDs and numbers: those of ringuid, and your own. It runs the suites of packages assigntest
// and segmenttest, which also test a store of one of the two kinds:
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, storetest.Harness{
//			New: func(tb testing.TB, name string) storetest.Store { return mystore.New(client, mystore.WithPrefix(name)) },
//			Slots: assigntest.Faults{Kill: server.Kill, Start: server.Start, Without: map[string]string{…}},
//			Tags:  segmenttest.Harness{Faults: segmenttest.Faults{…}},
//		})
//	}
//
// Package linear, a module of its own in stores/storetest/linear, tests with the same harness whether each call has its effect at one instant.
//
// The file example_test.go of this package has a whole store, written with public names only, to begin with. A store that keeps a text for
// each record has its form in recycled.Slot.Encode and recycled.DecodeSlot, and the same of a Pool; recycled.Write.Replaces compares.
package storetest

import (
	"testing"

	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/segment/segmenttest"
	"github.com/ringuid/ringuid/workerassign/assigntest"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// A Store keeps a pool of worker IDs, and tags. A program may implement it, as recycled.Store and segment.Creator say.
type Store interface {
	recycled.Store
	segment.Creator
}

// A Harness gives Run stores to test, and faults.
type Harness struct {
	// New returns a new client of the store of the given name, as another process would have it. The first client of a name finds an empty
	// store. A name consists of 1 to 20 characters a to z and 2 to 7, and is not used again. New may use tb.Cleanup to close the client.
	// It must be set.
	New func(tb testing.TB, name string) Store

	// Slots are the faults for the tests of pools.
	Slots assigntest.Faults

	// Tags has the faults for the tests of tags, and what else these must know of the store. Its New is not used.
	Tags segmenttest.Harness
}

// Run tests whether a store fulfils the contracts of recycled.Store and of segment.Creator. Each test is a subtest with a store of its own.
// They do not run in parallel.
func Run(t *testing.T, h Harness) {
	if h.New == nil {
		t.Fatal("Harness.New is nil; must be set")
	}
	t.Run("slots", func(t *testing.T) {
		assigntest.RunStoreTests(t, assigntest.Harness{
			New:    func(tb testing.TB, name string) recycled.Store { return h.New(tb, name) },
			Faults: h.Slots,
		})
	})
	t.Run("tags", func(t *testing.T) {
		h.Tags.New = func(tb testing.TB, name string) segment.Creator { return h.New(tb, name) }
		segmenttest.Run(t, h.Tags)
	})
}

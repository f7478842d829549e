// Package assigntest tests stores and assigners of worker IDs: those of ringuid, and your own.
//
//   - [RunStoreTests] tests whether a recycled.Store fulfils its contract.
//   - [RunAssignerTests] tests whether a workerassign.Assigner keeps invariant 1: a worker ID and a
//     time unit belong to at most one lease.
//   - [Memory] is a recycled.Store in memory with faults, for tests and simulations of generators.
//
// The test of a store is a function with a [Harness], which opens clients of the store and injects faults:
//
//	func TestStore(t *testing.T) {
//		server := startServer(t)
//		assigntest.RunStoreTests(t, assigntest.Harness{
//			New: func(tb testing.TB, pool string) recycled.Store {
//				return mystore.New(server.Dial(tb), mystore.WithPrefix(pool))
//			},
//			Faults: assigntest.Faults{
//				Kill:  server.Kill,
//				Start: server.Start,
//				Without: map[string]string{
//					"Pause":      "the server runs in this process",
//					"LoseWrites": "the server has no replica",
//					// and so on
//				},
//			},
//		})
//	}
//
// With a store that fails them, generators can generate a UID twice. The rules R1 to R8, which failures name,
// are in doc/internals/design.md, section 8.
//
// A fault that the harness cannot inject must be listed in Faults.Without with the reason. Its tests are
// skipped, and the output says why. A fault that is neither set nor listed fails its tests, so that none
// is forgotten.
//
// Package storetest tests a store that also keeps tags, and has a whole store as an example.
package assigntest

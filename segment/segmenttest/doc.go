// Package segmenttest tests sources of segments: those of ringuid, and your own.
//
//   - [Run] tests whether a segment.Source, which is also a segment.Creator, fulfils its contract.
//   - [Memory] is a source in memory with faults, for tests of sequences.
//
// The test of a source is a function with a [Harness], which opens clients of the store and injects faults:
//
//	func TestSource(t *testing.T) {
//		server := startServer(t)
//		segmenttest.Run(t, segmenttest.Harness{
//			New: func(tb testing.TB, name string) segment.Creator {
//				return mystore.New(server.Dial(tb), mystore.WithPrefix(name))
//			},
//			Secrets: []string{server.Password},
//			Faults: segmenttest.Faults{
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
// With a source that fails them, sequences can hand out a number twice.
//
// A fault that the harness cannot inject must be listed in Faults.Without with the reason. Its tests are
// skipped, and the output says why. A fault that is neither set nor listed fails its tests, so that none is
// forgotten.
//
// Package storetest tests a store that also keeps worker IDs, and has a whole store as an example.
package segmenttest

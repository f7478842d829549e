package assigntest

import "testing"

// storeCase is one test of a store.
type storeCase struct {
	name   string
	faults []string // that the test requires
	run    func(t *storeTest)
}

// storeCases are the tests of RunStoreTests, in their order.
var storeCases = []storeCase{
	{"Empty", nil, testEmpty},
	{"CreatePool", nil, testCreatePool},
	{"PoolRevisions", nil, testPoolRevisions},
	{"SlotRevisions", nil, testSlotRevisions},
	{"ReplacedCompared", nil, testReplacedCompared},
	{"ReplacedPoolCompared", nil, testReplacedPoolCompared},
	{"AllOrNothing", nil, testAllOrNothing},
	{"HistoryCompared", nil, testHistoryCompared},
	{"PoolRoundTrip", nil, testPoolRoundTrip},
	{"SlotRoundTrip", nil, testSlotRoundTrip},
	{"Texts", nil, testTexts},
	{"QueryWorkerIDs", nil, testQueryWorkerIDs},
	{"QueryNames", nil, testQueryNames},
	{"QueryAll", nil, testQueryAll},
	{"QueryFree", nil, testQueryFree},
	{"QueryReleased", nil, testQueryReleased},
	{"QueryMoreFree", nil, testQueryMoreFree},
	{"FreeAtNow", []string{"StopClock"}, testFreeAtNow},
	{"Clock", nil, testClock},
	{"ConcurrentWriters", nil, testConcurrentWriters},
	{"ConcurrentIncrements", nil, testConcurrentIncrements},
	{"ReadWhileAdding", nil, testReadWhileAdding},
	{"ContextEnded", nil, testContextEnded},
	{"ContextEndsDuringCalls", nil, testContextEndsDuringCalls},
	{"NoGoroutineLeak", nil, testNoGoroutineLeak},
	{"KilledDuringWrites", []string{"Kill", "Start"}, testKilledDuringWrites},
	{"WritesLost", []string{"LoseWrites"}, testWritesLost},
	{"Paused", []string{"Pause", "Resume"}, testPaused},
	{"RequestsLost", []string{"LoseRequests"}, testRequestsLost},
	{"RepliesLost", []string{"LoseReplies"}, testRepliesLost},
	{"DelayedWrite", []string{"DelayWrites"}, testDelayedWrite},
	{"ClockStep", []string{"StepClock"}, testClockStep},
}

// RunStoreTests tests whether a store fulfils the contract of recycled.Store. Each test is a
// subtest with a pool of its own. They do not run in parallel.
func RunStoreTests(t *testing.T, h Harness) {
	for _, c := range storeCases {
		t.Run(c.name, func(t *testing.T) { c.test(t, h) })
	}
}

// test runs one test.
func (c storeCase) test(tb testing.TB, h Harness) {
	if h.New == nil {
		tb.Fatal("Harness.New is nil; must be set")
	}
	h.Faults.require(tb, c.faults...)
	h.Faults = h.Faults.withDefaults()
	t := &storeTest{TB: tb, h: h, pool: newPoolName()}
	t.store = t.open()
	c.run(t)
}

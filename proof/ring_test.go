package proof

const ring = "ring.pml"

// The configurations of the ring. Each has 3 or 4 processes.
var ringConfigs = []config{
	{name: "fails", model: ring, defines: "POLICY=FAILS CAP=1 RUNS=2 TAKERS=2 TAKES=2"},
	{name: "fails, two runs", model: ring, defines: "POLICY=FAILS CAP=2 RUNS=3 TAKERS=2 TAKES=2 EVEN=1"},
	{name: "claims", model: ring, defines: "POLICY=FAILS CAP=2 RUNS=2 TAKERS=2 TAKES=2 CLAIM=2 ODD=3 EVEN=3"},
	{name: "waits", model: ring, defines: "POLICY=WAITS CAP=1 RUNS=2 TAKERS=2 TAKES=1"},
	{name: "waits, two runs", model: ring, defines: "POLICY=WAITS CAP=2 RUNS=3 TAKERS=1 TAKES=4 EVEN=1"},
	{name: "pads", model: ring, defines: "POLICY=PADS CAP=1 RUNS=2 TAKERS=2 TAKES=1 EVEN=3"},
	{name: "closes", model: ring, defines: "POLICY=WAITS CAP=1 RUNS=2 TAKERS=1 TAKES=2 CLOSER=1"},
	{name: "closes, pads", model: ring, defines: "POLICY=PADS CAP=1 RUNS=1 TAKERS=1 TAKES=2 CLOSER=1"},
	{name: "putters", model: ring, defines: "POLICY=WAITS CAP=1 RUNS=0 TAKERS=2 TAKES=1 PUTTERS=2 PUTS=1"},
	{name: "putters, two runs", model: ring, defines: "POLICY=PADS CAP=2 RUNS=0 TAKERS=1 TAKES=2 PUTTERS=2 PUTS=1"},
	{name: "putters that give up", model: ring, defines: "POLICY=WAITS CAP=2 RUNS=0 TAKERS=1 TAKES=2 PUTTERS=2 PUTS=2 PUTCONTEXTS=1"},
	{name: "takers that give up", model: ring, defines: "POLICY=PADS CAP=1 RUNS=2 TAKERS=2 TAKES=1 CONTEXTS=1"},
	{name: "putters, closes", model: ring, defines: "POLICY=WAITS CAP=1 RUNS=0 TAKERS=1 TAKES=2 PUTTERS=2 PUTS=1 CLOSER=1"},
	{name: "assist", model: ring, defines: "POLICY=WAITS CAP=2 RUNS=2 TAKERS=1 TAKES=3 ASSIST=1 EVEN=1 NOTYETS=1"},
	{name: "drops", model: ring, defines: "POLICY=FAILS CAP=2 RUNS=3 TAKERS=2 TAKES=1 TICKS=1 ODD=2"},
	{name: "Drop, pads", model: ring, defines: "POLICY=PADS CAP=1 RUNS=2 TAKERS=1 TAKES=2 DROPPER=1 ODD=2"},
	{name: "Drop, drops", model: ring, defines: "POLICY=FAILS CAP=2 RUNS=3 TAKERS=1 TAKES=2 TICKS=1 DROPPER=1"},
	{name: "failures", model: ring, defines: "POLICY=PADS CAP=1 RUNS=1 TAKERS=1 TAKES=2 FAILURES=1 NOTYETS=1"},
	{name: "failures, waits", model: ring, defines: "POLICY=WAITS CAP=1 RUNS=1 TAKERS=1 TAKES=2 FAILURES=1 NOTYETS=1"},
	{name: "counter", model: ring, defines: "POLICY=FAILS CAP=1 RUNS=0 TAKERS=3 TAKES=0 CLAIM=3 COUNTER"},
	{name: "no cycles, waits", model: ring, defines: "POLICY=WAITS CAP=2 RUNS=2 TAKERS=2 TAKES=1 EVEN=1", search: noCycle},
	{name: "no cycles, pads", model: ring, defines: "POLICY=PADS CAP=1 RUNS=1 TAKERS=2 TAKES=1", search: noCycle},
	{name: "no cycles, putters", model: ring, defines: "POLICY=PADS CAP=1 RUNS=0 TAKERS=1 TAKES=2 PUTTERS=1 PUTS=1 CONTEXTS=1", search: noCycle},
	{name: "no cycles, closes", model: ring, defines: "POLICY=PADS CAP=1 RUNS=1 TAKERS=1 TAKES=1 CLOSER=1 FAILURES=1 NOTYETS=1", search: noCycle},
	{name: "each wait ends, putter", model: ring, defines: "POLICY=WAITS CAP=1 RUNS=0 TAKERS=2 TAKES=0 PUTTERS=1 PUTS=1 CONTEXTS=2", search: fairClaim},
	{name: "each wait ends, provider", model: ring, defines: "POLICY=WAITS CAP=1 RUNS=1 TAKERS=2 TAKES=0 CONTEXTS=2", search: fairClaim},

	{name: "each wait ends, pads", full: true, model: ring, defines: "POLICY=PADS CAP=1 RUNS=1 TAKERS=2 TAKES=0 CONTEXTS=2", search: fairClaim},
	{name: "three takers", full: true, model: ring, defines: "POLICY=FAILS CAP=2 RUNS=3 TAKERS=3 TAKES=1 CLAIM=2 ODD=1 EVEN=1"},
	{name: "three takers wait", full: true, model: ring, defines: "POLICY=WAITS CAP=1 RUNS=2 TAKERS=3 TAKES=1"},
	{name: "three takers pad", full: true, model: ring, defines: "POLICY=PADS CAP=1 RUNS=2 TAKERS=3 TAKES=1"},
	{name: "laps", full: true, model: ring, defines: "POLICY=WAITS CAP=1 RUNS=5 TAKERS=2 TAKES=3 EVEN=1"},
	{name: "laps, pads", full: true, model: ring, defines: "POLICY=PADS CAP=1 RUNS=5 TAKERS=2 TAKES=3 EVEN=1"},
	{name: "assist, two takers", full: true, model: ring, defines: "POLICY=WAITS CAP=2 RUNS=2 TAKERS=2 TAKES=1 ASSIST=1 EVEN=1 NOTYETS=1"},
	{name: "closes, two takers", full: true, model: ring, defines: "POLICY=WAITS CAP=1 RUNS=1 TAKERS=2 TAKES=1 CLOSER=1"},
	{name: "closes, two takers pad", full: true, model: ring, defines: "POLICY=PADS CAP=1 RUNS=1 TAKERS=2 TAKES=1 CLOSER=1"},
	{name: "Drop, closes", full: true, model: ring, defines: "POLICY=WAITS CAP=1 RUNS=1 TAKERS=1 TAKES=2 DROPPER=1 CLOSER=1 ODD=2"},
	{name: "drops, closes", full: true, model: ring, defines: "POLICY=WAITS CAP=2 RUNS=3 TAKERS=1 TAKES=2 TICKS=2 CLOSER=1"},
}

var (
	smallFails   = config{model: ring, defines: "POLICY=FAILS CAP=1 RUNS=2 TAKERS=2 TAKES=2"}
	twoRuns      = config{model: ring, defines: "POLICY=FAILS CAP=2 RUNS=3 TAKERS=2 TAKES=2 EVEN=1"}
	waits        = config{model: ring, defines: "POLICY=WAITS CAP=1 RUNS=2 TAKERS=2 TAKES=1"}
	pads         = config{model: ring, defines: "POLICY=PADS CAP=1 RUNS=1 TAKERS=2 TAKES=1 NOTYETS=1"}
	closes       = config{model: ring, defines: "POLICY=WAITS CAP=1 RUNS=1 TAKERS=1 TAKES=2 CLOSER=1 ODD=2"}
	closes2      = config{model: ring, defines: "POLICY=WAITS CAP=1 RUNS=2 TAKERS=1 TAKES=3 CLOSER=1"}
	stalls       = config{model: ring, defines: "POLICY=WAITS CAP=1 RUNS=3 TAKERS=2 TAKES=2 EVEN=1"}
	exhausts     = config{model: ring, defines: "POLICY=WAITS CAP=1 RUNS=1 TAKERS=2 TAKES=1"}
	spins        = config{model: ring, defines: "POLICY=WAITS CAP=1 RUNS=1 TAKERS=1 TAKES=2", search: noCycle}
	putters      = config{model: ring, defines: "POLICY=WAITS CAP=1 RUNS=0 TAKERS=2 TAKES=1 PUTTERS=2 PUTS=1"}
	putters2     = config{model: ring, defines: "POLICY=WAITS CAP=2 RUNS=0 TAKERS=1 TAKES=1 PUTTERS=2 PUTS=1"}
	drops        = config{model: ring, defines: "POLICY=FAILS CAP=2 RUNS=2 TAKERS=1 TAKES=2 TICKS=1 ODD=2"}
	dropper      = config{model: ring, defines: "POLICY=FAILS CAP=1 RUNS=2 TAKERS=1 TAKES=2 DROPPER=1 ODD=2"}
	dropper2     = config{model: ring, defines: "POLICY=FAILS CAP=2 RUNS=2 TAKERS=1 TAKES=2 DROPPER=1 ODD=2"}
	dropCloses   = config{model: ring, defines: "POLICY=WAITS CAP=1 RUNS=1 TAKERS=1 TAKES=2 DROPPER=1 CLOSER=1 ODD=2"}
	counter      = config{model: ring, defines: "POLICY=FAILS CAP=1 RUNS=0 TAKERS=3 TAKES=0 CLAIM=3 COUNTER"}
	putOnce      = config{model: ring, defines: "POLICY=WAITS CAP=1 RUNS=0 TAKERS=2 TAKES=0 PUTTERS=1 PUTS=1 CONTEXTS=2", search: fairClaim}
	provided     = config{model: ring, defines: "POLICY=WAITS CAP=1 RUNS=1 TAKERS=2 TAKES=0 CONTEXTS=2", search: fairClaim}
	suspended    = config{model: ring, defines: "POLICY=WAITS CAP=2 RUNS=0 TAKERS=1 TAKES=2 PUTTERS=1 PUTS=1", search: noCycle}
	suspendedPad = config{model: ring, defines: "POLICY=WAITS CAP=1 RUNS=1 TAKERS=1 TAKES=2", search: noCycle}
)

const (
	noDuplicate = "no integer twice"
	order       = "order"
	notClosed   = "no take after Close"
	notDropped  = "no take after Drop"
	reallyEmpty = "an empty ring is reported only if it is empty"
	wakeUp      = "no lost wake-up"
	waitEnds    = "each wait ends"
	noSpin      = "no spin without progress"
	noWrap      = "the counter does not come round"
	nothingLost = "no run is overwritten"
)

var ringMutants = []mutant{
	{"a take reads the counter, and then stores it", "M_ADD_IN_TWO_STEPS", noDuplicate, smallFails, "handedOut"},
	{"a run is refilled, and is no new object", "M_RUN_IS_REFILLED", order, config{model: ring, defines: "POLICY=FAILS CAP=2 RUNS=3 TAKERS=2 TAKES=2"}, "last"},
	{"dropping a run stores its counter, without a compare-and-swap", "M_DROP_IN_TWO_STEPS", noDuplicate, drops, "handedOut"},
	{"a claim takes from the end of a run", "M_FROM_THE_END", order, config{model: ring, defines: "POLICY=FAILS CAP=1 RUNS=1 TAKERS=2 TAKES=2 ODD=2"}, "last"},
	{"advance stores current, without a compare-and-swap", "M_CURRENT_IS_STORED", wakeUp, stalls, "where"},
	{"advance does not compare the index", "M_INDEX_IS_NOT_COMPARED", noSpin, spins, "non-progress"},
	{"Close does not replace the current run", "M_CURRENT_STAYS", notClosed, closes, "late"},
	{"Close sets closed after it has replaced the current run", "M_CLOSED_COMES_LAST", notClosed, closes2, "late"},
	{"Close does not cancel the context", "M_NO_CANCEL", wakeUp, closes, "where"},
	{"Drop does not wait for its turn", "M_DROP_WITHOUT_TURN", notDropped, dropper, "old"},
	{"Drop drops the current run only", "M_DROP_CURRENT_ONLY", notDropped, dropper2, "old"},
	{"Drop leaves the current run to Close", "M_DROP_LEAVES_CURRENT", notDropped, dropCloses, "old"},
	{"advance reports that nothing follows without a second look at current", "M_EMPTY_UNLESS_NEXT", reallyEmpty, smallFails, "wasEmpty"},
	{"the provider's exhaustion counts before the runs that are left", "M_EXHAUSTED_COMES_FIRST", reallyEmpty, twoRuns, "wasEmpty"},
	{"waiting takers are woken before the run is stored", "M_BROADCAST_FIRST", wakeUp, putters, "where"},
	{"a taker looks for a run, and subscribes after that", "M_SUBSCRIBE_LAST", wakeUp, waits, "where"},
	{"waiting takers are not woken when the provider is exhausted", "M_EXHAUSTED_SILENTLY", wakeUp, exhausts, "where"},
	{"a taker that finds the ring empty does not wake the padder", "M_TAKER_DOES_NOT_WAKE_PADDER M_WAITER_DOES_NOT_WAKE_PADDER", wakeUp, waits, "where"},
	{"a taker whose provider has no run yet does not wake the padder", "M_PAD_DOES_NOT_WAKE_PADDER", wakeUp, pads, "where"},
	{"release wakes nobody", "M_RELEASE_SILENT", wakeUp, putters2, "where"},
	{"acquire subscribes, and does not try again after that", "M_LOCK_SUBSCRIBES_LAST", wakeUp, putters2, "where"},
	{"the threshold is not looked at", "M_LOW_IS_IGNORED", wakeUp, twoRuns, "where"},
	{"waiting takers are woken before the run is stored, others take endlessly", "M_BROADCAST_FIRST", waitEnds, putOnce, "acceptance"},
	{"a taker looks for a run, and subscribes after that, others take endlessly", "M_SUBSCRIBE_LAST", waitEnds, putOnce, "acceptance"},
	{"no wake-up when the provider is exhausted, others take endlessly", "M_EXHAUSTED_SILENTLY", waitEnds, provided, "acceptance"},
	{"hasRun compares the tail (as it was)", "M_TAIL_IS_COMPARED", noSpin, suspended, "non-progress"},
	{"the tail is stored before the slot, and compared", "M_TAIL_IS_COMPARED M_TAIL_FIRST", noSpin, suspendedPad, "non-progress"},
	{"claim adds without a look at the counter", "M_NO_FIRST_LOOK", noWrap, counter, "start"},
	{"the counter of a used-up run is never set back", "M_NO_SET_BACK", noWrap, counter, "start"},
	{"Put does not wait for its turn", "M_PUT_WITHOUT_TURN", nothingLost, putters, "h"},
	{"padOne does not look for room in its turn", "M_ROOM_BEFORE_TURN", nothingLost, config{model: ring, defines: "POLICY=PADS CAP=1 RUNS=2 TAKERS=2 TAKES=1 EVEN=3"}, "h"},
	{"hasRoom does not count the current run", "M_CURRENT_IS_NOT_COUNTED", nothingLost, twoRuns, "h"},
}

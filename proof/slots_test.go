package proof

const (
	slots = "slots.pml"
	saved = "saved.pml"
)

// The configurations of the choice of slots.
var slotConfigs = []config{
	{name: "slots, releases", model: slots, defines: "SLOTS=1 T=3 LIVES=2"},
	{name: "slots, grace", model: slots, defines: "SLOTS=1 T=4 LIVES=1 BEHIND=1 BEFORE=1 M=1 STEPS=1 C=1 AHEAD0=1 AHEAD1=1"},
	{name: "slots, crash", model: slots, defines: "SLOTS=1 T=5 LIVES=1 CRASHES=1 ERRORS=1"},
	{name: "slots, one name", model: slots, defines: "SLOTS=1 T=6 LIVES=1 C=1 NAME0=1 NAME1=1 AHEAD0=1 AHEAD1=4 BEHIND=1"},
	{name: "slots, names", model: slots, defines: "SLOTS=2 START=2 T=1 LIVES=2 NAME0=1 HIDES=1"},
	{name: "slots, additions", model: slots, defines: "SLOTS=2 START=0 T=2 LIVES=1 SMALL=1 ERRORS=1"},
	{name: "slots, fixed", model: slots, defines: "SLOTS=2 START=0 FIXED=1 T=2 LIVES=1 ERRORS=1"},
	{name: "slots, slow reads", model: slots, defines: "SLOTS=1 T=2 LIVES=1 SLOW=1 BEHIND=2 BEFORE=2"},
	{name: "slots, floor", model: slots, defines: "SLOTS=1 T=2 LIVES=1 FLOORS=1 FLOOR=4"},
	{name: "slots, floor and additions", model: slots, defines: "SLOTS=2 START=1 T=1 LIVES=1 FLOORS=1"},
	{name: "slots, no cycles", model: slots, defines: "SLOTS=2 START=1 T=1 LIVES=1 HIDES=1 ERRORS=1", search: noCycle},

	{name: "slots, two starts and a crash", full: true, model: slots, defines: "SLOTS=1 T=3 LIVES=2 CRASHES=1 ERRORS=1"},
	{name: "slots, two slots and a crash", full: true, model: slots, defines: "SLOTS=2 START=1 T=2 LIVES=2 CRASHES=1"},
	{name: "slots, grace and a crash", full: true, model: slots, defines: "SLOTS=1 T=5 LIVES=1 BEHIND=1 BEFORE=1 M=1 STEPS=1 C=1 AHEAD0=1 AHEAD1=1 CRASHES=1"},
	{name: "slots, three hosts with names", full: true, model: slots, defines: "HOSTS=3 SLOTS=2 START=2 T=2 LIVES=1 NAME1=1 HIDES=1"},
	{name: "slots, three hosts", full: true, model: slots, defines: "HOSTS=3 SLOTS=2 START=1 T=2 LIVES=1"},
	{name: "slots, floor and two starts", full: true, model: slots, defines: "SLOTS=1 T=2 LIVES=2 FLOORS=1"},
}

// The configurations of Saved.
var savedConfigs = []config{
	{name: "saved, late writes", model: saved, defines: "T=1 H=1 SPAN=1 STARTS=2 SWAPS=3 LATE=1"},
	{name: "saved, losses", model: saved, defines: "T=1 H=1 SPAN=1 STARTS=2 SWAPS=2 LATE=0 LOSSES=1"},

	{name: "saved, losses and three swaps", full: true, model: saved, defines: "T=1 H=1 SPAN=1 STARTS=2 SWAPS=3 LATE=1 LOSSES=1"},
	{name: "saved, three starts", full: true, model: saved, defines: "T=2 H=2 SPAN=2 STARTS=3 SWAPS=3 LATE=0"},
}

var (
	releases   = config{model: slots, defines: "SLOTS=1 T=3 LIVES=2"}
	additions  = config{model: slots, defines: "SLOTS=2 START=0 T=2 LIVES=1"}
	narrow     = config{model: slots, defines: "SLOTS=2 SMALL=1 START=1 T=2 LIVES=1"}
	named      = config{model: slots, defines: "SLOTS=2 START=2 T=1 LIVES=2 NAME0=1 HIDES=1"}
	slowReads  = config{model: slots, defines: "SLOTS=1 T=2 LIVES=1 SLOW=1 BEHIND=2 BEFORE=2"}
	floored    = config{model: slots, defines: "SLOTS=1 T=2 LIVES=2 FLOORS=1 FLOOR=4"}
	savedSmall = config{model: saved, defines: "T=1 H=1 SPAN=1 STARTS=2 SWAPS=3 LATE=0"}
	savedLoss  = config{model: saved, defines: "T=1 H=1 SPAN=1 STARTS=2 SWAPS=3 LATE=0 LOSSES=1"}
)

const (
	somebody   = "somebody gets a slot when one is free"
	liveHolder = "no slot is taken from a holder that extends it in time"
	ownSlot    = "a name gets the slot that it had last"
	othersLast = "a slot that had a name is the last choice of others"
	inLayout   = "no worker ID beyond the layout"
	rightFree  = "NextFree is not too late"
	clockBound = "R8 refuses the clocks that differ, and no others"
	floorEnds  = "RaiseFloor ends the leases before it"
	leaseKept  = "a crash does not cost a saved lease"
)

var slotMutants = []mutant{
	{"R1: Release keeps the token", "M_RELEASE_KEEPS_TOKEN", takeable, releases, "released"},
	{"R1: Release does not lower until", "M_RELEASE_KEEPS_UNTIL", takeable, releases, "released"},
	{"R5: the floor is not looked at", "M_FLOOR_NOT_COMPARED", takeable, floored, "released"},
	{"R5: a slot that was not released is never free", "M_HELD_FOR_EVER", somebody, config{model: slots, defines: "SLOTS=1 T=5 LIVES=1 CRASHES=1"}, "released"},
	{"no slot is added", "M_NOTHING_IS_ADDED", somebody, narrow, "count<"},
	{"all slots are never read", "M_NEVER_READS_ALL", somebody, config{model: slots, defines: "SLOTS=1 T=1 LIVES=1 HIDES=1", search: noCycle}, "non-progress"},
	{"R2: a claim compares nothing", "M_NOT_COMPARED", uniqueUnits, config{model: slots, defines: "SLOTS=1 T=2 LIVES=1"}, "top"},
	{"R2: an addition does not compare the pool", "M_ADD_NOT_COMPARED", uniqueUnits, additions, "top"},
	{"R2: nor does that of a fixed worker ID", "M_ADD_NOT_COMPARED", uniqueUnits, config{model: slots, defines: "SLOTS=1 START=0 FIXED=0 T=2 LIVES=1"}, "top"},
	{"R5: grace without B", "M_GRACE_WITHOUT_B", liveHolder, config{model: slots, defines: "SLOTS=1 T=4 LIVES=1 BEHIND=1 C=1 AHEAD0=1 AHEAD1=1"}, "token"},
	{"R5: grace without M", "M_GRACE_WITHOUT_M", liveHolder, config{model: slots, defines: "SLOTS=1 T=4 LIVES=1 B=0 BEFORE=1 M=1 STEPS=1 C=1 AHEAD0=1 AHEAD1=1"}, "token"},
	{"R5: the last write does not count", "M_WRITTEN_IGNORED", liveHolder, config{model: slots, defines: "SLOTS=1 T=5 LIVES=1 B=0"}, "token"},
	{"R5: the same name never waits for the grace", "M_NAME_AT_ONCE", liveHolder, config{model: slots, defines: "SLOTS=1 T=6 LIVES=1 C=1 NAME0=1 NAME1=1 AHEAD0=1 AHEAD1=1 BEHIND=1"}, "token"},
	{"R5: only the claimant's reserve ahead counts", "M_OWN_RESERVE_COUNTS", liveHolder, config{model: slots, defines: "SLOTS=1 T=6 LIVES=1 C=1 NAME0=1 NAME1=1 AHEAD0=1 AHEAD1=4 BEHIND=1"}, "token"},
	{"R5: nor does it for a lease that was never extended", "M_NOT_EXTENDED", liveHolder, config{model: slots, defines: "SLOTS=1 T=6 LIVES=1 NAME0=1 NAME1=1"}, "token"},
	{"the slot of the name is not read", "M_NAME_NOT_READ", ownSlot, named, "had"},
	{"any slot is chosen", "M_NAME_IGNORED", ownSlot, named, "had"},
	{"Release removes the name", "M_NAME_CLEARED", ownSlot, named, "had"},
	{"names make no difference to others", "M_NAMES_NOT_LAST", othersLast, config{model: slots, defines: "SLOTS=2 START=2 T=1 LIVES=2 NAME0=1"}, "had"},
	{"Release removes the name, whose host does not return", "M_NAME_CLEARED", othersLast, config{model: slots, defines: "SLOTS=2 START=2 T=1 LIVES=1 NAME0=1"}, "had"},
	{"slots beyond the layout are taken", "M_LAYOUT_IGNORED", inLayout, config{model: slots, defines: "SLOTS=2 SMALL=1 START=2 T=2 LIVES=1"}, "w<"},
	{"slots beyond the layout are added", "M_ADDS_BEYOND_LAYOUT", inLayout, narrow, "w<"},
	{"NextFree has the grace for the same name", "M_NEXTFREE_WITH_GRACE", rightFree, config{model: slots, defines: "SLOTS=1 T=4 LIVES=1 M=1 NAME0=1 NAME1=1"}, "until"},
	{"NextFree is that of the last slot", "M_NEXTFREE_OF_LAST", rightFree, config{model: slots, defines: "HOSTS=3 SLOTS=2 START=2 T=3 LIVES=1"}, "until"},
	{"R8: the clocks are not compared", "M_CLOCK_NOT_COMPARED", clockBound, slowReads, "refused"},
	{"R8: only the time of the request counts", "M_SENT_ONLY", clockBound, slowReads, "refused"},
	{"R8: only the time of the answer counts", "M_RECEIVED_ONLY", clockBound, slowReads, "refused"},
	{"RaiseFloor writes only the pool", "M_SLOT_NOT_WRITTEN", floorEnds, floored, "raised"},
	{"RaiseFloor does not remove the token", "M_TOKEN_KEPT", floorEnds, floored, "raised"},
	{"R3: a new slot begins before the floor", "M_BEGINS_BEFORE_FLOOR", floorEnds, config{model: slots, defines: "SLOTS=2 START=1 T=1 LIVES=1 FLOORS=1"}, "raised"},
	{"RaiseFloor reads the slots before it writes the pool", "M_POOL_NOT_COMPARED", floorEnds, config{model: slots, defines: "SLOTS=2 START=1 T=2 LIVES=1 FLOORS=1"}, "raised"},
}

var savedMutants = []mutant{
	{"Saved: time is granted before the file has it", "M_GRANTED_BEFORE_FILE", uniqueUnits, savedSmall, "units"},
	{"Saved: a lease begins at the host's clock", "M_BEGINS_AT_CLOCK", uniqueUnits, savedSmall, "units"},
	{"Saved: Release goes below what was used", "M_MARK_BELOW_USED", uniqueUnits, savedSmall, "units"},
	{"Saved: a lease is used after its end", "M_ENDED_LEASE_IS_USED", uniqueUnits, savedSmall, "units"},
	{"Saved: the file has the new end before the store", "M_UNTIL_BEFORE_REPLY", uniqueUnits, savedSmall, "units"},
	{"Saved: the token is not compared", "M_TOKEN_NOT_COMPARED", uniqueUnits, savedSmall, "units"},
	{"Saved: the history is not compared", "M_HISTORY_NOT_COMPARED", uniqueUnits, savedLoss, "units"},
	{"Saved: the span is greater than the horizon", "M_SPAN_BEYOND_H", uniqueUnits, savedLoss, "units"},
	{"Saved: the file is set back (an assumption, not a fault)", "M_FILE_SET_BACK", uniqueUnits, savedSmall, "units"},
	{"Saved: the token is in the store before it is in the file", "M_TOKEN_NOT_IN_FILE", leaseKept, savedSmall, "extensions"},
	{"Saved: the file forgets the token before", "M_TOKENS_FORGOTTEN", leaseKept, savedSmall, "extensions"},
}

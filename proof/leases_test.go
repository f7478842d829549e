package proof

import "slices"

const leases = "leases.pml"

var (
	configs = slices.Concat(ringConfigs, leaseConfigs, slotConfigs, savedConfigs)
	mutants = slices.Concat(ringMutants, leaseMutants, slotMutants, savedMutants)
)

// The configurations of the leases.
var leaseConfigs = []config{
	{name: "leases, failover, clock of the old primary ahead", model: leases, defines: "T=2 H=1 F=0 M=1 WRITES=2 AHEAD=0"},
	{name: "leases, failover, clock of the new primary ahead", model: leases, defines: "T=2 H=1 F=0 M=1 WRITES=2 AHEAD=1"},
	{name: "leases, grace", model: leases, defines: "T=4 H=1 M=1 WRITES=2 AHEAD=0 FAILOVERS=0 GUESSES=0 FIXED=1"},

	{name: "leases, RaiseFloor after a restored backup", model: leases, defines: "T=2 H=1 F=0 M=0 WRITES=2 RESTORE=1"},
	{name: "leases, a host is copied", model: leases, defines: "T=1 H=1 F=0 M=0 WRITES=4 FAILOVERS=0 FIXED=1 LEASES=3 COPIES=1"},
	{name: "leases, a former primary returns", model: leases, defines: "T=2 H=1 F=0 M=0 WRITES=2 FAILOVERS=2"},

	{name: "leases, failover", full: true, model: leases, defines: "T=2 H=1 F=0 M=1 WRITES=3"},
	{name: "leases, fencing", full: true, model: leases, defines: "T=3 H=1 F=1 M=0 WRITES=3"},
	{name: "leases, backup, three writes", full: true, model: leases, defines: "T=2 H=1 F=0 M=0 WRITES=3 RESTORE=1"},
	{name: "leases, RaiseFloor and a failover", full: true, model: leases, defines: "T=2 H=1 F=0 M=0 WRITES=3 RAISES=1"},
	{name: "leases, two failovers", full: true, model: leases, defines: "T=3 H=1 F=0 M=0 WRITES=2 FAILOVERS=2"},
	{name: "leases, a host is copied, on a new slot", full: true, model: leases, defines: "T=2 H=1 F=0 M=0 WRITES=4 FAILOVERS=0 LEASES=3 COPIES=1"},
	{name: "leases, three tries", full: true, model: leases, defines: "T=2 H=1 F=0 M=0 WRITES=2 LEASES=3"},
}

var (
	noFailover = config{model: leases, defines: "T=1 H=2 F=0 M=0 WRITES=5 FAILOVERS=0"}
	failover   = config{model: leases, defines: "T=2 H=1 F=0 M=0 WRITES=3"}
	behind     = config{model: leases, defines: "T=2 H=1 F=0 M=1 WRITES=3 AHEAD=0"}
	fencing    = config{model: leases, defines: "T=3 H=1 F=1 M=0 WRITES=3"}
	grace      = config{model: leases, defines: "T=4 H=1 M=1 WRITES=3 AHEAD=0 FAILOVERS=0 GUESSES=0"}
	restored   = config{model: leases, defines: "T=2 H=1 F=0 M=0 WRITES=3 RESTORE=1"}
	copies     = config{model: leases, defines: "T=1 H=2 F=0 M=0 WRITES=5 FAILOVERS=0 LEASES=3 COPIES=1"}
	returns    = config{model: leases, defines: "T=2 H=1 F=0 M=0 WRITES=2 FAILOVERS=2"}
)

const (
	uniqueUnits = "no (worker ID, unit) of two leases"
	notRobbed   = "no slot is taken before its grant ends"
	takeable    = "a released slot can be taken"
)

var leaseMutants = []mutant{
	{"R1: until falls", "M_UNTIL_FALLS", uniqueUnits, noFailover, "ls[0].state"},
	{"R1: Release goes below what was used", "M_RELEASE_BELOW_USED", uniqueUnits, noFailover, "ls[0].state"},
	{"R1: Release does not lower until", "M_RELEASE_KEEPS_UNTIL", takeable, grace, "(x==3)"},
	{"R2: a swap compares nothing", "M_NOT_COMPARED", uniqueUnits, noFailover, "ls[0].state"},
	{"R2: a swap does not compare revision and until", "M_REVISION_NOT_COMPARED", uniqueUnits, noFailover, "ls[0].state"},
	{"R2: a write that was refused counts", "M_FAILED_WRITE_COUNTS", uniqueUnits, noFailover, "ls[0].state"},
	{"R3: a lease begins at the store's clock", "M_BEGINS_AT_CLOCK", uniqueUnits, noFailover, "ls[0].state"},
	{"R3: a lease begins before the floor", "M_FLOOR_IGNORED", uniqueUnits, failover, "ls[0].state"},
	{"R4: the token is not compared after an ambiguous reply", "M_TOKEN_NOT_COMPARED", uniqueUnits, noFailover, "ls[0].state"},
	{"R4: an extension keeps the token", "M_TOKEN_KEPT_BY_EXTENSION", uniqueUnits, copies, "ls[0].state"},
	{"R4: Release does not compare the token", "M_RELEASE_OF_ANOTHER", uniqueUnits, copies, "ls[0].state"},
	{"R1: Release keeps the token", "M_RELEASE_KEEPS_TOKEN", takeable, grace, "(x==3)"},
	{"R5: no grace", "M_NO_GRACE", notRobbed, grace, "(x==1)"},
	{"R5: grace without M", "M_GRACE_WITHOUT_M", notRobbed, grace, "(x==1)"},
	{"R6: no horizon", "M_NO_HORIZON", uniqueUnits, failover, "ls[0].state"},
	{"R7: the history is not noted", "M_HISTORY_NOT_NOTED", uniqueUnits, failover, "ls[0].state"},
	{"R7: Reserve does not compare the history", "M_HISTORY_NOT_COMPARED", uniqueUnits, failover, "ls[0].state"},
	{"R7: no floor", "M_NO_FLOOR", uniqueUnits, failover, "ls[0].state"},
	{"R7: a floor without F", "M_FLOOR_WITHOUT_F", uniqueUnits, fencing, "ls[0].state"},
	{"R7: a floor without H", "M_FLOOR_WITHOUT_H", uniqueUnits, failover, "ls[0].state"},
	{"R7: a floor without M", "M_FLOOR_WITHOUT_M", uniqueUnits, behind, "ls[0].state"},
	{"R7: a former primary acknowledges for longer than F", "M_FENCED_LATE", uniqueUnits, failover, "ls[0].state"},
	{"R7: an addition does not compare the floor", "M_ADDED_WITHOUT_POOL", uniqueUnits, restored, "ls[0].state"},
	{"R7: RaiseFloor writes only the pool", "M_SLOT_NOT_WRITTEN", uniqueUnits, restored, "ls[0].state"},
	{"R7: RaiseFloor does not remove the token", "M_TOKEN_KEPT", uniqueUnits, restored, "ls[0].state"},
	{"R7: the floor is raised without H", "M_RAISED_WITHOUT_H", uniqueUnits, restored, "ls[0].state"},
	{"R7: a former primary returns without its successor's record of the pool", "M_RETURNS_BEHIND", uniqueUnits, returns, "ls[0].state"},
}

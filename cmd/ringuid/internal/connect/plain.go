package connect

import "strings"

// Plain returns the text of an error or of a log record of the library in words of a user of the command: the library names options and
// functions of Go, where the user sets parameters of a store's URL.
func Plain(text string) string {
	return strings.NewReplacer(
		"WithTable", "the parameter table of the store",
		"WithTagTable", "the parameter tag-table of the store",
		"WithPoolTables", "the parameters pool-table and slot-table of the store",
		" (recycled.CreatePool)", "",
		"WithWorkerID", "the parameter worker-id of the store",
		"WithFirstWorkerID", "the parameter first-worker-id of the store",
		"WithHorizon", "the parameter horizon of the store",
		"WithHistory", "the parameter history of the store",
		"WithPool", "the parameter pool of the store",
		"WithPath", "the path of the store",
		"WithACL", "the user of the store",
		"NewClusterClient", "redis-cluster://",
		", or WithNode", "",
		" (workerassign.NewFile)", "",
		" (package filestore)", " (assign=recycled)",
		"WithFailoverGap", "the parameter failover-gap of the store",
		", or see WithCopyGap", "",
		"call NewHistory of a Store whose failover gap is", "run \"ringuid pool new-history\" with a parameter failover-gap of the store that is",
	).Replace(text)
}

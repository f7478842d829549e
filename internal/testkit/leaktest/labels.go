package leaktest

import (
	"context"
	"crypto/rand"
	"fmt"
	"runtime/pprof"
	"strings"
)

// labelKey is the key of the label of a Group.
const labelKey = "leaktest"

// A Group is goroutines, with all that they have started. They are told from other goroutines of the process by a label,
// which goroutines inherit from the one that starts them.
type Group struct{ label string }

// NewGroup returns a group without goroutines.
func NewGroup() Group { return Group{rand.Text()} }

// Do calls f. The goroutines that f starts, and those that they start, belong to the group.
func (g Group) Do(f func()) {
	pprof.Do(context.Background(), pprof.Labels(labelKey, g.label), func(context.Context) { f() })
}

// Count returns how many goroutines of the group run, and a profile of all goroutines of the process.
func (g Group) Count() (count int, profile string) {
	var text strings.Builder
	pprof.Lookup("goroutine").WriteTo(&text, 1)
	marked := fmt.Sprintf("%q:%q", labelKey, g.label)
	for record := range strings.SplitSeq(text.String(), "\n\n") {
		if strings.Contains(record, marked) {
			var n int
			record = record[strings.LastIndexByte(record[:strings.Index(record, " @ ")+1], '\n')+1:]
			fmt.Sscan(record, &n)
			count += n
		}
	}
	return count, text.String()
}

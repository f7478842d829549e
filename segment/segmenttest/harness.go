package segmenttest

import (
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/segment"
)

// A Harness gives Run a source to test, and faults. Its functions are called by one goroutine, except those that
// Faults says otherwise of.
type Harness struct {
	// New returns a new client of the store of the given name, as another process would have it. The first client of a
	// name finds an empty store, without a tag. A name consists of 1 to 20 characters a to z and 2 to 7, and is not used
	// again. New may use tb.Cleanup to close the client. It must be set.
	New func(tb testing.TB, name string) segment.Creator

	// Secrets are texts that no description and no error of the source may contain, such as the password of the
	// database.
	Secrets []string

	// MayReturnFewer says that the source may return fewer numbers than were asked for although the tag has
	// more. Without it, a range must be shorter only at the end of the numbers.
	MayReturnFewer bool

	// FoldsTags says that the store cannot keep tags apart that differ only by case, accents or the form of their
	// characters, as a table whose collation ignores these. CreateTag must then refuse the second one with an error
	// that wraps ErrTag or ErrTagExists. A Take of a tag that differs from an existing one must return ErrNoTag
	// nevertheless.
	FoldsTags bool

	Faults
}

// Faults inject faults into a store. Each is a function, which fails the test if it cannot do what it has to.
// A fault that is nil must be listed in Without.
type Faults struct {
	// Kill ends the server at once, like SIGKILL does, and Start starts it again with the data that it
	// has kept. Start returns when the server can be used. Calls run meanwhile.
	Kill, Start func(tb testing.TB)

	// Pause stops the server, like SIGSTOP does, without closing connections. Resume continues it.
	Pause, Resume func(tb testing.TB)

	// LoseReplies calls call, and makes all replies of the store get lost meanwhile, while the store executes
	// the requests: calls fail at once or when their contexts end.
	LoseReplies func(tb testing.TB, call func())

	// LoseWrites calls write, and makes the store lose all or some of what write has written, even if it was
	// acknowledged, in a way that the source must notice: for example, it stops the replication to a replica, calls
	// write, kills the primary and promotes the replica. It returns when clients can use the store again, both those
	// that exist and new ones.
	LoseWrites func(tb testing.TB, write func())

	// LoseWritesUnnoticed is like LoseWrites, but in a way that the source cannot notice: for example,
	// somebody restores an older copy of the store's records.
	LoseWritesUnnoticed func(tb testing.TB, write func())

	// SetCounter sets the next number of a tag, as an operator does who changes the store's record. It is
	// called while other goroutines call the source.
	SetCounter func(tb testing.TB, tag string, next int64)

	// Without says why there is no fault of a name: the tests that require it are skipped. The keys are
	// the names of the fields above.
	Without map[string]string

	// Recovery is how long the store may take to work again after a fault. The default is 2 minutes.
	Recovery time.Duration
}

// require skips the test if a fault is listed in Without, and fails it if the fault is neither set nor listed.
func (f Faults) require(tb testing.TB, names ...string) {
	tb.Helper()
	set := map[string]bool{
		"Kill": f.Kill != nil && f.Start != nil, "Start": f.Kill != nil && f.Start != nil,
		"Pause": f.Pause != nil && f.Resume != nil, "Resume": f.Pause != nil && f.Resume != nil,
		"LoseReplies": f.LoseReplies != nil, "LoseWrites": f.LoseWrites != nil,
		"LoseWritesUnnoticed": f.LoseWritesUnnoticed != nil, "SetCounter": f.SetCounter != nil,
	}
	for name := range f.Without {
		if _, known := set[name]; !known {
			tb.Fatalf("Without lists %q; must be the name of a fault", name)
		}
	}
	for _, name := range names {
		why, without := f.Without[name]
		switch {
		case without && set[name]:
			tb.Fatalf("the harness has the fault %s, and lists it in Without (%q): remove one of them", name, why)
		case without:
			tb.Skipf("the harness has no fault %s: %s", name, why)
		case !set[name]:
			tb.Fatalf("the harness has no fault %s: set it, or give the reason in Without[%q]", name, name)
		}
	}
}

// sourceCase is one test of a source.
type sourceCase struct {
	name   string
	faults []string // that the test requires
	run    func(t *sourceTest)
}

// sourceCases are the tests of Run, in their order.
var sourceCases = []sourceCase{
	{"UnknownTag", nil, testUnknownTag},
	{"String", nil, testString},
	{"Start", nil, testStart},
	{"Sizes", nil, testSizes},
	{"Sequential", nil, testSequential},
	{"Concurrent", nil, testConcurrent},
	{"CreateTwice", nil, testCreateTwice},
	{"CreateConcurrently", nil, testCreateConcurrently},
	{"UnusedBefore", nil, testUnusedBefore},
	{"BadTags", nil, testBadTags},
	{"BadOptions", nil, testBadOptions},
	{"SimilarTags", nil, testSimilarTags},
	{"LongTags", nil, testLongTags},
	{"AtLeast", nil, testAtLeast},
	{"SetBack", []string{"SetCounter"}, testSetBack},
	{"SetBackDuringTakes", []string{"SetCounter"}, testSetBackDuringTakes},
	{"SetForward", []string{"SetCounter"}, testSetForward},
	{"End", nil, testEnd},
	{"EndConcurrent", nil, testEndConcurrent},
	{"ContextEnded", nil, testContextEnded},
	{"ContextEndsDuringTakes", nil, testContextEndsDuringTakes},
	{"NoGoroutineLeak", nil, testNoGoroutineLeak},
	{"RepliesLost", []string{"LoseReplies"}, testRepliesLost},
	{"RepliesOfCreateTagLost", []string{"LoseReplies"}, testRepliesOfCreateTagLost},
	{"Killed", []string{"Kill", "Start"}, testKilled},
	{"Paused", []string{"Pause", "Resume"}, testPaused},
	{"WritesLost", []string{"LoseWrites"}, testWritesLost},
	{"TagsLost", []string{"LoseWrites"}, testTagsLost},
	{"WritesLostUnnoticed", []string{"LoseWritesUnnoticed"}, testWritesLostUnnoticed},
}

// Run tests whether a source fulfils the contract of segment.Source and segment.Creator. Each test is a subtest
// with a store of its own. They do not run in parallel.
func Run(t *testing.T, h Harness) {
	for _, c := range sourceCases {
		t.Run(c.name, func(t *testing.T) { c.test(t, h) })
	}
}

// test runs one test.
func (c sourceCase) test(tb testing.TB, h Harness) {
	if h.New == nil {
		tb.Fatal("Harness.New is nil; must be set")
	}
	h.Faults.require(tb, c.faults...)
	if h.Recovery == 0 {
		h.Recovery = 2 * time.Minute
	}
	t := &sourceTest{TB: tb, h: h, name: "t" + strings.ToLower(rand.Text()[:15])}
	t.source = t.open()
	c.run(t)
}

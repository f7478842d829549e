package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/ringuid/ringuid/tools/mutants/choice"
)

// trial tests changes with the tests of a package.
type trial struct {
	program
	tests    []*measuredTest // the shortest first
	together time.Duration   // how long all of them take in one process
	patience time.Duration   // tests may take this long, and patienceFactor times as long as without a change
}

// measuredTest is what is known of a test without a change.
type measuredTest struct {
	name    string
	took    time.Duration
	reached map[int]bool // the numbers of the changes whose operators it evaluates
}

const (
	patienceFactor = 5
	// measurements is how often each test runs alone, and all tests together, before a change is made.
	measurements = 3
)

// newTrial finds the tests of a program, and measures them.
func newTrial(p program, patience time.Duration, workers int) (*trial, error) {
	names, err := p.tests()
	if err != nil {
		return nil, err
	}
	t := &trial{program: p, patience: patience}
	for _, name := range names {
		t.tests = append(t.tests, &measuredTest{name: name, reached: map[int]bool{}})
	}
	return t, t.measure(workers)
}

// measure runs the tests without a change. They must pass, alone and together.
func (t *trial) measure(workers int) error {
	const limit = 5 * time.Minute
	for range measurements {
		if err := concurrently(workers, len(t.tests), func(i int) error { return t.measureOne(t.tests[i], limit) }); err != nil {
			return err
		}
	}
	slices.SortStableFunc(t.tests, func(a, b *measuredTest) int { return cmp.Compare(a.took, b.took) })
	var mu sync.Mutex
	return concurrently(workers, measurements, func(int) error {
		e, err := t.run(nil, limit)
		mu.Lock()
		defer mu.Unlock()
		t.together = max(t.together, e.took)
		return cmp.Or(err, e.mustPass("all tests"))
	})
}

// measureOne runs a test alone, and adds the changes that it reaches.
func (t *trial) measureOne(test *measuredTest, limit time.Duration) error {
	dir, err := openTemp("r")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "reached")
	if err := choice.NewRecording(file); err != nil {
		return err
	}
	e, err := t.run([]string{test.name}, limit, choice.Reached+"="+file)
	if err = cmp.Or(err, e.mustPass(test.name)); err != nil {
		return err
	}
	test.took = max(test.took, e.took)
	numbers, err := choice.Recorded(file)
	if err != nil {
		return err
	}
	for _, n := range numbers {
		test.reached[n] = true
	}
	return nil
}

// mustPass returns an error if tests without a change did not pass.
func (e ending) mustPass(what string) error {
	if e.passed {
		return nil
	}
	return fmt.Errorf("%s must pass without a change, but failed:\n%s", what, e.output)
}

// reaches reports whether a test evaluates the operator of the change n.
func (t *trial) reaches(n int) bool {
	return slices.ContainsFunc(t.tests, func(test *measuredTest) bool { return test.reached[n] })
}

// verdict is what the tests said of a change: its status, as gremlins calls it, and the tests that noticed it. Those in once failed or
// hung once, and passed when they ran again, which does not count.
type verdict struct {
	status   string
	by, once []string
}

// try runs the tests with the change n: first those that reach it, the shortest ones first, until one fails. A change that none of
// them notices is also tested with all tests in one process, as gremlins does it. If n is 0, the program has a change that cannot be
// chosen, and it is not known which tests reach it.
func (t *trial) try(n int) (verdict, error) {
	var variables, once []string
	if n != 0 {
		variables = []string{choice.Number + "=" + strconv.Itoa(n)}
	}
	reaching := slices.DeleteFunc(slices.Clone(t.tests), func(test *measuredTest) bool { return n != 0 && !test.reached[n] })
	// A process for each test would cost more time than the tests. One for all would run long tests although a short one fails.
	for most := 300 * time.Millisecond; len(reaching) > 0; most *= 3 {
		var names []string
		var sum time.Duration
		for _, test := range reaching {
			if sum += test.took; len(names) > 0 && sum > most {
				break
			}
			names = append(names, test.name)
		}
		v, err := t.tryTests(names, variables)
		v.once = append(once, v.once...)
		if err != nil || v.status != lived {
			return v, err
		}
		once = v.once
		reaching = reaching[len(names):]
	}
	v, err := t.tryTests(nil, variables)
	v.once = append(once, v.once...)
	return v, err
}

// limit returns how long tests may take, or all of them if none is named.
func (t *trial) limit(names []string) time.Duration {
	if len(names) == 0 {
		return t.patience + patienceFactor*t.together
	}
	limit := t.patience
	for _, test := range t.tests {
		if slices.Contains(names, test.name) {
			limit += patienceFactor * test.took
		}
	}
	return limit
}

const (
	killed   = "KILLED"
	timedOut = "TIMED OUT"
	lived    = "LIVED"
	// noticedAgain is in how many further runs a test that has failed is given the chance to fail again.
	noticedAgain = 3
)

// tryTests runs tests, or all of them if none is named. Those that fail only once do not count, because they may fail without a change
// too. Nor does a hang that does not happen again with three times the limit, because the machine may be slow.
func (t *trial) tryTests(names []string, variables []string) (verdict, error) {
	first, err := t.run(names, t.limit(names), variables...)
	if err != nil || first.passed {
		return verdict{status: lived}, err
	}
	if len(first.tests) > 0 {
		names = first.tests
	}
	if first.hung {
		again, err := t.run(names, 3*t.limit(names), variables...)
		switch {
		case err != nil || again.passed:
			return verdict{status: lived, once: names}, err
		case again.hung:
			return verdict{status: timedOut, by: again.tests}, nil
		}
		return verdict{status: killed, by: again.tests}, nil
	}
	for range noticedAgain {
		again, err := t.run(names, t.limit(names), variables...)
		if err != nil || !again.passed {
			return verdict{status: killed, by: first.tests}, err
		}
	}
	return verdict{status: lived, once: names}, nil
}

// concurrently calls f for 0 to n-1, with some calls at the same time. It returns the first error, after which no call begins.
func concurrently(workers, n int, f func(int) error) error {
	var mu sync.Mutex
	var first error
	next := 0
	take := func() (i int, ok bool) {
		mu.Lock()
		defer mu.Unlock()
		i, next = next, next+1
		return i, i < n && first == nil
	}
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for i, ok := take(); ok; i, ok = take() {
				if err := f(i); err != nil {
					mu.Lock()
					first = cmp.Or(first, err)
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	return first
}

package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
)

// together tests the mutants of one directory that gremlins has listed, and sets their statuses. All changes that can be chosen when
// the program runs are in one program, so that only the others have to be compiled. Mutants that gremlins found not covered are tested
// if a test reaches them nevertheless: in another process, or not each time.
type together struct {
	workers  int
	patience time.Duration
	sample   int  // so many changes, chosen at random, are also compiled and tested one by one
	verbose  bool // killed ones are printed too
	out      io.Writer
	pkg      *goPackage
}

const (
	runnable   = "RUNNABLE"
	notCovered = "NOT COVERED"
	notViable  = "NOT VIABLE"
)

// run tests the mutants of the package in a directory, which is relative to the current one. It reports whether those of the sample
// have the same result alone.
func (t together) run(directory string, mutants []*mutant) (same bool, err error) {
	began := time.Now()
	if t.pkg, err = loadPackage(directory); err != nil {
		return false, err
	}
	// Those of files for other systems are not covered.
	mutants = slices.DeleteFunc(slices.Clone(mutants), func(m *mutant) bool { return m.status == notCovered && t.pkg.files[m.baseName()] == nil })
	sites, numbers, err := t.pkg.sitesOf(mutants)
	if err != nil {
		return false, err
	}
	texts, err := t.pkg.rewrite(sites)
	if err != nil {
		return false, err
	}
	dir, err := openTemp("m")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir)
	program, err := compile(t.pkg, texts, dir)
	if err != nil {
		return false, err
	}
	all, err := newTrial(program, t.patience, t.workers)
	if err != nil {
		return false, err
	}
	covered := map[int]bool{}
	for i, m := range mutants {
		n := numbers[i]
		covered[n] = covered[n] || m.status == runnable || all.reaches(n)
	}
	changes := slices.DeleteFunc(changesOf(sites), func(c change) bool { return !covered[c.number] })
	fmt.Fprintf(t.out, "%s: %d tests pass without a change, after %v; %d changes, %d of them one by one\n", directory, len(all.tests),
		time.Since(began).Round(time.Second), len(changes), len(slices.DeleteFunc(slices.Clone(changes), func(c change) bool { return !c.alone })))
	verdicts := map[int]verdict{} // by number
	var mu sync.Mutex             // held while verdicts is written, and when something is printed
	err = concurrently(t.workers, len(changes), func(i int) (err error) {
		c, began := changes[i], time.Now()
		v := verdict{status: notViable}
		switch {
		case c.alone && c.viable:
			v, err = t.alone(c, all)
		case c.viable:
			v, err = all.try(c.number)
		}
		mu.Lock()
		defer mu.Unlock()
		verdicts[c.number] = v
		if t.verbose || v.status != killed && v.status != notViable {
			fmt.Fprintf(t.out, "%10s %v becomes %v, by %s (%.1f s)\n", v.status, t.pkg.fset.Position(c.pos), c.becomes, strings.Join(v.by, ", "), time.Since(began).Seconds())
		}
		if len(v.once) > 0 {
			fmt.Fprintf(t.out, "%v becomes %v: does not count, because it passes when it runs again: %s\n", t.pkg.fset.Position(c.pos), c.becomes, strings.Join(v.once, ", "))
		}
		return err
	})
	if err != nil {
		return false, err
	}
	for i, m := range mutants {
		if v, ok := verdicts[numbers[i]]; ok {
			m.status = v.status
		}
	}
	fmt.Fprintf(t.out, "%s: all changes are tested, after %v\n", directory, time.Since(began).Round(time.Second))
	return t.compare(changes, verdicts, all)
}

// change is one change of a site.
type change struct {
	*site
	number  int
	becomes string
	index   int // in the site
	viable  bool
}

// changesOf returns the changes of sites, in the order of their numbers.
func changesOf(sites []*site) (changes []change) {
	for _, s := range sites {
		for i, to := range s.to {
			changes = append(changes, change{s, s.first + i, to.String(), i, s.viable[i]})
		}
	}
	return changes
}

// alone compiles a program with one change, and runs the tests, whose times are known from the program with all changes.
func (t together) alone(c change, all *trial) (verdict, error) {
	dir, err := openTemp("m")
	if err != nil {
		return verdict{}, err
	}
	defer os.RemoveAll(dir)
	p, err := compile(t.pkg, map[string][]byte{c.file: t.pkg.with(c.site, c.to[c.index])}, dir)
	if err != nil {
		return verdict{}, err
	}
	return (&trial{p, all.tests, all.together, all.patience}).try(0)
}

// compare tests a sample of the changes alone, and reports whether they are noticed as in the program of all changes.
func (t together) compare(changes []change, verdicts map[int]verdict, all *trial) (same bool, err error) {
	changes = slices.DeleteFunc(changes, func(c change) bool { return c.alone || !c.viable })
	rand.Shuffle(len(changes), func(i, j int) { changes[i], changes[j] = changes[j], changes[i] })
	changes = changes[:min(t.sample, len(changes))]
	same = true
	var mu sync.Mutex // held while same is written, and when something is printed
	err = concurrently(t.workers, len(changes), func(i int) error {
		c := changes[i]
		v, err := t.alone(c, all)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(t.out, "sample: %v becomes %v: %s by %v together, %s by %v alone\n", t.pkg.fset.Position(c.pos), c.becomes,
			verdicts[c.number].status, verdicts[c.number].by, v.status, v.by)
		if (v.status == lived) != (verdicts[c.number].status == lived) {
			same = false
		}
		return nil
	})
	return same && err == nil, err
}

// byDirectory groups mutants by the directory of their package.
func byDirectory(name string, all []mutant) map[string][]*mutant {
	groups := map[string][]*mutant{}
	for i := range all {
		directory := path.Join(name, path.Dir(all[i].file))
		groups[directory] = append(groups[directory], &all[i])
	}
	return groups
}

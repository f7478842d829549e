package workerassign

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/ringuid/ringuid/internal/testkit"
)

// wrapping is a combination of wrappers that a process puts around the store.
type wrapping struct {
	name string
	bits int // the number of worker bits that the wrappers use
	wrap func(Assigner) Assigner
}

// allWrappings returns combinations of Divide and Prefix 0 that use fewer bits than workerBits.
func allWrappings(workerBits int) []wrapping {
	all := []wrapping{
		{"plain", 0, func(a Assigner) Assigner { return a }},
		{"divided by 1", 1, func(a Assigner) Assigner { return Divide(a, 1) }},
		{"divided by 2", 2, func(a Assigner) Assigner { return Divide(a, 2) }},
		{"divided by 3", 3, func(a Assigner) Assigner { return Divide(a, 3) }},
		{"divided by 1 and 2", 3, func(a Assigner) Assigner { return Divide(Divide(a, 1), 2) }},
		{"divided by 2 and 1", 3, func(a Assigner) Assigner { return Divide(Divide(a, 2), 1) }},
		{"bounded by 3", 3, func(a Assigner) Assigner { return Prefix(a, 0, 3) }},
		{"bounded by 2, divided by 1", 3, func(a Assigner) Assigner { return Divide(Prefix(a, 0, 2), 1) }},
		{"divided by 2, bounded by 1", 3, func(a Assigner) Assigner { return Prefix(Divide(a, 2), 0, 1) }},
	}
	fit := all[:0]
	for _, w := range all {
		if w.bits < workerBits {
			fit = append(fit, w)
		}
	}
	return fit
}

// startProcesses simulates processes with some wrappings that start on one store and take some leases,
// until the store has refused each wrapping. It returns how many worker IDs were assigned twice.
func startProcesses(t *testing.T, rng *rand.Rand, store Assigner, use []wrapping, maxID int64) (twice int) {
	seen, refused := map[int64]bool{}, map[string]bool{}
	for len(refused) < len(use) {
		w := use[rng.IntN(len(use))]
		a := w.wrap(store)
		for range 1 + rng.IntN(12) {
			l, err := a.Assign(context.Background(), Request{MaxWorkerID: maxID})
			if err != nil {
				if !errors.Is(err, errStoreIsEmpty) && !errors.Is(err, ErrWidth) {
					t.Fatalf("%s: %v", w.name, err)
				}
				refused[w.name] = true
				break
			}
			if id := l.WorkerID(); id < 0 || id > maxID {
				t.Fatalf("%s: worker ID %d, the greatest is %d", w.name, id, maxID)
			}
			if seen[l.WorkerID()] {
				twice++
			}
			seen[l.WorkerID()] = true
		}
	}
	return twice
}

var errStoreIsEmpty = errors.New("the store has no more numbers")

// limitTo returns the store with only the numbers below end.
func limitTo(a *countingAssigner, end int64) Assigner {
	return assignerFunc(func(ctx context.Context, r Request) (Lease, error) {
		if a.next.Load() >= end {
			return nil, errStoreIsEmpty
		}
		return a.Assign(ctx, r)
	})
}

// Invariant 1: processes may divide the numbers of one store by different numbers of bits, or not
// divide them. They share no worker ID while the numbers are below 2^r, where r is the smallest number
// of lower bits that any of them leaves. If all of them leave the same number of bits, which Prefix 0
// can ensure, they never share a worker ID.
func TestInvariant1WidthsOnOneStore(t *testing.T) {
	for workerBits := 2; workerBits <= 9; workerBits++ {
		maxID, all := int64(1)<<workerBits-1, allWrappings(workerBits)
		seeds := uint64(60)
		if testing.Short() {
			seeds = 6
		}
		for seed := range seeds {
			rng := rand.New(rand.NewPCG(seed, 0))
			use := []wrapping{}
			for _, i := range rng.Perm(len(all))[:1+rng.IntN(len(all))] {
				use = append(use, all[i])
			}
			taken := 0
			for _, w := range use {
				taken = max(taken, w.bits)
			}
			if n := startProcesses(t, rng, limitTo(countFrom(0), 1<<(workerBits-taken)), use, maxID); n > 0 {
				t.Errorf("%d worker bits, seed %d: %d worker IDs were assigned twice", workerBits, seed, n)
			}
			use = nil
			for _, w := range all {
				if w.bits == 3 {
					use = append(use, w)
				}
			}
			if len(use) == 0 {
				continue
			}
			if n := startProcesses(t, rng, countFrom(0), use, maxID); n > 0 {
				t.Errorf("%d worker bits, seed %d: %d worker IDs were assigned twice although all leave the same bits", workerBits, seed, n)
			}
		}
	}
}

// The mixtures that the documentation forbids do lead to equal worker IDs, from the lease on that it
// names.
func TestMixturesThatCollide(t *testing.T) {
	ids := func(a Assigner, n int) map[int64]int {
		m := map[int64]int{}
		for i := range n {
			m[mustAssign(t, a).WorkerID()] = i
		}
		return m
	}
	first := func(a, b map[int64]int) int { // the index in a of the first worker ID that b has too
		at := -1
		for id, i := range a {
			if _, ok := b[id]; ok && (at < 0 || i < at) {
				at = i
			}
		}
		return at
	}
	for _, tt := range []struct {
		name string
		a, b Assigner
		at   int
	}{
		{"no wrapper, and a prefix with another store", countFrom(0), Prefix(countFrom(0), 2, 2), 2 << 8},
		{"divided, and a prefix with another store", Divide(countFrom(0), 2), Prefix(countFrom(0), 2, 2), 2},
		{"two prefixes, each with its own store", Prefix(countFrom(0), 1, 2), Prefix(countFrom(0), 2, 2), -1},
		{"two prefixes outside of Divide", Prefix(Divide(countFrom(0), 1), 1, 2), Prefix(Divide(countFrom(0), 2), 2, 2), -1},
		{"two prefixes inside of Divide", Divide(Prefix(countFrom(0), 1, 2), 1), Divide(Prefix(countFrom(0), 2, 2), 1), -1},
	} {
		n := 256
		if tt.at >= n {
			n = 1024
		}
		if at := first(ids(tt.a, n), ids(tt.b, 256)); at != tt.at {
			t.Errorf("%s: the first equal worker ID is that of lease %d, want %d", tt.name, at, tt.at)
		}
	}
	// From 2^r on, a generator without a wrapper accepts numbers that are parts of earlier numbers. A
	// generator with Prefix 0 refuses them.
	store := countFrom(255)
	divided := Divide(store, 2)
	part := []int64{mustAssign(t, divided).WorkerID(), mustAssign(t, divided).WorkerID()}[1]
	if got := mustAssign(t, countFrom(part)).WorkerID(); got != part {
		t.Errorf("a generator without a wrapper has worker ID %d, want %d", got, part)
	}
	if _, err := Prefix(countFrom(part), 0, 2).Assign(context.Background(), request10Bits); !errors.Is(err, ErrWidth) {
		t.Errorf("Assign() with Prefix 0 = %v, want ErrWidth", err)
	}
}

// Invariant 1: the same with real processes on one file, each with its own wrappers.
func TestInvariant1WidthsOfProcesses(t *testing.T) {
	testkit.Slow(t, "it starts processes")
	const each = 12
	all := allWrappings(10)
	if arg := testkit.ChildArg(); arg != "" {
		number, path, _ := strings.Cut(arg, " ")
		n, err := strconv.Atoi(number)
		if err != nil {
			t.Fatal(err)
		}
		// All processes together take fewer than 127 of the file's numbers. That is the greatest
		// number that fits if three of ten bits hold the part.
		a := all[n].wrap(NewFile(path))
		for range each {
			fmt.Println(mustAssign(t, a).WorkerID())
		}
		return
	}
	var (
		path   = filepath.Join(t.TempDir(), "worker")
		args   []string
		seen   = map[string]string{}
		counts = map[string]int{}
	)
	for n := range all {
		args = append(args, strconv.Itoa(n)+" "+path)
	}
	testkit.RunChildren(t, args, func(n int, _ *testkit.Child, id string) {
		if other, ok := seen[id]; ok {
			t.Errorf("worker ID %s was assigned to %q and to %q", id, other, all[n].name)
		}
		seen[id] = all[n].name
		counts[all[n].name]++
	})
	for _, w := range all {
		if n := counts[w.name]; n != each {
			t.Errorf("%s: %d worker IDs, want %d", w.name, n, each)
		}
	}
}

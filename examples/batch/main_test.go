package main

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit/leaktest"
	"github.com/ringuid/ringuid/internal/testkit/uniq"
	"github.com/ringuid/ringuid/uid"
)

// The three ways generate different UIDs from one worker file, and their times are as far ahead as
// the comment on the package says.
func TestRun(t *testing.T) {
	leaktest.Check(t)
	file := filepath.Join(t.TempDir(), "worker")
	format, err := uid.NewFormat()
	if err != nil {
		t.Fatal(err)
	}
	var seen uniq.Set
	unique := seen.Writer()
	for _, tc := range []struct {
		name             string
		n                int
		maxAhead         time.Duration
		exact            bool
		least, most      time.Duration // how far ahead the furthest UID is to be
		leastIDs, mostID uint64
		atLeast          time.Duration // how long it takes
	}{
		// 1,000,000 / 8,192 = 122.07: the last UID is in the 123rd second, counted from the one that had begun.
		{"a million", 1_000_000, 0, false, 100 * time.Second, 122 * time.Second, 1, 1, 0},
		{"at most 30 s ahead", 1_000_000, 30 * time.Second, false, 25 * time.Second, 30 * time.Second, 4, 6, 0},
		// 20,000 UIDs take three seconds, of which the second one is a whole one.
		{"exact", 20_000, 0, true, 0, 0, 1, 1, 900 * time.Millisecond},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var last time.Time
			count := 0
			r, err := run(context.Background(), file, tc.n, tc.maxAhead, tc.exact, func(ids []uid.ID) error {
				for _, id := range ids {
					if !unique.Add(int64(id)) {
						t.Fatalf("%v came twice", id)
					}
					if at := format.Parse(id).Time; at.After(last) {
						last = at
					}
				}
				count += len(ids)
				return nil
			})
			t.Log(r)
			if err != nil {
				t.Fatal(err)
			}
			if r.count != tc.n || count != tc.n {
				t.Errorf("%d UIDs, and %d were stored; want %d", r.count, count, tc.n)
			}
			if r.ahead+r.took < tc.least || r.ahead > tc.most {
				t.Errorf("%v ahead after %v, want %v to %v", r.ahead, r.took, tc.least, tc.most)
			}
			if ahead := time.Until(last); ahead > tc.most {
				t.Errorf("the furthest UID is %v ahead after the run, want %v at most", ahead, tc.most)
			}
			if r.workerIDs < tc.leastIDs && r.took < 20*time.Second || r.workerIDs > tc.mostID { // a slow machine needs fewer
				t.Errorf("%d worker IDs, want %d to %d", r.workerIDs, tc.leastIDs, tc.mostID)
			}
			if r.took < tc.atLeast {
				t.Errorf("took %v, want %v at least", r.took, tc.atLeast)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	leaktest.Check(t)
	file := filepath.Join(t.TempDir(), "worker")
	ctx := context.Background()
	nothing := func([]uid.ID) error { return nil }
	if _, err := run(ctx, "", 1, 0, false, nothing); err == nil || !strings.Contains(err.Error(), "-worker-file must name a file") {
		t.Errorf("without a worker file: %v", err)
	}
	if _, err := run(ctx, file, 1, time.Second, false, nothing); !errors.Is(err, uid.ErrOption) {
		t.Errorf("with a bound that is too low: %v", err)
	}
	full := errors.New("the disk is full")
	if r, err := run(ctx, file, 5000, 0, false, func([]uid.ID) error { return full }); !errors.Is(err, full) || r.count != 1000 {
		t.Errorf("with a store that fails: %v, %v", r, err)
	}
	// A million exact UIDs take two minutes; the context ends that.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	first := func([]uid.ID) error { cancel(); return nil }
	if r, err := run(ctx, file, 1_000_000, 0, true, first); !errors.Is(err, context.Canceled) || r.count == 0 || r.count == 1_000_000 {
		t.Errorf("with a context that ends: %v, %v", r, err)
	}
}

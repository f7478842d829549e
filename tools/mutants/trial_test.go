package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// scriptedTrial returns a trial whose program ends, in its first runs, as is said: "pass", "fail", "crash", "hang" or "both". After that, it
// passes. arguments returns the arguments of its runs.
func scriptedTrial(t *testing.T, endings ...string) (trial *trial, arguments func() []string) {
	t.Helper()
	dir := t.TempDir()
	script := `#!/bin/sh
cd "` + dir + `"
echo "$* $MUTANT_NUMBER" >>runs
case $(sed -n "$(wc -l <runs)p" endings) in
fail) echo '--- FAIL: TestA (0.00s)'; exit 1 ;;
crash) echo 'fatal error: all goroutines are asleep'; exit 2 ;;
both) printf -- '--- FAIL: TestA (0.00s)\npanic: test timed out after 1s\n\trunning tests:\n\t\tTestB (1s)\n'; exit 2 ;;
hang) printf 'panic: test timed out after 1s\n\trunning tests:\n\t\tTestB (1s)\n'; exit 2 ;;
esac
`
	for name, text := range map[string]string{"program": script, "endings": strings.Join(endings, "\n") + "\n", "runs": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	trial = trialOf(program{filepath.Join(dir, "program"), dir})
	return trial, func() []string {
		text, err := os.ReadFile(filepath.Join(dir, "runs"))
		if err != nil {
			t.Fatal(err)
		}
		return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	}
}

// trialOf returns a trial of four tests.
func trialOf(p program) *trial {
	test := func(name string, took time.Duration, reached ...int) *measuredTest {
		m := &measuredTest{name, took, map[int]bool{}}
		for _, n := range reached {
			m.reached[n] = true
		}
		return m
	}
	return &trial{program: p, patience: time.Minute, together: 3 * time.Second, tests: []*measuredTest{
		test("TestA", 100*time.Millisecond, 1, 2), test("TestB", 200*time.Millisecond, 1), test("TestC", time.Second, 1, 3), test("TestD", 2*time.Second),
	}}
}

// A failure and a hang count if they happen again.
func TestTry(t *testing.T) {
	for name, tt := range map[string]struct {
		endings  []string
		want     string
		by, once string
		runs     int
	}{
		"passes":               {nil, lived, "", "", 3},
		"fails":                {[]string{"fail", "fail"}, killed, "TestA", "", 2},
		"crashes":              {[]string{"crash", "crash"}, killed, "", "", 2},
		"a long test fails":    {[]string{"pass", "fail", "fail"}, killed, "TestA", "", 3},
		"all together fail":    {[]string{"pass", "pass", "fail", "fail"}, killed, "TestA", "", 4},
		"fails now and then":   {[]string{"fail", "pass", "pass", "fail"}, killed, "TestA", "", 4},
		"fails once":           {[]string{"fail"}, lived, "", "TestA", 6},
		"two fail once":        {[]string{"fail", "pass", "pass", "pass", "fail"}, lived, "", "TestA TestA", 9},
		"hangs":                {[]string{"hang", "hang"}, timedOut, "TestB", "", 2},
		"fails and hangs":      {[]string{"both", "fail"}, killed, "TestA", "", 2},
		"was slow":             {[]string{"hang", "pass"}, lived, "", "TestB", 4},
		"was slow, then fails": {[]string{"hang", "fail"}, killed, "TestA", "", 2},
	} {
		trial, arguments := scriptedTrial(t, tt.endings...)
		v, err := trial.try(1)
		if err != nil || v.status != tt.want || strings.Join(v.by, " ") != tt.by || strings.Join(v.once, " ") != tt.once {
			t.Errorf("%s: %+v, %v; want %s by %q, once %q", name, v, err, tt.want, tt.by, tt.once)
		}
		if got := arguments(); len(got) != tt.runs {
			t.Errorf("%s: %d runs, want %d:\n%s", name, len(got), tt.runs, strings.Join(got, "\n"))
		}
	}
}

// Only tests that reach the change are run first, the shortest ones first, and then all. What failed is run again alone, and what hung
// has three times the limit.
func TestTryRunsFewTests(t *testing.T) {
	run := func(tests, limit, number string) string {
		return "-test.short -test.failfast -test.paniconexit0 -test.run " + tests + " -test.timeout " + limit + number
	}
	for name, tt := range map[string]struct {
		number  int
		endings []string
		want    []string
	}{
		"passes":  {1, nil, []string{run("^(TestA|TestB)$", "1m1.5s", " 1"), run("^(TestC)$", "1m5s", " 1"), run(".", "1m15s", " 1")}},
		"fails":   {1, []string{"fail", "fail"}, []string{run("^(TestA|TestB)$", "1m1.5s", " 1"), run("^(TestA)$", "1m0.5s", " 1")}},
		"hangs":   {1, []string{"hang", "hang"}, []string{run("^(TestA|TestB)$", "1m1.5s", " 1"), run("^(TestB)$", "3m3s", " 1")}},
		"crashes": {2, []string{"crash", "crash"}, []string{run("^(TestA)$", "1m0.5s", " 2"), run("^(TestA)$", "1m0.5s", " 2")}},
		"no test": {4, nil, []string{run(".", "1m15s", " 4")}},
		"alone":   {0, nil, []string{run("^(TestA|TestB)$", "1m1.5s", " "), run("^(TestC)$", "1m5s", " "), run("^(TestD)$", "1m10s", " "), run(".", "1m15s", " ")}},
	} {
		trial, arguments := scriptedTrial(t, tt.endings...)
		if _, err := trial.try(tt.number); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := arguments(); !slices.Equal(got, tt.want) {
			t.Errorf("%s:\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
		}
	}
}

// A program whose tests fail without a change, alone or together, is not used.
func TestMeasure(t *testing.T) {
	for n := range 2*measurements + 1 {
		endings := slices.Repeat([]string{"pass"}, 2*measurements+1)
		endings[n] = "fail"
		trial, arguments := scriptedTrial(t, endings...)
		trial.tests = trial.tests[:1]
		err := trial.measure(1)
		switch {
		case n < 2*measurements && (err == nil || !strings.Contains(err.Error(), "must pass without a change, but failed:\n--- FAIL: TestA")):
			t.Errorf("the run %d fails: %v", n, err)
		case n == 2*measurements && (err != nil || len(arguments()) != n):
			t.Errorf("%d runs, %v", len(arguments()), err)
		}
	}
}

// After an error no call begins.
func TestConcurrently(t *testing.T) {
	var calls atomic.Int32
	fault := errors.New("fault")
	if err := concurrently(1, 9, func(i int) error {
		calls.Add(1)
		if i == 4 {
			return fault
		}
		return nil
	}); err != fault || calls.Load() != 5 {
		t.Errorf("%d calls, error %v", calls.Load(), err)
	}
	calls.Store(0)
	// All calls are made, and three at the same time: each waits for two others.
	arrived := make(chan bool)
	if err := concurrently(3, 2, func(i int) error {
		calls.Add(1)
		if i == 0 {
			arrived <- true
		} else {
			<-arrived
		}
		return nil
	}); err != nil || calls.Load() != 2 {
		t.Errorf("%d calls, error %v", calls.Load(), err)
	}
}

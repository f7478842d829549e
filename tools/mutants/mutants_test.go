package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const sample = `package p

const limit = 2 * second

type table [4 + 1]int

func (r *Ring) f(n int) (x int) {
	x++
	switch {
	case n > 1 &&
		n < 3:
		return -n
	case n == 7:
	}
	select {
	case <-after(3 * second):
	}
	return x - 1
}

func (l List[T]) g() bool {
	switch {
	case l.a < 1:
	}
	return false
}
`

// at returns the line and the column of a text in the sample.
func at(t *testing.T, text string) (line, column int) {
	t.Helper()
	n := strings.Index(sample, text)
	if n < 0 {
		t.Fatalf("the sample does not contain %q", text)
	}
	before := sample[:n]
	return strings.Count(before, "\n") + 1, n - strings.LastIndex(before, "\n")
}

// A change is described by what contains it and by the whole expression, without line numbers.
func TestDescribe(t *testing.T) {
	s, err := parseSource("p.go", []byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	for operator, want := range map[string][2]string{
		"* second\n":   {"limit", "2 * second"},
		"+ 1]":         {"table", "4 + 1"},
		"++":           {"(*Ring).f", "x++"},
		"> 1":          {"(*Ring).f", "n > 1"},
		"&&":           {"(*Ring).f", "n > 1 && n < 3"},
		"-n":           {"(*Ring).f", "-n"},
		"* second)":    {"(*Ring).f", "3 * second"},
		"- 1":          {"(*Ring).f", "x - 1"},
		"< 1":          {"List[T].g", "l.a < 1"},
		"switch":       {},
		"const limit ": {},
	} {
		line, column := at(t, operator)
		if function, expr := s.describe(line, column); function != want[0] || expr != want[1] {
			t.Errorf("at %q: %q, %q; want %q", operator, function, expr, want)
		}
	}
}

// The expressions behind case are covered if their statement is, and what is declared outside of functions is.
func TestCompleteProfile(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module example.org/m\n\ngo 1.26\n")
	write("p/p.go", sample)
	write("p/constants.go", "package p\n\nconst a = 1 + 2\n")
	write("p/p_test.go", "package p\n\nvar b = 1\n")
	write("p/other.go", "//go:build never\n\npackage p\n\nconst c = 1\n")
	was := "mode: set\nexample.org/m/p/p.go:8.2,9.9 1 1\nexample.org/m/p/p.go:12.3,12.12 1 1\nexample.org/m/p/p.go:21.35,22.9 1 0\n"
	write("profile", was)
	if err := completeProfile("profile"); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("profile")
	if err != nil {
		t.Fatal(err)
	}
	added, ok := strings.CutPrefix(string(text), was)
	if !ok {
		t.Fatalf("the profile was changed: %s", text)
	}
	position := func(text string, more int) string {
		line, column := at(t, text)
		return strconv.Itoa(line) + "." + strconv.Itoa(column+more)
	}
	want := []string{
		"example.org/m/p/constants.go:3.1,3.16 1 1",
		"example.org/m/p/p.go:" + position("const limit", 0) + "," + position("second\n", 6) + " 1 1",
		"example.org/m/p/p.go:" + position("type table", 0) + "," + position("]int", 4) + " 1 1",
		"example.org/m/p/p.go:" + position("case n > 1", 0) + "," + position("3:", 1) + " 1 1",
		"example.org/m/p/p.go:" + position("case n == 7", 0) + "," + position("7:", 1) + " 1 1",
	}
	slices.Sort(want)
	if got := slices.Sorted(strings.SplitSeq(strings.TrimSpace(added), "\n")); !slices.Equal(got, want) {
		t.Errorf("added:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestParseSurvivors(t *testing.T) {
	good := "# a comment\n\nuid percpu/a.go (*Ring).f: CONDITIONALS_BOUNDARY 'x: 'a' – b' – the same for x – that is it\n"
	list, err := parseSurvivors(good)
	want := survivor{"uid", "percpu/a.go", "(*Ring).f", "CONDITIONALS_BOUNDARY", "x: 'a' – b", "the same for x – that is it"}
	if err != nil || len(list) != 1 || list[0] != want {
		t.Errorf("parseSurvivors() = %v, %v; want %v", list, err, want)
	}
	if got := want.String(); !strings.Contains(good, got+"\n") {
		t.Errorf("it is listed as %q", got)
	}
	for _, bad := range []string{
		"uid a.go f CONDITIONALS_BOUNDARY 'a' – reason", "uid a.go f: CONDITIONALS_BOUNDARY 'a'", "uid a.go f: CONDITIONALS_BOUNDARY 'a' – ?",
		"a.go f: CONDITIONALS_BOUNDARY 'a' – reason", "uid a.go f: lower 'a' – reason",
	} {
		if list, err := parseSurvivors(good + bad); err == nil || !strings.Contains(err.Error(), "line 4") {
			t.Errorf("parseSurvivors(%q) = %v, %v; want an error", bad, list, err)
		}
	}
}

// Each entry of the list stands for one mutant. A survivor without an entry, an entry without a survivor, and too low a percentage
// are failures.
func TestJudge(t *testing.T) {
	key := survivor{pkg: "p", file: "a.go", function: "f", operator: "OP", expr: "a < b"}
	entry := key
	entry.reason = "it is equal"
	mutants := func(statuses map[string]int) (all []mutant) {
		for _, status := range slices.Sorted(maps.Keys(statuses)) {
			for range statuses[status] {
				all = append(all, mutant{survivor: key, status: status})
			}
		}
		return all
	}
	other := entry
	other.pkg = "q"
	for name, tt := range map[string]struct {
		found  map[string]int
		listed []survivor
		row    string
		text   string // what is printed, if all is not as it must be
	}{
		"all killed":          {map[string]int{"KILLED": 9, "TIMED OUT": 1, "NOT VIABLE": 5}, []survivor{other}, "| p | 10 | 10 | 0 | 0 | 100.0 | 100.0 |", ""},
		"listed":              {map[string]int{"KILLED": 97, "LIVED": 2, "NOT COVERED": 1}, []survivor{entry, entry}, "| p | 100 | 97 | 2 | 1 | 98.0 | 99.0 |", ""},
		"not listed":          {map[string]int{"KILLED": 98, "LIVED": 2}, []survivor{entry}, "| p | 100 | 98 | 2 | 0 | 98.0 | 100.0 |", "SURVIVED, not listed: p a.go f: OP 'a < b'"},
		"no such mutant":      {map[string]int{"KILLED": 98, "LIVED": 1}, []survivor{entry, entry}, "| p | 99 | 98 | 1 | 0 | 99.0 | 100.0 |", "listed, but no such mutant lives: p a.go f"},
		"the least":           {map[string]int{"KILLED": 97, "LIVED": 3}, []survivor{entry, entry, entry}, "| p | 100 | 97 | 3 | 0 | 97.0 | 100.0 |", ""},
		"too few are killed":  {map[string]int{"KILLED": 96, "LIVED": 4}, []survivor{entry, entry, entry, entry}, "| p | 100 | 96 | 4 | 0 | 96.0 | 100.0 |", "must be at least 97 % each"},
		"too few are covered": {map[string]int{"KILLED": 96, "NOT COVERED": 4}, nil, "| p | 100 | 96 | 0 | 4 | 100.0 | 96.0 |", "must be at least 97 % each"},
	} {
		var out strings.Builder
		row, ok := judge(&out, "p", mutants(tt.found), tt.listed)
		if row != tt.row || ok != (tt.text == "") || !strings.Contains(out.String(), tt.text) {
			t.Errorf("%s: %s, %v, with the output\n%s", name, row, ok, out.String())
		}
	}
}

// The list is valid, and has only packages and files that exist.
func TestSurvivorsOfThisModule(t *testing.T) {
	text, err := os.ReadFile("../../proof/survivors.txt")
	if err != nil {
		t.Fatal(err)
	}
	list, err := parseSurvivors(string(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list {
		if _, err := os.Stat(filepath.Join("../..", s.pkg, s.file)); err != nil {
			t.Errorf("%v: %v", s, err)
		}
	}
}

// The command go ends with 2 if the package does not compile, and with 1 if a test fails.
func TestGoCommand(t *testing.T) {
	// A script stands for the real command.
	script := filepath.Join(t.TempDir(), "go")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n[ \"$2\" = -vet=off ] || exit 7\necho \"$5\"\nexit \"$6\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv(realGoVariable, script)
	for _, tt := range []struct {
		prints, ends string
		want         int
	}{{"ok", "0", 0}, {"FAIL p", "1", 1}, {"FAIL p [build failed]", "1", 2}, {"[build failed]", "0", 0}} {
		if got := goCommand([]string{"test", "-timeout", "1s", tt.prints, tt.ends}); got != tt.want {
			t.Errorf("%v: status %d, want %d", tt, got, tt.want)
		}
	}
}

// A conformance suite below a package is changed only if it is named.
func TestConformanceSuitesAreTests(t *testing.T) {
	for _, c := range []struct {
		files, file string
		want        bool
	}{
		{"", "slotfile.go", true}, {"", "assigntest/memory.go", false}, {"", "percpu/percpu.go", true}, {"", "contest.go", true},
		{"slotfile.go,assigntest/memory.go", "assigntest/memory.go", true}, {"slotfile.go", "assigntest/memory.go", false}, {"slotfile.go", "file.go", false},
	} {
		if got := (runner{files: c.files}).changes(c.file); got != c.want {
			t.Errorf("with the files %q, %s is changed: %v, want %v", c.files, c.file, got, c.want)
		}
	}
}

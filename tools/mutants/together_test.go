package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const sampleDirectory = "p"

// sampleMutants returns all mutants of the sample, as gremlins would list them, and its source.
func sampleMutants(t *testing.T) (mutants []*mutant, s *source) {
	t.Helper()
	root := t.TempDir()
	for to, from := range map[string]string{sampleDirectory: "testdata/sample", "internal/mutantchoice": "choice"} {
		if err := os.CopyFS(filepath.Join(root, to), os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "go.mod"), []byte("module github.com/ringuid/ringuid\n\ngo 1.25\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Chdir(root)
	sources, err := readSources(sampleDirectory)
	if err != nil {
		t.Fatal(err)
	}
	s = sources["sample.go"]
	ast.Inspect(s.file, func(node ast.Node) bool {
		pos, from := operatorOf(node)
		for operator, to := range replacements {
			if pos.IsValid() && to[from] != 0 {
				p := s.fset.Position(pos)
				m := &mutant{survivor{pkg: sampleDirectory, file: "sample.go", operator: operator}, p.Line, p.Column, runnable}
				m.function, _ = s.describe(p.Line, p.Column)
				// gremlins does not see what a child process does.
				if m.function == "child" || m.function == "nobody" {
					m.status = notCovered
				}
				m.expr = to[from].String()
				mutants = append(mutants, m)
			}
		}
		return true
	})
	slices.SortFunc(mutants, func(a, b *mutant) int {
		return cmp.Or(cmp.Compare(a.line, b.line), cmp.Compare(a.column, b.column), cmp.Compare(a.operator, b.operator))
	})
	return mutants, s
}

// The comments of the sample say what becomes of each mutant.
func TestTogether(t *testing.T) {
	if os.Getenv("RINGUID_FULL") == "" {
		t.Skip("it runs the tests of the sample hundreds of times; RINGUID_FULL is not set")
	}
	mutants, s := sampleMutants(t)
	var out strings.Builder
	same, err := together{workers: 2, patience: 10 * time.Second, sample: 2, out: &out}.run(sampleDirectory, mutants)
	if err != nil {
		t.Fatal(err)
	}
	if !same || strings.Count(out.String(), "\nsample: ") != 2 {
		t.Error("the sample has other results alone:", same)
	}
	found := map[int]string{}
	seen := map[[3]any]bool{}
	for _, m := range mutants {
		// Two kinds of mutants are the same change.
		key := [3]any{m.line, m.column, m.expr}
		if !seen[key] {
			found[m.line] += fmt.Sprintf(", %s %s", m.expr, m.status)
		}
		seen[key] = true
	}
	for n, line := range strings.Split(string(s.text), "\n") {
		_, want, _ := strings.Cut(line, " // ")
		if got := strings.TrimPrefix(found[n+1], ", "); got != want {
			t.Errorf("line %d: %s, want %s", n+1, got, want)
		}
	}
	if t.Failed() {
		t.Log(out.String())
	}
}

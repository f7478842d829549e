package readme

import (
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// testName is the name of a test in a text, and of its package if that stands before it.
var testName = regexp.MustCompile(`(?:([a-z]+): )?\b((?:Test|Fuzz|Benchmark|Example)[A-Z]\w*)`)

// testFunctions returns the tests of the repository, with the names of the directories that have them.
func testFunctions(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	for _, f := range goFiles(t, true) {
		for _, decl := range f.file.Decls {
			if d, ok := decl.(*ast.FuncDecl); ok && d.Recv == nil {
				found[d.Name.Name] = append(found[d.Name.Name], path.Base(path.Dir(f.path)))
			}
		}
	}
	return found
}

// Each test that the documentation names exists, in the package that stands before its name.
func TestNamedTestsExist(t *testing.T) {
	exists := testFunctions(t)
	named := 0
	for _, page := range pages(t) {
		for _, m := range testName.FindAllStringSubmatch(read(t, page), -1) {
			named++
			directory, name := m[1], m[2]
			if exists[name] == nil {
				t.Errorf("%s names the test %s, which does not exist", page, name)
			} else if directory != "" && !slices.Contains(exists[name], directory) {
				t.Errorf("%s names the test %s of %s; it is in %v", page, name, directory, exists[name])
			}
		}
	}
	if named < 80 {
		t.Errorf("the documentation names %d tests", named)
	}
}

// The tests of a row of section 8 or 9 are in the package that is named, or else in workerassign or a package that was a part of it.
func TestNamedTestsOfErrors(t *testing.T) {
	exists := testFunctions(t)
	rows := append(errorRows(t), tables(t, "doc/internals/design.md", "rule", "code (workerassign)")...)
	for _, row := range rows {
		cell := row[len(row)-1]
		if !testName.MatchString(cell) {
			t.Errorf("no test is named for %q", row[0])
		}
		for group := range strings.SplitSeq(cell, ";") {
			directories := []string{"workerassign", "recycled", "sqlstore", "filestore"}
			if before, _, found := strings.Cut(group, ": Test"); found {
				words := strings.Fields(before)
				directories = words[len(words)-1:]
			}
			for _, m := range testName.FindAllStringSubmatch(group, -1) {
				if !slices.ContainsFunc(exists[m[2]], func(d string) bool { return slices.Contains(directories, d) }) {
					t.Errorf("%q: the test %s is not in %v, but in %v", row[0], m[2], directories, exists[m[2]])
				}
			}
		}
	}
}

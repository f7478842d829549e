package readme

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// A sourceFile is a Go file of the repository, of any of its modules.
type sourceFile struct {
	path string
	file *ast.File
}

// sources returns all Go files of the repository.
var sources = sync.OnceValues(func() (files []sourceFile, err error) {
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "testdata" || strings.HasPrefix(entry.Name(), ".") && path != root):
			return fs.SkipDir
		case entry.IsDir() || filepath.Ext(path) != ".go":
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, path)
		files = append(files, sourceFile{filepath.ToSlash(relative), file})
		return err
	})
	return files, err
})

// goFiles returns the Go files of the repository: those of tests, or the others.
func goFiles(t *testing.T, tests bool) (found []sourceFile) {
	t.Helper()
	files, err := sources()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if strings.HasSuffix(f.path, "_test.go") == tests {
			found = append(found, f)
		}
	}
	if len(found) == 0 {
		t.Fatal("no Go files were found")
	}
	return found
}

var formatVerb = regexp.MustCompile(`%[-+# 0]*[0-9]*(\.[0-9]+)?[a-zA-Z]`)

// gap stands in a text of the documentation for what varies: a value, or a part that is left out.
const gap = "…"

// constantText returns the value of an expression of string literals, with a gap for everything else, and for
// each verb of a format.
func constantText(e ast.Expr) (text string, ok bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return formatVerb.ReplaceAllString(text, gap), err == nil && e.Kind == token.STRING
	case *ast.BinaryExpr:
		left, isLeft := constantText(e.X)
		right, isRight := constantText(e.Y)
		if e.Op != token.ADD || !isLeft && !isRight {
			return "", false
		}
		if !isLeft {
			left = gap
		}
		if !isRight {
			right = gap
		}
		return left + right, true
	}
	return "", false
}

// contains reports whether a text of the source contains one of the documentation, which may begin or end with a
// gap if it leaves something out.
func contains(source, doc string) bool {
	parts := strings.Split(doc, gap)
	if len(parts) == 1 {
		return source == doc
	}
	if !strings.HasPrefix(source, parts[0]) || !strings.HasSuffix(source, parts[len(parts)-1]) {
		return false
	}
	for _, part := range parts {
		_, rest, found := strings.Cut(source, part)
		if !found {
			return false
		}
		source = rest
	}
	return true
}

func TestContains(t *testing.T) {
	for _, tt := range []struct {
		source, doc string
		want        bool
	}{
		{"a: 5 is …; must be …", "a: 5 is …; must be …", true}, {"…: the pool has …", "the pool has …", false}, {"…: the pool has …", "…the pool has …", true},
		{"one; two", "one; …", true}, {"one; two", "one", false}, {"one; two", "two; …one", false}, {"one; two", "…two; one", false}, {"one", "", false}, {"one one", "one", false},
	} {
		if got := contains(tt.source, tt.doc); got != tt.want {
			t.Errorf("contains(%q, %q) = %v", tt.source, tt.doc, got)
		}
	}
}

var codeSpan = regexp.MustCompile("`([^`]+)`")

// codeSpans returns what a text has in backquotes.
func codeSpans(text string) (spans []string) {
	for _, m := range codeSpan.FindAllStringSubmatch(text, -1) {
		spans = append(spans, m[1])
	}
	return spans
}

// tables returns the rows of the tables of a page whose header begins with the given cells.
func tables(t *testing.T, page string, header ...string) (rows [][]string) {
	t.Helper()
	inside := false
	for line := range strings.Lines(read(t, page)) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") {
			inside = false
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		switch {
		case len(cells) >= len(header) && strings.Join(cells[:len(header)], "|") == strings.Join(header, "|"):
			inside = true
		case inside && !strings.HasPrefix(cells[0], "---"):
			rows = append(rows, cells)
		}
	}
	if len(rows) == 0 {
		t.Fatalf("%s has no table with the header %q", page, header)
	}
	return rows
}

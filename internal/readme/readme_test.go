// Package readme tests what the documentation shows: Go code, figures of layouts, and links.
package readme

import (
	"fmt"
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/ringuid/ringuid/bitsalloc"
	"github.com/ringuid/ringuid/internal/testkit/mariadbtest"
	"github.com/ringuid/ringuid/internal/testkit/testserver"
	"github.com/ringuid/ringuid/uid"
)

const root = "../.."

// read returns a file of the repository, with lines that end as on Unix.
func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(text), "\r\n", "\n")
}

// pages returns the pages of documentation.
func pages(t *testing.T) []string {
	t.Helper()
	pages := []string{"README.md", "CHANGELOG.md"}
	for _, directory := range []string{"doc", "doc/internals"} {
		found, err := filepath.Glob(filepath.Join(root, directory, "*.md"))
		if err != nil || len(found) == 0 {
			t.Fatalf("%d pages in %s: %v", len(found), directory, err)
		}
		for _, path := range found {
			pages = append(pages, directory+"/"+filepath.Base(path))
		}
	}
	return pages
}

var goBlock = regexp.MustCompile("(?ms)^```go\n(.*?)^```$")

// snippets returns the blocks of Go code of a page.
func snippets(t *testing.T, page string) (found []string) {
	t.Helper()
	text := read(t, page)
	for _, m := range goBlock.FindAllStringSubmatch(text, -1) {
		found = append(found, m[1])
	}
	if n := strings.Count(text, "```go"); n != len(found) {
		t.Fatalf("%s has %d openings of Go code, and %d blocks were found", page, n, len(found))
	}
	return found
}

// module makes a new module that requires this one, and nothing that the module cache does not have.
func module(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	here, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	_, requirements, ok := strings.Cut(read(t, "go.mod"), "\n")
	if !ok {
		t.Fatal("go.mod has one line")
	}
	mod := "module example.com/snippets\n" + requirements +
		"\nrequire github.com/ringuid/ringuid v0.0.0\nreplace github.com/ringuid/ringuid => " + fmt.Sprintf("%q", here) + "\n"
	write(t, filepath.Join(dir, "go.mod"), mod)
	write(t, filepath.Join(dir, "go.sum"), read(t, "go.sum"))
	return dir
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// command runs the go command in a directory, without the network.
func command(dir string, args ...string) (output string, err error) {
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOPROXY=off", "GOTOOLCHAIN=local", "GOWORK=off", "GOFLAGS="+os.Getenv("GOFLAGS")+" -mod=mod", "GO111MODULE=on")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// expected returns the output that a snippet states in a comment at its end.
func expected(snippet string) (output string, ok bool) {
	_, comment, ok := strings.Cut(snippet, "// Output:\n")
	var lines strings.Builder
	for line := range strings.Lines(comment) {
		if text, ok := strings.CutPrefix(strings.TrimSpace(line), "// "); ok {
			lines.WriteString(text + "\n")
		}
	}
	return lines.String(), ok
}

// Each block of Go code in the documentation is a whole file. It compiles in a new module, passes
// go vet, is formatted, and prints what it states. The go command is called once for all of them.
func TestSnippets(t *testing.T) {
	dir, programs := module(t), t.TempDir()
	files := map[string]string{}               // the text of each snippet, by the name of its package
	build := []string{"build", "-o", programs} // those that state what they print
	for _, page := range pages(t) {
		for i, snippet := range snippets(t, page) {
			name := fmt.Sprintf("%s-%d", strings.TrimSuffix(filepath.Base(page), ".md"), i+1)
			write(t, filepath.Join(dir, name, "main.go"), snippet)
			files[name] = snippet
			if _, ok := expected(snippet); ok {
				build = append(build, "./"+name)
			}
		}
	}
	if out, err := command(dir, "vet", "./..."); err != nil {
		t.Fatalf("go vet: %v\n%s", err, out)
	}
	if out, err := command(dir, build...); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	for name, snippet := range files {
		t.Run(name, func(t *testing.T) {
			if formatted, err := format.Source([]byte(snippet)); err != nil || string(formatted) != snippet {
				t.Errorf("%v; gofmt would change it to\n%s", err, formatted)
			}
			if want, ok := expected(snippet); ok {
				program := exec.Command(filepath.Join(programs, name))
				program.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "RINGUID_") }) // the tests have such variables
				if out, err := program.CombinedOutput(); err != nil || string(out) != want {
					t.Errorf("%v; it prints\n%s\nand states\n%s", err, out, want)
				}
			}
		})
	}
}

// The first snippet of the README can be used by any number of hosts as it is. Each snippet that
// cannot says so. The README is short.
func TestFirstSnippetIsForFleets(t *testing.T) {
	if all := snippets(t, "README.md"); len(all) == 0 || !strings.Contains(all[0], "NewDisposable(") || strings.Contains(all[0], "NewFile(") {
		t.Error("the first snippet does not take its worker ID from the table")
	}
	for _, page := range pages(t) {
		for i, snippet := range snippets(t, page) {
			for _, only := range []string{"NewFile(", "Static(", "filestore.New("} {
				if strings.Contains(snippet, only) && !strings.Contains(snippet, "ONE HOST ONLY") {
					t.Errorf("%s: snippet %d has %s and does not say that it is for one host only", page, i+1, only)
				}
			}
		}
	}
	if words := len(strings.Fields(read(t, "README.md"))); words > 1200 {
		t.Errorf("the README has %d words; must have at most 1,200", words)
	}
}

// The pages for users have at most 16,000 words in all, and each begins with a summary of at most 60. The bars of tables are no words.
func TestPagesAreShort(t *testing.T) {
	words := func(text string) (n int) {
		for _, field := range strings.Fields(text) {
			if strings.ContainsFunc(field, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
				n++
			}
		}
		return n
	}
	total, count := 0, 0
	for _, page := range pages(t) {
		if filepath.Dir(page) != "doc" {
			continue
		}
		text := read(t, page)
		total, count = total+words(text), count+1
		_, rest, _ := strings.Cut(text, "\n\n")
		summary, _, _ := strings.Cut(rest, "\n\n")
		if n := words(summary); !strings.HasPrefix(summary, "In short: ") || n > 60 {
			t.Errorf("%s begins with %d words, %q; want \"In short: \", at most 60", page, n, summary)
		}
	}
	if total > 16_000 || count < 10 {
		t.Errorf("%d pages have %d words; must have at most 16,000", count, total)
	}
}

// The first snippet works with the table of schema.sql: each run has another worker ID.
func TestFirstSnippetRuns(t *testing.T) {
	db, dsn := mariadbtest.Connect(t)
	testserver.RunScript(t, db, read(t, "schema.sql"))
	dir := module(t)
	write(t, filepath.Join(dir, "main.go"), snippets(t, "README.md")[0])
	t.Setenv("DSN", dsn)
	for _, worker := range []string{`"workerId":"1"`, `"workerId":"2"`} {
		if out, err := command(dir, "run", "."); err != nil || !strings.Contains(out, worker) {
			t.Errorf("%v, want %s:\n%s", err, worker, out)
		}
	}
}

var layoutRow = regexp.MustCompile(`(?m)^\| .*?(1-[0-9]+-[0-9]+-[0-9]+).*? \| ([0-9-]{10}) \| ([0-9,]+) \| ([0-9,]+) \|`)

// The table of layouts states what bitsalloc computes.
func TestLayouts(t *testing.T) {
	rows := layoutRow.FindAllStringSubmatch(read(t, "doc/layout.md"), -1)
	if len(rows) < 2 {
		t.Fatalf("%d rows were found", len(rows))
	}
	for _, row := range rows {
		layout, err := bitsalloc.ParseLayout(row[1])
		if err != nil {
			t.Error(err)
			continue
		}
		f, err := uid.NewFormat(uid.WithLayout(layout))
		if err != nil {
			t.Error(err)
			continue
		}
		end, workers, rate := f.End().Format(time.DateOnly), fmt.Sprint(layout.WorkerStarts()), fmt.Sprint(layout.MaxSequence()+1)
		if row[2] != end || strings.ReplaceAll(row[3], ",", "") != workers || strings.ReplaceAll(row[4], ",", "") != rate {
			t.Errorf("%s\nis %v: %s, %s worker IDs, %s UIDs a second", row[0], layout, end, workers, rate)
		}
	}
}

// The README's table of forms shows the forms of one ID.
func TestForms(t *testing.T) {
	id := uid.MustParse("962392666547429376")
	f, err := uid.NewFormat(uid.WithJavaScriptLayout())
	if err != nil {
		t.Fatal(err)
	}
	number, err := f.Compose(time.Date(2026, 11, 21, 4, 21, 53, 0, time.UTC), 1, 0) // the parts of the other forms
	if err != nil {
		t.Fatal(err)
	}
	rows := tables(t, "README.md", "form", "method, field type", "example")
	for _, row := range rows {
		want := map[string]string{"decimal": id.String(), "base 32": id.Base32(), "base 62": id.Base62(), "a JSON number": number.String()}[row[0]]
		if row[2] != "`"+want+"`" {
			t.Errorf("the %s form is %s, not %s", row[0], want, row[2])
		}
	}
	if len(rows) != 4 {
		t.Errorf("%d forms", len(rows))
	}
}

var (
	link    = regexp.MustCompile(`\]\(([^)]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
)

// anchor is how a page names a heading in links to it.
func anchor(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
			return unicode.ToLower(r)
		}
		return -1
	}, heading)
}

// Links within the repository lead to files and headings that exist.
func TestLinks(t *testing.T) {
	for _, page := range pages(t) {
		for _, m := range link.FindAllStringSubmatch(read(t, page), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			path, fragment, _ := strings.Cut(m[1], "#")
			target := page
			if path != "" {
				target = filepath.ToSlash(filepath.Join(filepath.Dir(page), path))
			}
			text := read(t, target)
			if fragment == "" {
				continue
			}
			found := false
			for _, h := range heading.FindAllStringSubmatch(text, -1) {
				found = found || anchor(h[1]) == fragment
			}
			if !found {
				t.Errorf("%s: %s has no heading for #%s", page, target, fragment)
			}
		}
	}
}

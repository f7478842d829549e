package readme

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A logCall is a call of Log in the source.
type logCall struct {
	path, text string
	level      string // "" if it is not a constant
}

// logCalls returns the calls of Log with a level.
func logCalls(t *testing.T) (calls []logCall) {
	t.Helper()
	for _, f := range goFiles(t, false) {
		constants := map[string]string{}
		for _, other := range goFiles(t, false) {
			if !sameDirectory(f.path, other.path) {
				continue
			}
			ast.Inspect(other.file, func(n ast.Node) bool {
				if v, ok := n.(*ast.ValueSpec); ok && len(v.Names) == 1 && len(v.Values) == 1 {
					if text, ok := constantText(v.Values[0]); ok {
						constants[v.Names[0].Name] = text
					}
				}
				return true
			})
		}
		ast.Inspect(f.file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) < 2 {
				return true
			}
			method, isMethod := call.Fun.(*ast.SelectorExpr)
			level, isLevel := levelOf(call.Args[0])
			if !isMethod || method.Sel.Name != "Log" || !isLevel {
				return true
			}
			text, ok := constantText(call.Args[1])
			if name, isName := call.Args[1].(*ast.Ident); isName {
				text, ok = constants[name.Name]
			}
			if !ok {
				t.Errorf("%s: the text of a log record is not a constant", f.path)
			}
			calls = append(calls, logCall{f.path, text, level})
			return true
		})
	}
	return calls
}

// levelOf returns the level of a call of Log; "" if that is a variable named level.
func levelOf(e ast.Expr) (level string, ok bool) {
	if name, isName := e.(*ast.Ident); isName && name.Name == "level" {
		return "", true
	}
	s, isConstant := e.(*ast.SelectorExpr)
	if !isConstant || !strings.HasPrefix(s.Sel.Name, "Level") {
		return "", false
	}
	return strings.ToUpper(strings.TrimPrefix(s.Sel.Name, "Level")), true
}

// sameDirectory reports whether two paths with slashes have the same directory.
func sameDirectory(a, b string) bool {
	return a[:strings.LastIndexByte(a, '/')+1] == b[:strings.LastIndexByte(b, '/')+1]
}

// The runbook has an entry of at most 120 words for each alert, and the texts in its headings are those of the library, or, after the
// name of a store, of that.
func TestRunbook(t *testing.T) {
	texts, entries := sourceTexts(t), map[string]bool{}
	for _, entry := range strings.Split(read(t, "doc/runbook.md"), "\n### ")[1:] {
		heading, body, _ := strings.Cut(entry, "\n")
		entries[heading] = true
		if n := len(strings.Fields(body)); n > 120 {
			t.Errorf("%s: %d words; must be at most 120", heading, n)
		}
		for _, text := range codeSpans(heading) {
			if !strings.Contains(text, " ") || strings.HasPrefix(heading, "etcd:") {
				continue
			}
			if !slices.ContainsFunc(texts, func(s string) bool { return contains(s, gap+strings.Trim(text, gap+" ")+gap) }) {
				t.Errorf("nothing in the source has the text %q", text)
			}
		}
	}
	alerts := regexp.MustCompile(`- alert: (\w+)`).FindAllStringSubmatch(read(t, "metrics/promcollect/alerts.yml"), -1)
	for _, alert := range alerts {
		if !entries[alert[1]] {
			t.Errorf("there is no entry for the alert %s", alert[1])
		}
	}
	if len(alerts) < 10 || len(entries) < len(alerts)+20 {
		t.Errorf("%d alerts, %d entries", len(alerts), len(entries))
	}
}

// The runbook has each warning and each error that a generator, an assigner, a store, a sequence or the server logs, and each error
// value that the former return. What it quotes as such a text is one.
func TestRunbookIsComplete(t *testing.T) {
	spans, texts := codeSpans(read(t, "doc/runbook.md")), sourceTexts(t)
	const onlyPut = "ringbuffer: the ring is full, a run was discarded" // of rings without a provider, which only programs fill
	records, values := 0, 0
	logged := func(text string) {
		records++
		if !slices.ContainsFunc(spans, func(span string) bool { return strings.Contains(span, " ") && contains(text, span) }) {
			t.Errorf("there is no entry for the log record %q", text)
		}
	}
	for _, c := range logCalls(t) {
		top, _, _ := strings.Cut(c.path, "/")
		library := slices.Contains([]string{"uid", "workerassign", "segment", "ringbuffer", "stores", "internal"}, top) && !strings.Contains(c.path, "testkit/")
		if !library || !slices.Contains([]string{"WARN", "ERROR", ""}, c.level) || c.text == onlyPut {
			continue
		}
		logged(c.text)
	}
	for _, f := range goFiles(t, false) {
		if strings.HasPrefix(f.path, "cmd/ringuid/internal/server/") || f.path == "cmd/ringuid/internal/cli/serve.go" {
			ast.Inspect(f.file, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok && len(call.Args) > 0 {
					method, _ := call.Fun.(*ast.SelectorExpr)
					if text, ok := constantText(call.Args[0]); ok && method != nil && (method.Sel.Name == "Warn" || method.Sel.Name == "Error") {
						logged(text)
					}
				}
				return true
			})
		}
		if !slices.Contains([]string{"uid/", "workerassign/", "workerassign/recycled/", "segment/"}, f.path[:strings.LastIndexByte(f.path, '/')+1]) {
			continue
		}
		for _, decl := range f.file.Decls {
			d, ok := decl.(*ast.GenDecl)
			if !ok || d.Tok != token.VAR {
				continue
			}
			for _, spec := range d.Specs {
				if name := spec.(*ast.ValueSpec).Names[0].Name; strings.HasPrefix(name, "Err") {
					values++
					if !slices.Contains(spans, name) {
						t.Errorf("there is no entry for the error value %s of %s", name, f.path)
					}
				}
			}
		}
	}
	quoted := regexp.MustCompile(`^(uid|ringbuffer|workerassign|recycled|filestore|segment): `)
	for _, span := range spans {
		if quoted.MatchString(span) && !slices.ContainsFunc(texts, func(s string) bool { return contains(s, span) }) {
			t.Errorf("nothing in the source has the text %q", span)
		}
	}
	if records < 29 || values < 40 {
		t.Errorf("%d log records, %d error values", records, values)
	}
}

// sourceTexts returns the constant texts of the source, with gaps for values.
func sourceTexts(t *testing.T) (texts []string) {
	t.Helper()
	for _, f := range goFiles(t, false) {
		ast.Inspect(f.file, func(n ast.Node) bool {
			if e, ok := n.(ast.Expr); ok {
				if text, ok := constantText(e); ok {
					texts = append(texts, text)
				}
			}
			return true
		})
	}
	return texts
}

// errorHeader is the header of the tables of errors in doc/internals/design.md, section 9.
var errorHeader = []string{"input or fault", "error", "text after it", "what to do", "test"}

// errorRows returns the rows of the tables of errors.
func errorRows(t *testing.T) [][]string { return tables(t, "doc/internals/design.md", errorHeader...) }

// The texts of errors in doc/internals/design.md, section 9, are those of the source, and the errors are exported by
// a package.
func TestErrorTextsExist(t *testing.T) {
	texts := sourceTexts(t)
	exported := map[string]bool{}
	for _, f := range goFiles(t, false) {
		for _, decl := range f.file.Decls {
			if d, ok := decl.(*ast.GenDecl); ok {
				for _, spec := range d.Specs {
					switch s := spec.(type) {
					case *ast.ValueSpec:
						exported[f.file.Name.Name+"."+s.Names[0].Name] = true
					case *ast.TypeSpec:
						exported[f.file.Name.Name+"."+s.Name.Name] = true
					}
				}
			}
		}
	}
	for _, row := range errorRows(t) {
		for _, name := range codeSpans(row[1]) {
			name = strings.TrimPrefix(name, "*")
			if !strings.Contains(name, ".") {
				if name = "recycled." + name; !exported[name] {
					name = "workerassign." + strings.TrimPrefix(name, "recycled.")
				}
			}
			if !exported[name] && !strings.HasPrefix(name, "context.") {
				t.Errorf("%q: %s does not exist", row[0], name)
			}
		}
		for _, text := range codeSpans(row[2]) {
			if !slices.ContainsFunc(texts, func(s string) bool { return contains(s, gap+text+gap) }) {
				t.Errorf("%q: nothing in the source has the text %q", row[0], text)
			}
		}
	}
}

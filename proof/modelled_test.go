package proof

import (
	"bytes"
	"crypto/sha256"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write modelled.txt: the models were compared with the functions as they are now")

// modelledFile has a line for each function that a model stands for: package, function, checksum.
const modelledFile = "modelled.txt"

// The functions that the models stand for are those that the models were compared with. Comments and the layout of the source
// make no difference.
func TestModelledFunctions(t *testing.T) {
	now := map[string]string{}
	models := map[string]string{} // which file names the function
	for _, file := range []string{"signal.pml", "ring.pml", "leases.pml", "slots.pml", "saved.pml"} {
		for _, name := range modelled(t, file) {
			sum, ok := checksums(t, strings.Fields(name)[0])[name]
			if !ok {
				t.Errorf("%s: there is no function %q: look at the model again", file, name)
			}
			now[name], models[name] = sum, file
		}
	}
	if *update {
		var b strings.Builder
		for _, name := range slices.Sorted(maps.Keys(now)) {
			fmt.Fprintln(&b, name, now[name])
		}
		if err := os.WriteFile(modelledFile, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(modelledFile)
	if err != nil {
		t.Fatal(err)
	}
	was := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if n := strings.LastIndexByte(line, ' '); n > 0 {
			was[line[:n]] = strings.TrimSpace(line[n:])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if was[name] != now[name] {
			t.Errorf("%s has changed, and %s stands for it: look at the model again. If it is still right, run: go test ./proof -run TestModelledFunctions -update", name, models[name])
		}
	}
	for name := range was {
		if now[name] == "" {
			t.Errorf("%s has %s, which no model names: run the test with -update", modelledFile, name)
		}
	}
}

// A function that changes has another checksum, and one whose comments change has not.
func TestChecksum(t *testing.T) {
	sum := func(source string) string {
		f, err := parser.ParseFile(token.NewFileSet(), "", "package p\n"+source, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		return checksum(f.Decls[0].(*ast.FuncDecl))
	}
	first := sum("func f() { a.Store(1); b.Store(2) }")
	if sum("// f does it.\nfunc f() {\n\ta.Store(1) // first\n\tb.Store(2)\n}") != first {
		t.Error("comments and layout change the checksum")
	}
	if sum("func f() { b.Store(2); a.Store(1) }") == first {
		t.Error("another order of stores has the same checksum")
	}
}

var modelledPattern = regexp.MustCompile(`(?s)Go: (ringbuffer|workerassign/recycled) (.*?)\*/`)

// modelled returns the functions that a model names, each with its package.
func modelled(t *testing.T, file string) (names []string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range modelledPattern.FindAllStringSubmatch(string(text), -1) {
		list := strings.NewReplacer("\n", " ", " * ", " ", " and ", " ", ",", " ").Replace(m[2])
		for name := range strings.FieldsSeq(list) {
			names = append(names, m[1]+" "+name)
		}
	}
	if len(names) == 0 {
		t.Errorf("%s names no function of Go", file)
	}
	return names
}

var packageSums = map[string]map[string]string{}

// checksums returns the checksums of the functions of a package. Each key is the package and the function's name.
func checksums(t *testing.T, pkg string) map[string]string {
	t.Helper()
	if sums := packageSums[pkg]; sums != nil {
		return sums
	}
	sums := map[string]string{}
	files, err := filepath.Glob(filepath.Join("..", pkg, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				sums[pkg+" "+functionName(f)] = checksum(f)
			}
		}
	}
	packageSums[pkg] = sums
	return sums
}

// functionName returns the name of a function with its receiver, as (*Ring).Take.
func functionName(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	switch r := f.Recv.List[0].Type.(type) {
	case *ast.StarExpr:
		return fmt.Sprintf("(*%s).%s", r.X, f.Name.Name)
	default:
		return fmt.Sprintf("%s.%s", r, f.Name.Name)
	}
}

// checksum returns the checksum of a function's source, without comments, in one layout.
func checksum(f *ast.FuncDecl) string {
	without := *f
	without.Doc = nil
	var b bytes.Buffer
	if err := printer.Fprint(&b, token.NewFileSet(), &without); err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%x", sha256.Sum256(b.Bytes()))[:12]
}

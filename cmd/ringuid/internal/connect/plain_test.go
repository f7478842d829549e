package connect_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/ringuid/ringuid/cmd/ringuid/internal/connect"
)

// goCall finds the name of an option or a constructor of the library.
var goCall = regexp.MustCompile(`\b(With|New)[A-Z]\w*`)

// onlyPrograms finds texts that only programs of users can cause: the command makes all values by their constructors, and sets no
// other options.
var onlyPrograms = regexp.MustCompile(`must be created by|create it with|WithVerification|WithMinWorkerID|use NewRecycled|WithNewFile|WithCreate|WithMaxTags`)

// What the stores of the command say has no names of Go in it: each text of the library is written in words of the command.
func TestPlain(t *testing.T) {
	const root = "../../../.."
	found := 0
	for _, directory := range []string{"workerassign", "segment", "stores/redisstore", "stores/etcdstore", "stores/zookeeperstore", "internal/sqlattempt"} {
		files, err := filepath.Glob(filepath.Join(root, directory, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", directory, len(files), err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			tree, err := parser.ParseFile(token.NewFileSet(), file, source, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(tree, func(n ast.Node) bool {
				literal, ok := n.(*ast.BasicLit)
				if !ok || literal.Kind != token.STRING {
					return true
				}
				text, err := strconv.Unquote(literal.Value)
				if err != nil {
					t.Fatal(err)
				}
				if !goCall.MatchString(text) || onlyPrograms.MatchString(text) {
					return true
				}
				found++
				if plain := connect.Plain(text); goCall.MatchString(plain) {
					t.Errorf("%s: %q\nis in words of the command %q; must not name what only programs call", file, text, plain)
				}
				return true
			})
		}
	}
	if found < 10 {
		t.Errorf("%d texts name an option; are they found?", found)
	}
	for text, want := range map[string]string{
		"sqlstore: table leaf_alloc: set the table's name by WithTagTable":     "by the parameter tag-table of the store",
		"workerassign: set the table's name by WithTable, or":                  "by the parameter table of the store, or",
		`start of a fleet, "ringuid pool create" (recycled.CreatePool) avoids`: `start of a fleet, "ringuid pool create" avoids`,
	} {
		if got := connect.Plain(text); !strings.Contains(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

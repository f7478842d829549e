// Package arrows tests that dependencies point in one direction only, as doc/design.md, section 3, shows
// them: between the packages of the module, and between the files of package uid.
package arrows

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/ringuid/ringuid/internal/needs"
)

const module = "github.com/ringuid/ringuid/"

// allowed lists, for each package, the packages of the module that it may import. A test may also
// import the packages of test support.
var allowed = map[string][]string{
	"bitsalloc":          nil,
	"internal/safelog":   nil,
	"workerassign":       {"internal/safelog"},
	"ringbuffer":         {"internal/safelog"},
	"internal/unitclock": {"bitsalloc"},
	"internal/leasing":   {"bitsalloc", "internal/safelog", "internal/unitclock", "workerassign"},
	"uid":                {"bitsalloc", "internal/leasing", "internal/safelog", "internal/unitclock", "ringbuffer", "workerassign"},
	"uid/percpu":         {"uid"},
}

// Each package imports only the packages below it.
func TestPackages(t *testing.T) {
	checked := 0
	for _, p := range list(t, "../../...") {
		name := strings.TrimPrefix(p.ImportPath, module)
		below, known := allowed[name]
		switch {
		case strings.HasPrefix(name, "examples/"): // users of the public packages
			for _, imported := range p.Imports {
				if strings.HasPrefix(imported, module+"internal/") {
					t.Errorf("%s imports %s, which is internal", name, imported)
				}
			}
			continue
		case !known && !strings.HasPrefix(name, "internal/"): // test support may import anything but is imported by tests only
			t.Errorf("package %s has no entry in allowed", name)
		case !known:
			continue
		}
		checked++
		for _, imported := range p.Imports {
			if imported, ok := strings.CutPrefix(imported, module); ok && !slices.Contains(below, imported) {
				t.Errorf("%s imports %s, which is not below it", name, imported)
			}
		}
	}
	if checked != len(allowed) {
		t.Errorf("%d packages were checked, want %d", checked, len(allowed))
	}
}

type listed struct {
	ImportPath, Dir, Export string
	GoFiles, Imports        []string
}

// list returns what the go command says about packages.
func list(t *testing.T, args ...string) []listed {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-json=ImportPath,Dir,Export,GoFiles,Imports"}, args...)...)
	out, err := cmd.Output()
	if errors.Is(err, exec.ErrNotFound) {
		needs.Missing(t, "the go command was not found")
	}
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var packages []listed
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := d.Decode(&p); err == io.EOF {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
}

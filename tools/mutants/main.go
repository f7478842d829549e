// Command mutants makes one small change after the other to a package, runs its tests, and compares the changes that no test noticed
// with a list. gremlins says which changes. By default, a package is compiled once, with all changes that can be chosen when the
// program runs; see together.go. With -unleash, gremlins tests them, and compiles the package for each. scripts/gremlins.sh builds
// both programs. The arguments are directories of packages. It is run in the root directory of the module.
//
// gremlins calls the command go, which it finds in PATH. Here that is this program under another name, see gocommand.go.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// threshold is the least percentage of killed and of covered mutants in each package.
const threshold = 97

func main() {
	if filepath.Base(os.Args[0]) == "go" {
		os.Exit(goCommand(os.Args[1:]))
	}
	var r runner
	flag.StringVar(&r.gremlins, "gremlins", "", "the program gremlins")
	flag.StringVar(&r.survivors, "survivors", "proof/survivors.txt", "the list of mutants that no test can notice")
	flag.StringVar(&r.files, "files", "", "files to change, with commas between them; all if empty")
	flag.IntVar(&r.workers, "workers", runtime.NumCPU(), "how many mutants are tested at the same time")
	flag.BoolVar(&r.unleashed, "unleash", false, "gremlins tests the mutants")
	flag.IntVar(&r.coefficient, "coefficient", 10, "with -unleash, how many times as long as with coverage the tests may take before they count as hanging")
	flag.IntVar(&r.sample, "sample", 0, "how many mutants, chosen at random, are tested a second time, each in a program of its own")
	flag.BoolVar(&r.verbose, "verbose", false, "print each mutant, and what noticed it")
	flag.Parse()
	ok, err := r.run(flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}

// runner is how gremlins is run.
type runner struct {
	gremlins, survivors, files   string
	coefficient, workers, sample int
	unleashed, verbose           bool
}

// run tests the mutants of packages and prints what was found. It reports whether all is as it must be.
func (r runner) run(packages []string) (ok bool, err error) {
	text, err := os.ReadFile(r.survivors)
	if err != nil {
		return false, err
	}
	listed, err := parseSurvivors(string(text))
	if err != nil {
		return false, fmt.Errorf("%s: %w", r.survivors, err)
	}
	ok = true
	var rows []string
	for _, name := range packages {
		name, began := filepath.ToSlash(filepath.Clean(name)), time.Now()
		sources, err := readSources(name) // now, because the files may change while gremlins runs
		if err != nil {
			return false, err
		}
		report, err := r.unleash(name, sources)
		if err != nil {
			return false, fmt.Errorf("gremlins in %s: %w", name, err)
		}
		found, err := describeAll(name, sources, report)
		if err != nil {
			return false, err
		}
		same, err := r.together(name, found)
		if err != nil {
			return false, err
		}
		if !same {
			ok = false
			fmt.Println("the sample has other results alone")
		}
		row, fine := judge(os.Stdout, name, found, r.only(listed))
		rows = append(rows, fmt.Sprintf("%s %.1f |", row, time.Since(began).Minutes()))
		ok = ok && fine
	}
	fmt.Printf("\n%s\n%s\n", tableHead, strings.Join(rows, "\n"))
	return ok, nil
}

// only returns the survivors of the files that are changed.
func (r runner) only(all []survivor) []survivor {
	return slices.DeleteFunc(slices.Clone(all), func(s survivor) bool { return !r.changes(s.file) })
}

// changes reports whether mutants of a file are tested. Those below a package that test it, such as a conformance suite in the
// directory assigntest, are not, unless they are named: they are tests.
func (r runner) changes(file string) bool {
	if r.files == "" {
		return !strings.HasSuffix(path.Dir(file), "test")
	}
	return slices.Contains(strings.Split(r.files, ","), file)
}

// together tests the mutants, unless gremlins has. It reports whether those of the sample have the same result alone.
func (r runner) together(name string, found []mutant) (same bool, err error) {
	if r.unleashed {
		return true, nil
	}
	groups := byDirectory(name, found)
	same = true
	for _, directory := range slices.Sorted(maps.Keys(groups)) {
		t := together{workers: r.workers, patience: 5 * time.Second, sample: r.sample, verbose: r.verbose, out: os.Stdout}
		ok, err := t.run(directory, groups[directory])
		if err != nil {
			return false, err
		}
		same = same && ok
	}
	return same, nil
}

// unleash runs gremlins for one package. Unless it tests the mutants, it only lists them, and says which are covered.
func (r runner) unleash(name string, sources map[string]*source) (report report, err error) {
	dir, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return report, err
	}
	defer os.RemoveAll(dir)
	realGo, err := exec.LookPath("go")
	if err != nil {
		return report, err
	}
	self, err := os.Executable()
	if err != nil {
		return report, err
	}
	if err := os.Symlink(self, filepath.Join(dir, "go")); err != nil {
		return report, err
	}
	if err := compileCovered(name); err != nil {
		return report, err
	}
	output := filepath.Join(dir, "report.json")
	args := []string{"unleash", "--workers", strconv.Itoa(r.workers), "--timeout-coefficient", strconv.Itoa(r.coefficient),
		"--output-statuses", "lt", "--output", output}
	if !r.unleashed {
		args = append(args, "--dry-run")
	}
	for file := range sources {
		if !r.changes(file) {
			args = append(args, "--exclude-files", "^"+strings.ReplaceAll(file, ".", `\.`)+"$")
		}
	}
	fmt.Printf("\n== %s\n", name)
	cmd := exec.Command(r.gremlins, append(args, "./"+name)...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), "GOFLAGS="+strings.TrimSpace(os.Getenv("GOFLAGS")+" -short=true"), realGoVariable+"="+realGo,
		"PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	if err := cmd.Run(); err != nil {
		return report, err
	}
	text, err := os.ReadFile(output)
	if err != nil {
		return report, err
	}
	return report, json.Unmarshal(text, &report)
}

// compileCovered compiles what the measurement of the coverage requires, so that gremlins measures only how long the tests take.
func compileCovered(name string) error {
	cmd := exec.Command("go", "test", "-cover", "-vet=off", "-run", "^$", "./"+name+"/...")
	cmd.Stderr = os.Stderr
	return cmd.Run()
}

// report is the part of what gremlins writes that is used here.
type report struct {
	Files []struct {
		Name      string `json:"file_name"`
		Mutations []struct {
			Type   string `json:"type"`
			Status string `json:"status"`
			Line   int    `json:"line"`
			Column int    `json:"column"`
		} `json:"mutations"`
	} `json:"files"`
}

const tableHead = `| package | mutants | killed | lived | not covered | killed, in % | covered, in % | minutes |
|---|---:|---:|---:|---:|---:|---:|---:|`

// judge compares the mutants of a package with the list of survivors. It prints what must be looked at, and returns a row of the
// table, without the minutes, and whether all is as it must be.
func judge(w io.Writer, name string, found []mutant, listed []survivor) (row string, ok bool) {
	count := map[string]int{}
	open := map[survivor]int{} // how many entries no mutant has matched yet
	for _, s := range listed {
		if s.pkg == name {
			open[s.key()]++
		}
	}
	ok = true
	for _, m := range found {
		count[m.status]++
		switch key := m.survivor; m.status {
		case "LIVED":
			if open[key] > 0 {
				open[key]--
				continue
			}
			ok = false
			fmt.Fprintf(w, "SURVIVED, not listed: %v (line %d)\n", m.survivor, m.line)
		case "TIMED OUT":
			fmt.Fprintf(w, "hangs, counts as killed: %v (line %d)\n", m.survivor, m.line)
		case "NOT COVERED":
			fmt.Fprintf(w, "not covered: %v (line %d)\n", m.survivor, m.line)
		}
	}
	for _, s := range listed {
		if open[s.key()] > 0 {
			open[s.key()]--
			ok = false
			fmt.Fprintf(w, "listed, but no such mutant lives: %v\n", s)
		}
	}
	killed, lived, uncovered := count["KILLED"]+count["TIMED OUT"], count["LIVED"], count["NOT COVERED"]
	killedPercent, coveredPercent := percent(killed, killed+lived), percent(killed+lived, killed+lived+uncovered)
	fmt.Fprintf(w, "%s: %d killed, of which %d hang; %d lived, %d not covered; %d do not compile\n",
		name, killed, count["TIMED OUT"], lived, uncovered, count["NOT VIABLE"])
	if killedPercent < threshold || coveredPercent < threshold {
		ok = false
		fmt.Fprintf(w, "%s: %.1f %% killed and %.1f %% covered; must be at least %d %% each\n", name, killedPercent, coveredPercent, threshold)
	}
	return fmt.Sprintf("| %s | %d | %d | %d | %d | %.1f | %.1f |", name, killed+lived+uncovered, killed, lived, uncovered, killedPercent, coveredPercent), ok
}

// percent returns a part in percent; of nothing it is everything.
func percent(part, whole int) float64 {
	if whole == 0 {
		return 100
	}
	return 100 * float64(part) / float64(whole)
}

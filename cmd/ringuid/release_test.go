package main

import (
	"archive/zip"
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/ringuid/ringuid/internal/testkit"
)

const (
	root    = "../.."
	command = "github.com/ringuid/ringuid/cmd/ringuid"
	release = "v0.1.0"
)

// output runs a program in a directory, with more variables of the environment.
func output(dir string, env []string, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// copyRepository copies all files that git knows, or would add, to a temporary directory.
func copyRepository(t *testing.T) string {
	t.Helper()
	list, err := output(root, nil, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if err != nil {
		testkit.Missing(t, "the files of the repository cannot be listed: ", err, list)
	}
	dir := t.TempDir()
	for name := range strings.SplitSeq(strings.TrimSuffix(list, "\x00"), "\x00") {
		info, err := os.Lstat(filepath.Join(root, name))
		if err != nil || !info.Mode().IsRegular() { // deleted, or a link, which modules do not contain
			continue
		}
		data, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, data, info.Mode().Perm()); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// modulesOf returns the directories of a repository that have a go.mod, by their paths as modules.
func modulesOf(t *testing.T, repository string) map[string]string {
	t.Helper()
	modules := map[string]string{}
	err := filepath.WalkDir(repository, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Name() == "go.mod" {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			line, _, _ := strings.Cut(string(text), "\n")
			modules[strings.TrimSpace(strings.TrimPrefix(line, "module "))] = filepath.Dir(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return modules
}

// newProxy makes a module proxy in a directory, as a version control system with one tag for each module would be shown.
func newProxy(t *testing.T, repository string) string {
	t.Helper()
	proxy := t.TempDir()
	for path, dir := range modulesOf(t, repository) {
		versions := filepath.Join(proxy, filepath.FromSlash(path), "@v")
		if err := os.MkdirAll(versions, 0o755); err != nil {
			t.Fatal(err)
		}
		mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err != nil {
			t.Fatal(err)
		}
		for name, data := range map[string][]byte{
			"list": []byte(release + "\n"), release + ".mod": mod, release + ".zip": zipModule(t, path, dir),
			release + ".info": []byte(`{"Version":"` + release + `","Time":"2026-11-22T00:00:00Z"}`),
		} {
			if err := os.WriteFile(filepath.Join(versions, name), data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	return proxy
}

// zipModule returns the files of a module, without those of the modules in it.
func zipModule(t *testing.T, path, dir string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	err := filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if _, err := os.Stat(filepath.Join(file, "go.mod")); err == nil && file != dir {
				return fs.SkipDir
			}
			return nil
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		f, err := w.Create(path + "@" + release + "/" + filepath.ToSlash(name))
		if err == nil {
			_, err = f.Write(data)
		}
		return err
	})
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// After scripts/release.sh, go install works from a proxy that has the tagged modules, and the program runs; before it, it does not.
func TestInstallOfRelease(t *testing.T) {
	testkit.Full(t, "it builds all modules again")
	if runtime.GOOS == "windows" {
		testkit.Missing(t, "Windows has no shell for scripts/release.sh")
	}
	cache, err := output(".", nil, "go", "env", "GOMODCACHE")
	if err != nil {
		t.Fatal(err, cache)
	}
	// install installs the command from a copy of the repository, with a module cache of its own. All other modules are in the
	// usual module cache, which has the form of a proxy.
	install := func(repository string, args ...string) (string, string, error) {
		bin := t.TempDir()
		env := []string{"GOPROXY=file://" + newProxy(t, repository) + ",file://" + filepath.Join(strings.TrimSpace(cache), "cache", "download"),
			"GOMODCACHE=" + t.TempDir(), "GOBIN=" + bin, "GOFLAGS=-modcacherw", "GOSUMDB=off", "GOWORK=off", "GOTOOLCHAIN=local", "GONOPROXY=none", "GOPRIVATE="}
		out, err := output(bin, env, "go", append([]string{"install"}, args...)...)
		return bin, out, err
	}
	repository := copyRepository(t)
	if _, out, err := install(repository, "-n", command+"@"+release); err == nil || !strings.Contains(out, "replace directives") {
		t.Fatalf("before the script: %v\n%s", err, out)
	}
	for _, wrong := range []string{"", "1.2.3", "v1"} {
		if out, err := output(repository, nil, "scripts/release.sh", wrong); err == nil {
			t.Errorf("the script accepts the version %q:\n%s", wrong, out)
		}
	}
	out, err := output(repository, nil, "scripts/release.sh", release)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, tag := range []string{release, "cmd/ringuid/" + release, "stores/redisstore/" + release, "internal/testkit/postgrestest/" + release} {
		if !strings.Contains(out, "\n"+tag+"\n") {
			t.Errorf("the script does not print the tag %s:\n%s", tag, out)
		}
	}
	if _, out, err := install(repository, "-n", command+"@latest"); err != nil {
		t.Fatalf("after the script: %v\n%s", err, out)
	}
	bin, out, err := install(repository, command+"@"+release)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.Command(filepath.Join(bin, "ringuid"), "parse", "--json", "962392666547429376")
	cmd.Env = environ()
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), `"worker_id":1`) {
		t.Errorf("%v\n%s", err, out)
	}
}

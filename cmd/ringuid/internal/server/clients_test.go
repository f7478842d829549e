package server_test

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/freeport"
	"github.com/ringuid/ringuid/internal/testkit/uniq"
)

// clientPrograms are programs in testdata/clients, of one name in all languages, that take numbers with the clients of examples/blocks: each with its
// arguments before those that are common.
func clientPrograms(t *testing.T, program string) map[string][]string {
	source, err := filepath.Abs("../../examples/blocks")
	if err != nil {
		t.Fatal(err)
	}
	programs := map[string][]string{
		"python": {"python3", filepath.Join("testdata", "clients", program+".py"), source},
		"node":   {"node", filepath.Join("testdata", "clients", program+".mjs"), source},
	}
	for name, command := range programs {
		if _, err := exec.LookPath(command[0]); err != nil {
			testkit.Missing(t, name, " is missing: ", err)
		}
	}
	if _, err := exec.LookPath("javac"); err != nil {
		testkit.Missing(t, "a Java development kit is missing: ", err)
	}
	classes, class := t.TempDir(), strings.ToUpper(program[:1])+program[1:]
	if out, err := exec.Command("javac", "-d", classes, filepath.Join(source, "RingUID.java"), filepath.Join("testdata", "clients", class+".java")).CombinedOutput(); err != nil {
		t.Fatalf("javac: %v: %s", err, out)
	}
	programs["java"] = []string{"java", "-cp", classes, class}
	return programs
}

// Clients in other languages and servers that are killed and started again: each number is handed out once.
func TestClients(t *testing.T) {
	testkit.Slow(t, "it starts servers and interpreters")
	programs := clientPrograms(t, "driver")
	count, size := testkit.Size(300_000, 10_000_000), testkit.Size(8192, 100_000)
	for _, tag := range []string{"", "orders"} {
		t.Run(map[bool]string{true: "UIDs", false: "numbers"}[tag == ""], func(t *testing.T) {
			port, err := freeport.One()
			if err != nil {
				t.Fatal(err)
			}
			addr := "127.0.0.1:" + strconv.Itoa(port)
			file := filepath.Join(t.TempDir(), "workers")
			newTagFile(t, file, "orders")
			args := []string{"--store", "file:" + file, "--tag-store", file, "--listen", addr, "--layout", "1-30-13-20", "--max-batch", "100000"}
			var set uniq.Set
			var mu sync.Mutex // of set: a run is added at once
			var running sync.WaitGroup
			done := make(chan struct{})
			for name, command := range programs {
				for copies := range 2 {
					running.Go(func() {
						cmd := exec.CommandContext(testkit.Patient(t), command[0], append(command[1:], "http://"+addr, tag, strconv.Itoa(size), strconv.Itoa(count), strconv.Itoa(1+2*copies))...)
						var failure bytes.Buffer
						cmd.Stderr = &failure
						out, err := cmd.Output()
						if err != nil {
							t.Errorf("%s: %v: %.2000s", name, err, failure.String())
							return
						}
						mu.Lock()
						defer mu.Unlock()
						added, err := addRuns(&set, out)
						if want := count - count%(1+2*copies); err != nil || added != want {
							t.Errorf("%s has taken %d numbers, %v; want %d", name, added, err, want)
						}
					})
				}
			}
			go func() { running.Wait(); close(done) }()
			for ended := false; !ended; {
				p := startProcess(t, args...)
				select {
				case <-done:
					ended = true
				case <-time.After(testkit.Size(300*time.Millisecond, 2*time.Second)): // the clients wait for the next one
				}
				p.Process.Kill()
				<-p.exited
			}
			t.Logf("%d numbers, none twice", set.Len())
		})
	}
}

// addRuns adds runs that a program has printed to a set.
func addRuns(set *uniq.Set, out []byte) (added int, err error) {
	w := set.Writer()
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		var first, stride, n int64
		if _, err := fmt.Sscan(lines.Text(), &first, &stride, &n); err != nil {
			return added, fmt.Errorf("%q: %w", lines.Text(), err)
		}
		for i := range n {
			if !w.Add(first + i*stride) {
				return added, fmt.Errorf("%d came twice", first+i*stride)
			}
		}
		added += int(n)
	}
	return added, nil
}

// The clients are one file each, of at most 120 lines.
func TestClientsAreShort(t *testing.T) {
	files, err := filepath.Glob("../../examples/blocks/*")
	if err != nil || len(files) != 3 {
		t.Fatalf("%q, %v; want three clients", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if n := strings.Count(string(text), "\n"); err != nil || n > 120 {
			t.Errorf("%s has %d lines, %v; must have at most 120", file, n, err)
		}
	}
}

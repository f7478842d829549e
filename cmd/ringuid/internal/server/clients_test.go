package server_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringuid/ringuid/bitsalloc"
	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/freeport"
	"github.com/ringuid/ringuid/internal/testkit/uniq"
	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/stores/filestore"
	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign"
)

// clientPrograms are programs in testdata/clients, of one name in all languages, that take numbers with the clients of examples/blocks: each with its
// arguments before those that are common.
func clientPrograms(t testing.TB, program string) map[string][]string {
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
	classes, class, client := t.TempDir(), strings.ToUpper(program[:1])+program[1:], filepath.Join(source, "RingUID.java")
	if program == "faults" { // whose Sender is a thread that may not begin
		text, err := os.ReadFile(client)
		if err != nil || strings.Count(string(text), "new Thread(") != 1 {
			t.Fatalf("%v; want one thread in %s", err, client)
		}
		client = filepath.Join(classes, "RingUID.java")
		if err := os.WriteFile(client, []byte(strings.Replace(string(text), "new Thread(", "new Faults.Sender(", 1)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("javac", "-d", classes, client, filepath.Join("testdata", "clients", class+".java")).CombinedOutput(); err != nil {
		t.Fatalf("javac: %v: %s", err, out)
	}
	programs["java"] = []string{"java", "-cp", classes, class}
	return programs
}

// Clients in other languages, library users in Go, and servers and clients that are killed: each number is handed out once.
func TestClients(t *testing.T) {
	testkit.Full(t, "it starts hundreds of servers and interpreters")
	programs := clientPrograms(t, "driver")
	count, size := testkit.Size(200_000, 10_000_000), testkit.Size(8192, 100_000)
	// life is how long the nth server lives, and the nth client that is killed: longer each time, so that a busy machine makes progress, too.
	life := func(n int) time.Duration {
		return time.Duration(4+n) * testkit.Size(75*time.Millisecond, time.Second/2)
	}
	layout, err := bitsalloc.New(30, 13, 20)
	if err != nil {
		t.Fatal(err)
	}
	for _, tag := range []string{"", "orders"} {
		t.Run(map[bool]string{true: "UIDs", false: "numbers"}[tag == ""], func(t *testing.T) {
			port, err := freeport.One()
			if err != nil {
				t.Fatal(err)
			}
			addr := "127.0.0.1:" + strconv.Itoa(port)
			file := filepath.Join(t.TempDir(), "workers")
			newTagFile(t, file, "orders")
			args := []string{"--store", "file:" + file, "--tag-store", file, "--listen", addr, "--layout", layout.String(), "--max-batch", "100000"}
			var set uniq.Set
			var running, killed sync.WaitGroup
			done := make(chan struct{}) // the clients that are not killed have ended
			for name, command := range programs {
				for copies := range 2 {
					running.Go(func() {
						added, err := takeWith(testkit.Patient(t), &set, command, "http://"+addr, tag, size, count, 1+2*copies)
						if want := count - count%(1+2*copies); err != nil || added != want {
							t.Errorf("%s has taken %d numbers, %v; want %d", name, added, err, want)
						}
					})
				}
				killed.Go(func() {
					for round := 0; ; round++ {
						select {
						case <-done:
							t.Logf("%d processes of %s were killed", round, name)
							return
						default:
						}
						ctx, cancel := context.WithTimeout(testkit.Patient(t), life(round))
						_, err := takeWith(ctx, &set, command, "http://"+addr, tag, size, 1<<40, 2)
						cancel()
						if !errors.Is(err, context.DeadlineExceeded) {
							t.Errorf("%s: %v", name, err)
							return
						}
					}
				})
			}
			running.Go(func() {
				if err := takeInGo(testkit.Patient(t), &set, file, tag, layout, 4*count); err != nil {
					t.Error(err)
				}
			})
			go func() { running.Wait(); close(done) }()
			servers := 0
			for ended := false; !ended; servers++ {
				p := startProcess(t, args...)
				select {
				case <-done:
					ended = true
				case <-time.After(life(servers)):
				}
				p.Process.Kill() // the clients wait for the next one
				<-p.exited
			}
			killed.Wait()
			t.Logf("%d numbers, none twice; %d servers were killed", set.Len(), servers)
		})
	}
}

// Clients get numbers from a server with the example of its configuration.
func TestClientsOfExampleFile(t *testing.T) {
	testkit.Slow(t, "it starts a server and interpreters")
	file := filepath.Join(t.TempDir(), "workers")
	newTagFile(t, file, "orders")
	p := startProcess(t, "--config", deploy+"ringuid.yaml", "--store", file, "--tag-store", file, "--listen", "127.0.0.1:0")
	for name, command := range clientPrograms(t, "faults") { // with the default size
		c := newBlockClient(t, command, &blockServer{url: "http://" + p.addr}, patient)
		if number, problem := c.take(1); number < 1 {
			t.Errorf("%s: %s", name, problem)
		}
	}
}

// takeWith adds the numbers that a program takes to a set. If ctx ends, the program is killed, and the error is that of ctx.
func takeWith(ctx context.Context, set *uniq.Set, command []string, url, tag string, size, count, tasks int) (added int, err error) {
	var failure bytes.Buffer
	cmd := exec.CommandContext(ctx, command[0], append(command[1:len(command):len(command)],
		url, tag, strconv.Itoa(size), strconv.Itoa(count), strconv.Itoa(tasks))...)
	cmd.Stderr = &failure
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return 0, err
	}
	added, err = addRuns(set, out)
	if waited := cmd.Wait(); err == nil && waited != nil {
		err = fmt.Errorf("%w: %.2000s", cmp.Or(ctx.Err(), waited), failure.String())
	}
	return added, err
}

// takeInGo takes numbers with the library, from the stores of the server.
func takeInGo(ctx context.Context, set *uniq.Set, file, tag string, layout bitsalloc.Layout, count int) error {
	w := set.Writer()
	add := func(first, stride, n int64) error {
		for i := range n {
			if !w.Add(first + i*stride) {
				return fmt.Errorf("%d came twice", first+i*stride)
			}
		}
		count -= int(n)
		return nil
	}
	if tag == "" {
		g, err := uid.NewCached(ctx, workerassign.NewFile(file), uid.WithLayout(layout))
		for err == nil && count > 0 {
			var id uid.ID
			if id, err = g.NextContext(ctx); err == nil {
				err = add(int64(id), 1, 1)
			}
		}
		if g != nil {
			err = errors.Join(err, g.Close())
		}
		return err
	}
	q, err := segment.New(ctx, filestore.New(file), tag, segment.WithMaxWait(time.Minute), segment.WithTryTimeout(time.Minute))
	for err == nil && count > 0 {
		var r segment.Range
		if r, err = q.Claim(ctx, 1000); err == nil {
			err = add(r.First, max(r.Stride, 1), r.Length)
		}
	}
	if q != nil {
		if closeErr := q.Close(); !errors.Is(closeErr, segment.ErrBusy) { // a slow disk
			err = errors.Join(err, closeErr)
		}
	}
	return err
}

// addRuns adds the runs that a program prints to a set. The last line is without effect if it is not whole.
func addRuns(set *uniq.Set, out io.Reader) (added int, err error) {
	w := set.Writer()
	for lines := bufio.NewReader(out); ; {
		line, err := lines.ReadString('\n')
		if err != nil {
			return added, nil
		}
		var first, stride, n int64
		if _, err := fmt.Sscan(line, &first, &stride, &n); err != nil {
			return added, fmt.Errorf("%q: %w", line, err)
		}
		for i := range n {
			if !w.Add(first + i*stride) {
				return added, fmt.Errorf("%d came twice", first+i*stride)
			}
		}
		added += int(n)
	}
}

// BenchmarkClients measures clients of blocks, one after the other, and how many requests they send: with -benchtime=20000000x, for example.
func BenchmarkClients(b *testing.B) {
	programs := clientPrograms(b, "driver")
	p := startProcess(b, "--store", "file:"+filepath.Join(b.TempDir(), "workers"), "--listen", "127.0.0.1:0", "--layout", "1-30-13-20", "--max-batch", "100000")
	for _, name := range slices.Sorted(maps.Keys(programs)) {
		b.Run(name, func(b *testing.B) {
			before := blockRequests(b, p.addr)
			command := append(programs[name], "http://"+p.addr, "", "100000", strconv.Itoa(b.N), "0")
			out, err := exec.Command(command[0], command[1:]...).Output()
			if err != nil {
				b.Fatal(err)
			}
			var took, limit int64 // nanoseconds; the limit is that of Python's loop
			fmt.Sscan(string(out), &took, &limit)
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(b.N)*1e9/float64(took), "UIDs/s")
			b.ReportMetric(float64(b.N)/(blockRequests(b, p.addr)-before), "UIDs/request")
			if limit > 0 {
				b.ReportMetric(float64(b.N)*1e9/float64(limit), "range/s")
			}
		})
	}
}

// blockRequests returns how many requests for blocks a server has answered.
func blockRequests(b *testing.B, addr string) (n float64) {
	r, err := http.Get("http://" + addr + "/metrics")
	if err != nil {
		b.Fatal(err)
	}
	defer r.Body.Close()
	for lines := bufio.NewScanner(r.Body); lines.Scan(); {
		if name, value, _ := strings.Cut(lines.Text(), "} "); strings.HasPrefix(name, `ringuid_http_requests_total{`) && strings.Contains(name, `route="/v1/block"`) {
			v, err := strconv.ParseFloat(value, 64)
			if err != nil {
				b.Fatal(err)
			}
			n += v
		}
	}
	return n
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

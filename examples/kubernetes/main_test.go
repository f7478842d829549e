package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/mariadbtest"
	"github.com/ringuid/ringuid/internal/testkit/testserver"
	"github.com/ringuid/ringuid/stores/sqlstore"
	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

func TestMain(m *testing.M) {
	if testkit.ChildArg() != "" { // a pod
		log.SetOutput(os.Stdout)
		main()
		return
	}
	os.Exit(m.Run())
}

// fleet is a database, and all UIDs that the pods of a fleet have generated.
type fleet struct {
	server *mariadbtest.Server
	db     *sqlx.DB
	dsn    string

	mu   sync.Mutex
	seen map[uid.ID]string // the pod that generated it
}

func newFleet(t *testing.T) *fleet {
	t.Helper()
	if runtime.GOOS == "windows" {
		testkit.Missing(t, "Windows cannot send a signal to one process")
	}
	server := mariadbtest.Start(t)
	name, db := server.Database()
	script, err := os.ReadFile("../../schema.sql")
	if err != nil {
		t.Fatal(err)
	}
	testserver.RunScript(t, db, string(script))
	if err := recycled.CreatePool(t.Context(), sqlstore.New(db)); err != nil {
		t.Fatal(err)
	}
	return &fleet{server: server, db: db, dsn: server.DSN("root", "", name), seen: map[uid.ID]string{}}
}

// pod is a process with the environment that the manifests set.
type pod struct {
	*testkit.Child
	t      *testing.T
	fleet  *fleet
	name   string
	url    string
	ended  chan struct{} // closed when it has ended
	output string        // to be read after that
}

// start starts a pod and waits until it listens.
func (f *fleet) start(t *testing.T, name, workerIDFrom string) *pod {
	t.Helper()
	p := &pod{t: t, fleet: f, name: name, ended: make(chan struct{}),
		Child: testkit.StartChild(t, name, "HOSTNAME="+name, "POD_NAME="+name, "WORKER_ID_FROM="+workerIDFrom,
			"DSN="+f.dsn, "ADDRESS=127.0.0.1:0", "TERMINATION_DRAIN=200ms")}
	listening := make(chan string, 1)
	go func() {
		defer close(p.ended)
		for line := range p.Lines() {
			p.output += line + "\n"
			if _, address, ok := strings.Cut(line, "listening on "); ok {
				listening <- address
			}
		}
	}()
	t.Cleanup(func() {
		p.Process.Kill()
		<-p.ended
		if t.Failed() {
			t.Logf("%s wrote:\n%s", name, p.output)
		}
	})
	select {
	case address := <-listening:
		p.url = "http://" + address
	case <-p.ended:
		t.Fatalf("%s has ended: %v", name, p.Wait())
	}
	return p
}

// ready returns the answer of the readiness probe.
func (p *pod) ready() (status int, health health) {
	p.t.Helper()
	resp, err := http.Get(p.url + "/ready")
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	if json.Unmarshal(text, &health) != nil {
		health.Err = string(text)
	}
	return resp.StatusCode, health
}

// health is the answer of a generator's Health.
type health struct {
	Until time.Time
	For   time.Duration
	Err   string
}

// await waits until the readiness probe has the given status.
func (p *pod) await(status int) {
	p.t.Helper()
	testkit.Retry(p.t, p.name, func() error {
		got, health := p.ready()
		if got == status {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
		return fmt.Errorf("the status is %d, want %d: %+v", got, status, health)
	})
}

// take takes UIDs, none of which any pod had before, and returns the worker ID of the last one.
func (p *pod) take(n int) int64 {
	p.t.Helper()
	var answer struct {
		ID       uid.ID `json:"id"`
		WorkerID int64  `json:"workerId"`
	}
	for range n {
		resp, err := http.Post(p.url+"/ids", "", nil)
		if err != nil {
			p.t.Fatal(err)
		}
		err = json.NewDecoder(resp.Body).Decode(&answer)
		resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK {
			p.t.Fatalf("%s: status %s, %v", p.name, resp.Status, err)
		}
		p.fleet.mu.Lock()
		if other, ok := p.fleet.seen[answer.ID]; ok {
			p.t.Errorf("%s and %s generated %v", other, p.name, answer.ID)
		}
		p.fleet.seen[answer.ID] = p.name
		p.fleet.mu.Unlock()
	}
	return answer.WorkerID
}

// end ends the pod as Kubernetes does, and checks that it ends cleanly.
func (p *pod) end() {
	p.t.Helper()
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Fatal(err)
	}
	<-p.ended
	if err := p.Wait(); err != nil && !regexp.MustCompile(`worker ID \d+ was not released: .*no answer within`).MatchString(p.output) {
		p.t.Errorf("%s ended with %v", p.name, err)
	}
}

// The pods of a StatefulSet have the worker IDs of their ordinals. A second pod of the same name, which somebody
// started by a forced deletion, is not ready while the first one runs. A pod that crashed is back when its last grant
// is over.
func TestStatefulSet(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	first, other := f.start(t, "orders-10", "ordinal"), f.start(t, "orders-11", "ordinal")
	first.await(http.StatusOK)
	other.await(http.StatusOK)
	if a, b := first.take(100), other.take(100); a != 10 || b != 11 {
		t.Errorf("the worker IDs are %d and %d, want 10 and 11", a, b)
	}

	second := f.start(t, "orders-10", "ordinal")
	for range 20 {
		if status, health := second.ready(); status != http.StatusServiceUnavailable {
			t.Fatalf("the second pod has the status %d: %+v", status, health)
		}
		first.take(10)
		time.Sleep(100 * time.Millisecond)
	}
	first.end()
	second.await(http.StatusOK)
	if n := second.take(100); n != 10 {
		t.Errorf("the worker ID is %d, want 10", n)
	}
	other.end()
	if !testkit.IsFull() {
		return // the next pod waits for half a minute
	}
	second.Process.Kill()
	<-second.ended
	third := f.start(t, "orders-10", "ordinal")
	third.await(http.StatusOK)
	if n := third.take(100); n != 10 {
		t.Errorf("the worker ID is %d, want 10", n)
	}
	third.end()
}

// The pods of a Deployment have different worker IDs, which later pods use again.
func TestDeployment(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	slots := 0
	for update := range testkit.Size(2, 3) {
		var pods []*pod
		for n := range 3 {
			pods = append(pods, f.start(t, fmt.Sprintf("orders-6d4cf%d-x2b%d", update, n), "pool"))
		}
		together := map[int64]bool{}
		for _, p := range pods {
			p.await(http.StatusOK)
			n := p.take(100)
			if together[n] {
				t.Errorf("two pods have worker ID %d", n)
			}
			together[n] = true
		}
		for _, p := range pods {
			p.end()
		}
		before := slots
		if err := f.db.Get(&slots, "SELECT COUNT(*) FROM WORKER_SLOT"); err != nil {
			t.Fatal(err)
		}
		// The first pods race for the first slots, and on a busy machine they take each other for a crowd: see doc/fleet.md.
		const excess = 79
		if update == 0 && slots > len(pods)+excess || update > 0 && slots != before {
			t.Errorf("after update %d the pool has %d slots, and had %d", update, slots, before)
		}
		testkit.Retry(t, "the clock has not reached the end of the rings", func() error {
			var held int
			err := f.db.Get(&held, "SELECT COUNT(*) FROM WORKER_SLOT WHERE free_at_ms > ?", time.Now().UnixMilli())
			if err == nil && held > 0 {
				time.Sleep(20 * time.Millisecond)
				err = fmt.Errorf("%d slots are held", held)
			}
			return err
		})
	}
}

// Without the database, a pod is ready up to the end of its grant, as it has reported. Then it is alive, but not ready.
func TestOutage(t *testing.T) {
	testkit.Full(t, "it waits for the end of a grant, for half a minute")
	t.Parallel()
	f := newFleet(t)
	p := f.start(t, "orders-75c9b-9k2mz", "pool")
	p.await(http.StatusOK)
	testkit.Eventually(t, "the grant is extended", func() bool {
		_, health := p.ready()
		return health.For > reserveAhead/2
	})
	_, before := p.ready()
	f.server.Kill()
	p.await(http.StatusServiceUnavailable)
	if early := time.Until(before.Until); early > 0 {
		t.Errorf("the pod is not ready, %v before the time that it has reported", early)
	}
	if status, health := p.ready(); status != http.StatusServiceUnavailable || !strings.HasPrefix(health.Err, "uid: lease: ") {
		t.Errorf("status %d: %+v", status, health)
	}
	resp, err := http.Get(p.url + "/live")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("the liveness probe: %v", resp)
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct {
		env  map[string]string
		want string
	}{
		{map[string]string{}, "DSN must be set"},
		{map[string]string{"DSN": "x"}, "POD_NAME must be set"},
		{map[string]string{"DSN": "x", "POD_NAME": "orders-1"}, "WORKER_ID_FROM is"},
		{map[string]string{"DSN": "x", "POD_NAME": "orders-6d4cf-x2b9q", "WORKER_ID_FROM": "ordinal"}, "must be the name of a pod of a StatefulSet"},
		{map[string]string{"DSN": "x", "POD_NAME": "orders-1", "WORKER_ID_FROM": "pool"}, "DSN"},
		{map[string]string{"TERMINATION_DRAIN": "5"}, "TERMINATION_DRAIN"},
	} {
		err := run(context.Background(), func(name string) string { return c.env[name] })
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: the error is %v, want one with %q", c.env, err, c.want)
		}
	}
}

// A pod whose start is cancelled, or that has no database, ends with an error and leaves no server behind.
func TestCancelledStart(t *testing.T) {
	env := map[string]string{"DSN": "root@tcp(127.0.0.1:1)/ids", "POD_NAME": "orders-1", "WORKER_ID_FROM": "pool", "ADDRESS": "127.0.0.1:0"}
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	if err := run(ctx, func(name string) string { return env[name] }); !errors.Is(err, uid.ErrLease) {
		t.Errorf("the error is %v", err)
	}
}

var podVariable = regexp.MustCompile(`(?m)^            - name: ([A-Z_]+)$`)

// The manifests set variables that the program reads, and leave enough time for the end of a pod and for its start.
func TestManifests(t *testing.T) {
	program, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"statefulset.yaml", "deployment.yaml"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		names := podVariable.FindAllStringSubmatch(string(text), -1)
		if len(names) != 3 {
			t.Errorf("%s sets %d variables", file, len(names))
		}
		for _, name := range names {
			if !strings.Contains(string(program), `getenv("`+name[1]+`")`) {
				t.Errorf("%s sets %s, which the program does not read", file, name[1])
			}
		}
		_, rest, _ := strings.Cut(string(text), "terminationGracePeriodSeconds: ")
		digits, _, _ := strings.Cut(rest, "\n")
		seconds, err := strconv.Atoi(digits)
		if least := 5*time.Second + shutdownTimeout + 5*time.Second; err != nil || time.Duration(seconds)*time.Second < least {
			t.Errorf("%s: the grace period is %q, %v; must be at least %v", file, digits, err, least)
		}
	}
}

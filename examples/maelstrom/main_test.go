package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/uid"
)

// nodeEnv is set in the processes of nodes.
const nodeEnv = "RINGUID_TEST_MAELSTROM_NODE"

func TestMain(m *testing.M) {
	if os.Getenv(nodeEnv) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// initFields returns the fields of an init.
func initFields(name string) string {
	return fmt.Sprintf(`"type": "init", "node_id": %q, "node_ids": ["n1", "n2", "n3"]`, name)
}

// The workload unique-ids; in full size, as large as in the comment on the program. After a half of it, all nodes are killed and
// started again. No ID comes twice, every request is acknowledged, and each ID has the worker ID of the node that sent it.
func TestUniqueIDs(t *testing.T) {
	n := newNetwork(t)
	nodes := []string{"n1", "n2", "n3"}
	operator, clients := n.newClient("c0"), []*client{}
	for i := range 6 {
		clients = append(clients, n.newClient(fmt.Sprintf("c%d", i+1)))
	}
	for range 2 {
		var processes []*process
		for _, name := range nodes {
			processes = append(processes, n.start(name))
			if r := operator.call(name, initFields(name), nil); r == nil || r.Type != "init_ok" {
				t.Fatalf("%s replied to init with %+v: %v", name, r, context.Cause(n.ctx))
			}
		}
		n.generate(clients, nodes, testkit.Size(testkit.Amount(100, 750, 750), 15_000))
		for _, p := range processes {
			p.end()
		}
	}
	if n.ctx.Err() != nil {
		t.Fatal(context.Cause(n.ctx))
	}
	if n.dropped != 0 {
		t.Errorf("partitions have dropped %d messages; the nodes of this program send each other none", n.dropped)
	}

	var history []operation
	late := 0
	for _, c := range clients {
		history, late = append(history, c.history...), late+c.late
	}
	r := check(history)
	t.Logf("%+v, %d after %v", r, late, requestTimeout)
	if !r.isValid() || !r.isAvailable() {
		t.Fatalf("IDs came twice, or not every request was acknowledged: %+v", r)
	}
	format, err := uid.NewFormat(uid.WithTwitterLayout())
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range history {
		var id uid.ID
		if err := json.Unmarshal(o.reply.ID, &id); err != nil {
			t.Fatal(err)
		}
		if worker := format.Parse(id).WorkerID; fmt.Sprintf("n%d", worker+1) != o.dest {
			t.Fatalf("%s sent %v, which has worker ID %d", o.dest, id, worker)
		}
	}
}

// A request that is not valid gets an error with one of Maelstrom's codes, and leaves the node as it was. A message without msg_id
// gets no reply.
func TestErrors(t *testing.T) {
	n := newNetwork(t)
	n.start("n2")
	c := n.newClient("c1")
	for _, tc := range []struct {
		fields, want string
		code         int
	}{
		{`"type": "generate"`, "error", 11},
		{`"type": "init", "node_id": "n4", "node_ids": ["n1", "n2", "n3"]`, "error", 12},
		{`"type": "init"`, "error", 12},
		{initFields("n2"), "init_ok", 0},
		{initFields("n2"), "error", 22},
		{initFields("n3"), "error", 22},
		{`"type": "generate"`, "generate_ok", 0},
		{`"type": "read", "id": {"of": "another workload"}, "code": "c"`, "error", 10},
		{`"typ": "generate"`, "error", 10},
		{`"type": "generate"`, "generate_ok", 0},
	} {
		if err := n.send(packet{Src: "c1", Dest: "n2", Body: json.RawMessage(`{"type": "generate"}`)}); err != nil {
			t.Fatal(err)
		}
		r := c.call("n2", tc.fields, nil)
		if r == nil {
			t.Fatalf("%s: %v", tc.fields, context.Cause(n.ctx))
		}
		if r.Type != tc.want || r.Code != tc.code || (r.Text != "") != (tc.want == "error") || (r.ID != nil) != (tc.want == "generate_ok") {
			t.Errorf("%s: the reply is %+v, want %s %d", tc.fields, r, tc.want, tc.code)
		}
	}
}

// Errors of the generator are definite ones.
func TestGeneratorErrors(t *testing.T) {
	var many []string // one more than there are worker IDs
	for i := range 1025 {
		many = append(many, fmt.Sprintf("n%d", i))
	}
	n := &node{}
	if r := n.handle(request{Type: "init", NodeID: "n1024", NodeIDs: many}); r.Type != "error" || r.Code != 11 || n.ids != nil {
		t.Errorf("without a worker ID: %+v", r)
	}
	if r := n.handle(request{Type: "init", NodeID: "n1023", NodeIDs: many}); r.Type != "init_ok" {
		t.Fatalf("with the last worker ID: %+v", r)
	}
	n.ids.Close()
	if r := n.handle(request{Type: "generate"}); r.Type != "error" || r.Code != 11 || r.Text != uid.ErrClosed.Error() {
		t.Errorf("of a closed generator: %+v", r)
	}
}

// A node that cannot read a message has replied to those before it, and ends with status 1 and a line in its log. At the end of its
// input it ends with status 0.
func TestMalformedMessages(t *testing.T) {
	const valid = `{"src": "c1", "dest": "n1", "body": {"type": "echo", "msg_id": 1}}` + "\n"
	for _, input := range []string{"", "no JSON\n", "7\n", `{"src": "c1", "dest": "n1", "body": {"msg_id": "1"}}` + "\n", valid[:20]} {
		var out, logged strings.Builder
		p := exec.Command(os.Args[0])
		p.Env, p.Stdin, p.Stdout, p.Stderr = append(os.Environ(), nodeEnv+"=n1"), strings.NewReader(valid+input), &out, &logged
		err := p.Run()
		var status *exec.ExitError
		if input == "" && err != nil || input != "" && (!errors.As(err, &status) || status.ExitCode() != 1) {
			t.Errorf("%q: the process ended with %v", input, err)
		}
		if strings.Contains(logged.String(), "maelstrom: malformed message: ") != (input != "") {
			t.Errorf("%q: the process logged %s", input, &logged)
		}
		if strings.Count(out.String(), "\n") != 1 || !strings.Contains(out.String(), `"in_reply_to":1`) {
			t.Errorf("%q: the process wrote %s", input, &out)
		}
	}
}

// The driver's check finds duplicates, and requests that were not acknowledged.
func TestCheck(t *testing.T) {
	for _, tc := range []struct {
		ids                      string // of replies; "-" for an error, "?" for no reply
		acknowledged, duplicated int
		isValid, isAvailable     bool
	}{
		{"", 0, 0, false, true},
		{"? -", 0, 0, false, false},
		{`1 2 "2" 3`, 4, 0, true, true}, // 2 and "2" are different IDs
		{"9007199254740992 9007199254740993", 2, 0, true, true},
		{"1 2 - ?", 2, 0, true, false},
		{"1 2 3 2", 4, 1, false, true},
		{"1 1 2 1 2 ?", 5, 2, false, false},
	} {
		var history []operation
		for id := range strings.FieldsSeq(tc.ids) {
			o := operation{"n1", &answer{Type: "generate_ok", ID: json.RawMessage(id)}}
			switch id {
			case "-":
				o.reply = &answer{Type: "error", Code: 11}
			case "?":
				o.reply = nil
			}
			history = append(history, o)
		}
		r := check(history)
		if r.attempted != len(history) || r.acknowledged != tc.acknowledged || len(r.duplicated) != tc.duplicated ||
			r.isValid() != tc.isValid || r.isAvailable() != tc.isAvailable {
			t.Errorf("%s: %+v", tc.ids, r)
		}
	}
}

// The driver's network drops messages between the sides of a partition only, and reports those that it cannot deliver. A client does
// not wait after the timeout, receives the reply later, and reports a second one.
func TestNetwork(t *testing.T) {
	n := newNetwork(t)
	received := map[string]int{}
	for _, name := range []string{"n1", "n2", "n3"} {
		n.add(name, func(packet) error { received[name]++; return nil })
	}
	c := n.newClient("c1")
	for _, isolated := range []string{"n2", ""} {
		n.partition(isolated)
		for _, way := range []string{"n1 n2", "n2 n3", "n1 n3", "c1 n2", "n2 n2"} {
			src, dest, _ := strings.Cut(way, " ")
			if err := n.send(packet{Src: src, Dest: dest}); err != nil {
				t.Error(err)
			}
		}
	}
	if received["n2"] != 2+3 || received["n3"] != 1+2 || n.dropped != 2 {
		t.Errorf("received: %v, dropped: %d", received, n.dropped)
	}
	for _, line := range []string{`{"src": "n1", "dest": "n4"}`, `{"src": "n2", "dest": "n3"}`, `{"src": "n1", "dest": "n3", "x": 1}`, `{}`, "no JSON"} {
		if err := n.forward("n1", strings.NewReader(line)); err == io.EOF {
			t.Errorf("a node that writes %s is not reported", line)
		}
	}

	expired := make(chan time.Time)
	close(expired)
	if r := c.call("n1", `"type": "generate"`, expired); r != nil || c.late != 1 {
		t.Errorf("before the reply: %+v, %d late", r, c.late)
	}
	const reply = `{"src": "n1", "dest": "c1", "body": {"type": "generate_ok", "in_reply_to": 1, "id": 7}}`
	if err := n.forward("n1", strings.NewReader(reply+reply)); err != io.EOF {
		t.Error(err)
	}
	if c.drain(); c.history[0].reply == nil || n.ctx.Err() != nil {
		t.Errorf("after it: %+v, %v", c.history, context.Cause(n.ctx))
	}
	if c.receive(nil) || n.ctx.Err() == nil {
		t.Error("a second reply is not reported")
	}
}

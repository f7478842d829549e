// Command maelstrom is a node for the workload unique-ids of Maelstrom (https://github.com/jepsen-io/maelstrom), which tests
// distributed systems: it starts a process for each node, requests IDs from all of them, in lines of JSON on standard input and
// output, and checks that no ID comes twice. In a clone, with Maelstrom in the PATH:
//
//	go build ./examples/maelstrom
//	maelstrom test -w unique-ids --bin ./maelstrom --time-limit 30 --rate 1000 --node-count 3 --availability total --nemesis partition
//
// The nodes send each other nothing, so a partition between them has no effect.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"
	"slices"

	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign"
)

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		log.Fatal("maelstrom: ", err) // to standard error, as all logs
	}
}

// message is a line of input, with a request in it, or of output, with a reply.
type message[Body request | reply] struct {
	Src  string `json:"src"`
	Dest string `json:"dest"`
	Body Body   `json:"body"`
}

type request struct {
	Type    string   `json:"type"`
	MsgID   *int64   `json:"msg_id"`
	NodeID  string   `json:"node_id"`  // of init
	NodeIDs []string `json:"node_ids"` // of init
}

type reply struct {
	Type      string `json:"type"`
	InReplyTo int64  `json:"in_reply_to"`
	// The workload accepts any JSON as an ID. A uid.ID is a string of digits. Maelstrom would read a number of 64 bits exactly,
	// too, but what keeps numbers as floating point rounds it, and then two IDs can be equal.
	ID   uid.ID `json:"id,omitzero"`   // of generate_ok
	Code int    `json:"code,omitzero"` // of error
	Text string `json:"text,omitzero"` // of error
}

// Maelstrom's codes of errors. These are definite: the request has no effect, now or later.
const (
	notSupported           = 10
	temporarilyUnavailable = 11
	malformedRequest       = 12
	preconditionFailed     = 22
)

func failure(code int, format string, args ...any) reply {
	return reply{Type: "error", Code: code, Text: fmt.Sprintf(format, args...)}
}

// run replies to the requests in the input, one after the other, until it ends. A message that cannot be read is an error, because
// nobody could be sent a reply: the process ends, which Maelstrom reports together with the log.
func run(in io.Reader, out io.Writer) error {
	var n node
	defer func() { n.ids.Close() }()
	requests, replies := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var m message[request]
		if err := requests.Decode(&m); err == io.EOF {
			return nil
		} else if err != nil {
			return fmt.Errorf("malformed message: %w", err)
		}
		if m.Body.MsgID == nil {
			log.Printf("ignored a message of type %q from %q: without msg_id, it expects no reply", m.Body.Type, m.Src)
			continue
		}
		r := n.handle(m.Body)
		if r.Type == "error" {
			log.Printf("request of type %q from %q: error %d: %s", m.Body.Type, m.Src, r.Code, r.Text)
		}
		r.InReplyTo = *m.Body.MsgID
		if err := replies.Encode(message[reply]{Src: m.Dest, Dest: m.Src, Body: r}); err != nil {
			return err
		}
	}
}

// node is the state of this node.
type node struct {
	ids *uid.Default // nil before init
}

func (n *node) handle(r request) reply {
	switch r.Type {
	case "init":
		return n.init(r)
	case "generate":
		if n.ids == nil {
			return failure(temporarilyUnavailable, "there was no init yet")
		}
		id, err := n.ids.Next() // waits for the next millisecond if this one's 4,096 IDs are used up
		if err != nil {
			return failure(temporarilyUnavailable, "%v", err)
		}
		return reply{Type: "generate_ok", ID: id}
	}
	return failure(notSupported, "type %q is not supported", r.Type)
}

// init creates the generator. Its worker ID is the node's index in node_ids. All nodes of a test get the same list, so each one has
// another worker ID, and none must be stored.
//
// Static requires that no two processes use a worker ID at the same time, and relies on the clock after a restart: the generator
// stamps no ID with a time before its start, so IDs differ if the clock then shows no earlier time than that of the last ID. That is
// safe here: a node has one process at a time, all are on one host, and Maelstrom does not set its clock. If clocks can be set back, use
// StaticFile; if processes have no numbers, another assigner.
//
// Time is counted in milliseconds. With the default, a node would wait up to a second before its first ID.
func (n *node) init(r request) reply {
	if n.ids != nil {
		return failure(preconditionFailed, "there was an init before") // a second generator must not have the same worker ID
	}
	index := slices.Index(r.NodeIDs, r.NodeID)
	if index < 0 {
		return failure(malformedRequest, "node_id %q is not in node_ids %q", r.NodeID, r.NodeIDs)
	}
	ids, err := uid.NewDefault(context.Background(), workerassign.Static(int64(index)), uid.WithTwitterLayout())
	if err != nil {
		return failure(temporarilyUnavailable, "%v", err)
	}
	n.ids = ids
	return reply{Type: "init_ok"}
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
)

// This file plays Maelstrom's part: the network, processes of nodes, clients and partitions of the workload unique-ids, and the check.

// packet is a message in the network, which gives it an ID.
type packet struct {
	ID   int             `json:"id,omitzero"`
	Src  string          `json:"src"`
	Dest string          `json:"dest"`
	Body json.RawMessage `json:"body"`
}

func (p packet) String() string { return fmt.Sprintf("%q to %q: %s", p.Src, p.Dest, p.Body) }

// network delivers packets between nodes, n1 and so on, and clients, c1 and so on.
type network struct {
	tb   testing.TB
	ctx  context.Context // ends when something is wrong, with the reason
	fail context.CancelCauseFunc

	mu       sync.Mutex
	deliver  map[string]func(packet) error // by receiver
	isolated string                        // the node that a partition separates from the other nodes, but not from clients
	sent     int                           // packets
	dropped  int                           // packets, by partitions
}

func newNetwork(tb testing.TB) *network {
	ctx, fail := context.WithCancelCause(testkit.Patient(tb))
	return &network{tb: tb, ctx: ctx, fail: fail, deliver: map[string]func(packet) error{}}
}

// add adds a node or a client, or replaces it.
func (n *network) add(name string, deliver func(packet) error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.deliver[name] = deliver
}

// partition separates a node from the others. The name "" ends the partition.
func (n *network) partition(isolated string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.isolated = isolated
}

// send delivers a packet, or drops it. It returns an error if the sender or the receiver does not exist.
func (n *network) send(p packet) error {
	n.mu.Lock()
	n.sent++
	p.ID = n.sent
	sender, receiver := n.deliver[p.Src], n.deliver[p.Dest]
	drop := strings.HasPrefix(p.Src, "n") && strings.HasPrefix(p.Dest, "n") && (p.Src == n.isolated) != (p.Dest == n.isolated)
	if drop {
		n.dropped++
	}
	n.mu.Unlock()
	switch {
	case sender == nil || receiver == nil:
		return fmt.Errorf("the sender or the receiver does not exist: %v", p)
	case drop:
		return nil
	}
	return receiver(p)
}

// process is a process of a node.
type process struct {
	*exec.Cmd
	ending atomic.Bool   // end was called
	ended  chan struct{} // closed when it has ended
}

// start starts the process of a node.
func (n *network) start(name string) *process {
	n.tb.Helper()
	p := &process{Cmd: exec.Command(os.Args[0]), ended: make(chan struct{})}
	p.Env, p.Stderr = append(os.Environ(), nodeEnv+"="+name), os.Stderr
	in, err := p.StdinPipe()
	out, err2 := p.StdoutPipe()
	if err := errors.Join(err, err2, p.Start()); err != nil {
		n.tb.Fatal(err)
	}
	n.add(name, func(p packet) error { return json.NewEncoder(in).Encode(p) })
	go func() {
		defer close(p.ended)
		if err := n.forward(name, out); err != io.EOF || !p.ending.Load() {
			n.fail(fmt.Errorf("output of node %s: %w", name, err))
		}
		p.Wait()
	}()
	n.tb.Cleanup(p.end)
	return p
}

// end kills the process.
func (p *process) end() {
	p.ending.Store(true)
	p.Process.Kill()
	<-p.ended
}

// forward sends what a node writes, until there is an error. At the end this is io.EOF.
func (n *network) forward(name string, out io.Reader) error {
	d := json.NewDecoder(out)
	d.DisallowUnknownFields()
	for {
		var p packet
		if err := d.Decode(&p); err != nil {
			return err
		}
		if p.Src != name {
			return fmt.Errorf("a message of %q", p.Src)
		}
		if err := n.send(p); err != nil {
			return err
		}
	}
}

// operation is a request and its reply.
type operation struct {
	dest  string
	reply *answer // nil if there is none
}

// answer has the fields that the body of a reply may have. The ID is any JSON, of which the check loses no bit.
type answer struct {
	Type      string          `json:"type"`
	MsgID     int             `json:"msg_id"`
	InReplyTo int             `json:"in_reply_to"`
	ID        json.RawMessage `json:"id"`
	Code      int             `json:"code"`
	Text      string          `json:"text"`
}

// client sends one request at a time.
type client struct {
	net     *network
	name    string
	inbox   chan packet
	history []operation // the first request has msg_id 1
	late    int         // replies that did not come before the timeout
}

func (n *network) newClient(name string) *client {
	c := &client{net: n, name: name, inbox: make(chan packet, 1000)}
	n.add(name, func(p packet) error { c.inbox <- p; return nil })
	return c
}

// call sends a request with the given fields, and waits for its reply until the timeout.
func (c *client) call(dest, fields string, timeout <-chan time.Time) *answer {
	c.history = append(c.history, operation{dest: dest})
	id := len(c.history)
	body := fmt.Sprintf(`{"msg_id": %d, %s}`, id, fields)
	if err := c.net.send(packet{Src: c.name, Dest: dest, Body: json.RawMessage(body)}); err != nil {
		c.net.fail(err)
	}
	for c.history[id-1].reply == nil && c.receive(timeout) {
	}
	return c.history[id-1].reply
}

// receive receives one reply, to any request. It returns false if there is none before the timeout.
func (c *client) receive(timeout <-chan time.Time) bool {
	select {
	case <-c.net.ctx.Done():
		return false
	case <-timeout:
		c.late++
		return false
	case p := <-c.inbox:
		var a answer
		d := json.NewDecoder(bytes.NewReader(p.Body))
		d.DisallowUnknownFields()
		err := d.Decode(&a)
		i := a.InReplyTo - 1
		if err != nil || i < 0 || i >= len(c.history) || c.history[i].dest != p.Src || c.history[i].reply != nil {
			c.net.fail(fmt.Errorf("%s got a malformed reply, or a second one, or one to no request: %v (%v)", c.name, p, err))
			return false
		}
		c.history[i].reply = &a
		return true
	}
}

// drain waits for the replies that did not come before their timeout.
func (c *client) drain() {
	for i := range c.history {
		for c.history[i].reply == nil && c.receive(nil) {
		}
	}
}

const (
	requestTimeout = 5 * time.Second         // Maelstrom's
	maxPause       = 2 * time.Second / 1_000 // between requests, at random: about 1,000 per second
	changes        = 8                       // of partitions, in one call of generate
)

// generate lets the clients request IDs from nodes at random, while partitions begin and end.
func (n *network) generate(clients []*client, nodes []string, requests int) {
	dests := make(chan string)
	var running sync.WaitGroup
	for _, c := range clients {
		running.Go(func() {
			for dest := range dests {
				c.call(dest, `"type": "generate"`, time.After(requestTimeout))
			}
			c.drain()
		})
	}
	for i := range requests {
		if step := requests / changes; i%step == 0 {
			n.partition([]string{nodes[rand.IntN(len(nodes))], ""}[i/step%2])
		}
		time.Sleep(rand.N(maxPause))
		select {
		case dests <- nodes[rand.IntN(len(nodes))]:
		case <-n.ctx.Done():
		}
	}
	close(dests)
	running.Wait()
}

// result is what the check of a history finds.
type result struct {
	attempted, acknowledged int
	duplicated              map[string]int // how often each ID was acknowledged, if more than once
}

// check counts as Maelstrom's checker of unique IDs does.
func check(history []operation) result {
	r, count := result{attempted: len(history), duplicated: map[string]int{}}, map[string]int{}
	for _, o := range history {
		if o.reply == nil || o.reply.Type != "generate_ok" || o.reply.ID == nil {
			continue
		}
		r.acknowledged++
		id := string(o.reply.ID)
		if count[id]++; count[id] > 1 {
			r.duplicated[id] = count[id]
		}
	}
	return r
}

// isValid reports whether there are IDs and no duplicates. Maelstrom requires both.
func (r result) isValid() bool { return r.acknowledged > 0 && len(r.duplicated) == 0 }

// isAvailable reports whether every request was acknowledged, which Maelstrom requires with --availability total. There, a reply after
// the timeout does not count. Here it does, because other processes of a busy machine can delay it.
func (r result) isAvailable() bool { return r.acknowledged == r.attempted }

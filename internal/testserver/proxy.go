package testserver

import (
	"net"
	"sync"
	"testing"
	"time"
)

// Proxy forwards TCP connections to a server, and loses or delays what is sent. The connections that it has
// tampered with are closed afterwards, as a client would close them at a timeout.
type Proxy struct {
	// Filter, if not nil, changes what was delayed before it is delivered.
	Filter func(delayed []byte) []byte

	target   string
	listener net.Listener

	mu          sync.Mutex
	mode        proxyMode
	connections map[*proxied]bool
	accepted    sync.WaitGroup
}

type proxyMode int

const (
	forward proxyMode = iota
	loseRequests
	loseReplies
	delayRequests
)

// proxied is one connection.
type proxied struct {
	client, server net.Conn
	delayed        []byte
	detached       bool // the client's side is closed, and the server's remains open
}

// NewProxy returns a proxy to a server, which ends with the test.
func NewProxy(tb testing.TB, target string) *Proxy {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	p := &Proxy{target: target, listener: l, connections: map[*proxied]bool{}}
	p.accepted.Go(p.accept)
	tb.Cleanup(func() {
		l.Close()
		p.closeAll()
		p.accepted.Wait()
	})
	return p
}

// Address returns the address of the proxy.
func (p *Proxy) Address() string { return p.listener.Addr().String() }

// LoseRequests calls call; meanwhile what clients send gets lost.
func (p *Proxy) LoseRequests(_ testing.TB, call func()) { p.during(loseRequests, call) }

// LoseReplies calls call; meanwhile what the server sends gets lost.
func (p *Proxy) LoseReplies(_ testing.TB, call func()) { p.during(loseReplies, call) }

func (p *Proxy) during(m proxyMode, call func()) {
	p.setMode(m)
	call()
	p.closeAll()
	p.setMode(forward)
}

// DelayRequests calls call; what clients send meanwhile reaches the server when deliver is called.
func (p *Proxy) DelayRequests(_ testing.TB, call func()) (deliver func()) {
	p.setMode(delayRequests)
	call()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mode = forward
	var delayed []*proxied
	for c := range p.connections {
		if len(c.delayed) == 0 {
			continue
		}
		c.detached = true
		c.client.Close()
		delayed = append(delayed, c)
	}
	return func() {
		for _, c := range delayed {
			p.mu.Lock()
			data := c.delayed
			p.mu.Unlock()
			if p.Filter != nil {
				data = p.Filter(data)
			}
			c.server.Write(data)
		}
		time.Sleep(300 * time.Millisecond) // until the server has executed them
		for _, c := range delayed {
			c.server.Close()
		}
	}
}

func (p *Proxy) setMode(m proxyMode) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mode = m
}

// closeAll closes all connections.
func (p *Proxy) closeAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.connections {
		c.client.Close()
		c.server.Close()
	}
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.target)
		if err != nil { // the server is down
			client.Close()
			continue
		}
		c := &proxied{client: client, server: server}
		p.mu.Lock()
		p.connections[c] = true
		p.mu.Unlock()
		p.accepted.Go(func() { p.copy(c, server, client, true) })
		p.accepted.Go(func() { p.copy(c, client, server, false) })
	}
}

// copy copies from one side of a connection to the other.
func (p *Proxy) copy(c *proxied, to, from net.Conn, isRequest bool) {
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		c.client.Close()
		if isRequest && c.detached {
			return // until the delayed requests are delivered
		}
		c.server.Close()
		if !isRequest {
			delete(p.connections, c)
		}
	}()
	buf := make([]byte, 1<<16)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		p.mu.Lock()
		drop := isRequest && p.mode == loseRequests || !isRequest && (p.mode == loseReplies || c.detached)
		if isRequest && p.mode == delayRequests {
			c.delayed = append(c.delayed, buf[:n]...)
			drop = true
		}
		p.mu.Unlock()
		if drop {
			continue
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}

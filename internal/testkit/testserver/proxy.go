package testserver

import (
	"net"
	"sync"
	"testing"

	"github.com/ringuid/ringuid/internal/testkit"
)

// Proxy forwards TCP connections to a server, and loses or delays what is sent. The connections that it has
// tampered with are closed afterwards, as a client would close them at a timeout.
type Proxy struct {
	// Filter, if not nil, changes what was delayed before it is delivered.
	Filter func(delayed []byte) []byte

	// Delays, if not nil, reports whether DelayRequests delays a request, and what follows it on the same connection.
	Delays func(request []byte) bool

	// HasMessage, if not nil, reports whether data has a request, or a reply. If it is nil, it has if it is not empty.
	HasMessage func(data []byte) bool

	// OneReply says that each request has one reply. Then a connection is closed at once when something was lost on it.
	OneReply bool

	listener net.Listener

	mu          sync.Mutex
	target      string
	mode        proxyMode
	isCut       func(client net.Addr) bool // of Cut; nil: no client
	ended       bool                       // the test has ended
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
	replied        chan struct{} // has a value after a reply to delayed requests
	detached       bool          // the client's side is closed, and the server's remains open: what it had sent after delayed is lost
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
		p.mu.Lock()
		p.ended = true // accept may be dialing
		p.mu.Unlock()
		p.closeAll()
		p.accepted.Wait()
	})
	return p
}

// Address returns the address of the proxy.
func (p *Proxy) Address() string { return p.listener.Addr().String() }

// SetTarget changes the server of later connections.
func (p *Proxy) SetTarget(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = target
}

// Delayed reports whether a request was delayed.
func (p *Proxy) Delayed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.connections {
		if len(c.delayed) > 0 {
			return true
		}
	}
	return false
}

// LoseRequests calls call; meanwhile what clients send gets lost.
func (p *Proxy) LoseRequests(_ testing.TB, call func()) { p.during(loseRequests, call) }

// LoseReplies calls call; meanwhile what the server sends gets lost.
func (p *Proxy) LoseReplies(_ testing.TB, call func()) { p.during(loseReplies, call) }

// Cut loses what clients and the server send, and that they close connections, until heal is called, which closes them: as if
// the network lost all packets. isCut says which clients are cut off, by their addresses; nil: all.
func (p *Proxy) Cut(isCut func(client net.Addr) bool) (heal func()) {
	if isCut == nil {
		isCut = func(net.Addr) bool { return true }
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.isCut = isCut
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		for c := range p.connections {
			c.client.Close()
			c.server.Close()
		}
		p.isCut = nil
	}
}

func (p *Proxy) during(m proxyMode, call func()) {
	p.setMode(m)
	call()
	p.closeAll()
	p.setMode(forward)
}

// DelayRequests calls call; what clients send meanwhile reaches the server when deliver is called.
func (p *Proxy) DelayRequests(tb testing.TB, call func()) (deliver func()) {
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
		if !p.hasMessage(c.delayed) { // of a client that calls nothing, as the start of its connection
			c.server.Write(c.delayed)
			c.delayed = nil
			continue
		}
		c.detached = true
		c.client.Close()
		delayed = append(delayed, c)
	}
	return func() {
		var requested []*proxied
		for _, c := range delayed {
			p.mu.Lock()
			data := c.delayed
			p.mu.Unlock()
			if p.Filter != nil {
				data = p.Filter(data)
			}
			select {
			case <-c.replied: // to something before
			default:
			}
			c.server.Write(data)
			if p.hasMessage(data) {
				requested = append(requested, c)
			}
		}
		for _, c := range requested {
			testkit.Eventually(tb, "the server has executed the delayed requests", func() bool { return len(c.replied) > 0 })
		}
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
		p.mu.Lock()
		target := p.target
		p.mu.Unlock()
		server, err := net.Dial("tcp", target)
		if err != nil { // the server is down
			client.Close()
			continue
		}
		c := &proxied{client: client, server: server, replied: make(chan struct{}, 1)}
		p.mu.Lock()
		ended := p.ended
		p.connections[c] = true
		p.mu.Unlock()
		if ended {
			client.Close()
			server.Close()
			return
		}
		p.accepted.Go(func() { p.copy(c, server, client, true) })
		p.accepted.Go(func() { p.copy(c, client, server, false) })
	}
}

// copy copies from one side of a connection to the other.
func (p *Proxy) copy(c *proxied, to, from net.Conn, isRequest bool) {
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.cuts(c) {
			return // until heal
		}
		c.client.Close()
		if isRequest && (c.detached || len(c.delayed) > 0) {
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
			if !isRequest {
				c.hasReplied() // it will not
			}
			return
		}
		p.mu.Lock()
		isCut := p.cuts(c)
		drop := isCut || c.detached || isRequest && p.mode == loseRequests || !isRequest && p.mode == loseReplies
		if isRequest && p.mode == delayRequests && (p.Delays == nil || len(c.delayed) > 0 || p.Delays(buf[:n])) {
			c.delayed = append(c.delayed, buf[:n]...)
			drop = true
		}
		detached, ends := c.detached, drop && !isCut && p.OneReply && p.mode != delayRequests && !c.detached
		p.mu.Unlock()
		if ends {
			return
		}
		if !isRequest && detached && p.hasMessage(buf[:n]) {
			c.hasReplied()
		}
		if drop {
			continue
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}

// cuts reports whether Cut concerns a connection. p.mu is held.
func (p *Proxy) cuts(c *proxied) bool { return p.isCut != nil && p.isCut(c.client.RemoteAddr()) }

func (p *Proxy) hasMessage(data []byte) bool {
	return len(data) > 0 && (p.HasMessage == nil || p.HasMessage(data))
}

// hasReplied records a reply to delayed requests.
func (c *proxied) hasReplied() {
	select {
	case c.replied <- struct{}{}:
	default:
	}
}

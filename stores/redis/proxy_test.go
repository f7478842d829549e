package redis_test

import (
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// proxy forwards connections to a server that can be changed, and loses or delays what they carry.
type proxy struct {
	listener net.Listener

	mu      sync.Mutex
	target  string
	mode    proxyMode
	delayed []func()
	conns   map[net.Conn]bool
	closed  bool
}

type proxyMode int

const (
	forward       proxyMode = iota
	loseRequests            // drops a request and closes its connection
	loseReplies             // forwards a request, drops its reply and closes its connection
	delayRequests           // keeps requests until deliver
)

func newProxy(t testing.TB, target string) *proxy {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l, target: target, conns: map[net.Conn]bool{}}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() { p.serve(c) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		p.closeAll(true)
		running.Wait()
	})
	return p
}

func (p *proxy) address() string { return p.listener.Addr().String() }

// setTarget changes the server of new connections.
func (p *proxy) setTarget(address string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = address
}

func (p *proxy) setMode(m proxyMode) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mode = m
}

func (p *proxy) currentMode() proxyMode {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mode
}

// during calls f in a mode.
func (p *proxy) during(m proxyMode, f func()) {
	p.setMode(m)
	defer p.setMode(forward)
	f()
}

// deliver sends the delayed requests to the server and waits for their replies.
func (p *proxy) deliver() {
	p.mu.Lock()
	delayed := p.delayed
	p.delayed = nil
	p.mu.Unlock()
	for _, send := range delayed {
		send()
	}
}

// add records a connection. It reports false if the proxy is closed.
func (p *proxy) add(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.conns[c] = true
	return true
}

func (p *proxy) closeAll(permanently bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = p.closed || permanently
	for c := range p.conns {
		c.Close()
	}
}

func (p *proxy) serve(client net.Conn) {
	defer client.Close()
	p.mu.Lock()
	target := p.target
	p.mu.Unlock()
	server, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	if !p.add(client) || !p.add(server) {
		server.Close()
		return
	}
	replied := make(chan struct{}, 1)
	var delayed sync.WaitGroup // the server's connection lasts until they are delivered, or the test ends
	go func() {
		defer client.Close()
		copyChunks(server, func(chunk []byte) bool {
			select {
			case replied <- struct{}{}:
			default:
			}
			if p.currentMode() == loseReplies {
				return false
			}
			client.Write(chunk) // fails if the client no longer waits
			return true
		})
	}()
	copyChunks(client, func(chunk []byte) bool {
		switch p.currentMode() {
		case loseRequests:
			return false
		case delayRequests:
			delayed.Add(1)
			p.mu.Lock()
			defer p.mu.Unlock()
			p.delayed = append(p.delayed, func() {
				defer delayed.Done()
				select {
				case <-replied: // of an earlier request
				default:
				}
				server.Write(chunk)
				select {
				case <-replied:
				case <-time.After(2 * time.Second):
				}
			})
			return true
		}
		_, err := server.Write(chunk)
		return err == nil
	})
	go func() {
		delayed.Wait()
		server.Close()
	}()
}

// copyChunks calls f with what it reads, until f returns false or the connection ends.
func copyChunks(from io.Reader, f func(chunk []byte) bool) {
	for {
		chunk := make([]byte, 64<<10)
		n, err := from.Read(chunk)
		if n > 0 && !f(chunk[:n]) || err != nil {
			return
		}
	}
}

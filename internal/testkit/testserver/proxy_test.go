package testserver

import (
	"bufio"
	"bytes"
	"net"
	"testing"

	"github.com/ringuid/ringuid/internal/testkit"
)

// A client that sends no request while those of others are delayed keeps its connection, and what it has sent.
func TestDelayRequestsOfOthers(t *testing.T) {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	go func() { // it answers each line with the line
		for {
			c, err := server.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				for r := bufio.NewReader(c); ; {
					line, err := r.ReadString('\n')
					if err != nil {
						return
					}
					c.Write([]byte(line))
				}
			}()
		}
	}()
	p := NewProxy(t, server.Addr().String())
	p.HasMessage = func(data []byte) bool { return bytes.Contains(data, []byte("request")) }
	dial := func() (net.Conn, *bufio.Reader) {
		c, err := net.Dial("tcp", p.Address())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c, bufio.NewReader(c)
	}
	quiet, replies := dial()
	late, none := dial()
	deliver := p.DelayRequests(t, func() {
		quiet.Write([]byte("hello "))
		late.Write([]byte("request\n"))
		testkit.Eventually(t, "data of both is delayed", func() bool {
			p.mu.Lock()
			defer p.mu.Unlock()
			delayed := 0
			for c := range p.connections {
				delayed += min(len(c.delayed), 1)
			}
			return delayed == 2
		})
	})
	quiet.Write([]byte("request\n"))
	if line, err := replies.ReadString('\n'); line != "hello request\n" {
		t.Errorf("a client whose requests were not delayed got %q, %v", line, err)
	}
	deliver()
	if line, err := none.ReadString('\n'); err == nil {
		t.Errorf("a client whose request was delayed got %q", line)
	}
}

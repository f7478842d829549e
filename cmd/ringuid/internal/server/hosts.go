package server

import (
	"net"
	"net/netip"
	"strings"
)

// A hostCheck decides which hosts a request may name. On the loopback interface only this machine's names are allowed:
// otherwise a page on the Internet whose name is made to lead to 127.0.0.1 (DNS rebinding) could use the server
// through the browser of somebody on this machine.
type hostCheck struct {
	any   bool
	names []string // in lower case
}

// newHostCheck returns the check for a server that listens on an address. names are allowed in any case.
func newHostCheck(listen string, names []string) hostCheck {
	c := hostCheck{names: []string{"localhost"}}
	for _, name := range names {
		c.names = append(c.names, strings.ToLower(name))
	}
	c.any = len(names) == 0 && !isLoopback(listen)
	return c
}

// isLoopback reports whether an address to listen on is one of the loopback interface.
func isLoopback(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return false
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback()
}

// allows reports whether a request may name the host. An IP address is always allowed: no name leads to it.
func (c hostCheck) allows(host string) bool {
	if c.any {
		return true
	}
	if i := strings.LastIndexByte(host, ':'); i >= 0 && !strings.HasSuffix(host, "]") {
		host = host[:i]
	}
	for _, name := range c.names {
		if strings.EqualFold(host, name) {
			return true
		}
	}
	if host == "" { // HTTP/1.0
		return true
	}
	_, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil
}

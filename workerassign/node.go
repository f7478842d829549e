package workerassign

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// NodeType is the column TYPE: what kind of node took a worker ID.
type NodeType int

// The original's types.
const (
	Container NodeType = 1
	Actual    NodeType = 2 // a machine, real or virtual
	Fake      NodeType = 3
)

// columnLength is the length of HOST_NAME and PORT, in characters.
const columnLength = 64

// Node is what a row tells of the node that took the worker ID. It is for people: worker
// IDs differ whatever it says.
type Node struct {
	HostName string // cut to its last 64 characters
	Port     string // the same
	Type     NodeType
}

// check returns what is wrong with a node that a caller gave.
func (n Node) validate() error {
	switch {
	case n.HostName == "":
		return fmt.Errorf("the node's host name is empty")
	case n.Port == "":
		return fmt.Errorf("the node's port is empty")
	case n.Type < Container || n.Type > Fake:
		return fmt.Errorf("the node's type is %d, %d (container) to %d (fake) is needed", n.Type, Container, Fake)
	}
	return nil
}

// DetectNode finds out what can be said of this node. In this order:
//
//   - JPAAS_HOST with JPAAS_HTTP_PORT or else JPAAS_HOST_PORT_8080, as the original does: a
//     container of that host and port;
//   - KUBERNETES_SERVICE_HOST is set, or there is a /.dockerenv: a container, whose host name
//     is its pod's or container's;
//   - else a machine, with its first address that is not a loopback one, or its host name.
//
// Where there is no port, it is "<milliseconds>-<random below 100000>", as the original's.
func DetectNode() Node { return systemEnvironment().detect() }

// environment is what a node is found out from.
type environment struct {
	getenv   func(string) string
	hostname func() (string, error)
	exists   func(path string) bool
	addrs    func() ([]net.Addr, error)
	now      func() time.Time
	random   func(n int) int
}

func systemEnvironment() environment {
	return environment{
		getenv:   os.Getenv,
		hostname: os.Hostname,
		exists:   func(path string) bool { _, err := os.Stat(path); return err == nil },
		addrs:    net.InterfaceAddrs,
		now:      time.Now,
		random:   rand.IntN,
	}
}

func (e environment) detect() Node {
	if host := e.getenv("JPAAS_HOST"); host != "" {
		// A host without a port, or the reverse, is not the original's container, and no
		// reason to fail.
		for _, name := range []string{"JPAAS_HTTP_PORT", "JPAAS_HOST_PORT_8080"} {
			if port := e.getenv(name); port != "" {
				return Node{HostName: host, Port: port, Type: Container}
			}
		}
	}
	port := strconv.FormatInt(e.now().UnixMilli(), 10) + "-" + strconv.Itoa(e.random(100_000))
	if e.getenv("KUBERNETES_SERVICE_HOST") != "" || e.exists("/.dockerenv") {
		return Node{HostName: e.bestHostName(), Port: port, Type: Container}
	}
	if addr := e.firstAddress(); addr != "" {
		return Node{HostName: addr, Port: port, Type: Actual}
	}
	return Node{HostName: e.bestHostName(), Port: port, Type: Actual}
}

// name returns the host name, or a word where there is none.
func (e environment) bestHostName() string {
	if name, err := e.hostname(); err == nil && name != "" {
		return name
	}
	if name := e.getenv("HOSTNAME"); name != "" {
		return name
	}
	return "unknown"
}

// address returns the first address that others may know this machine by, an IPv4 one if
// there is one, or "".
func (e environment) firstAddress() string {
	addrs, err := e.addrs()
	if err != nil {
		return ""
	}
	found := ""
	for _, addr := range addrs {
		ip, ok := addr.(*net.IPNet)
		if !ok || !ip.IP.IsGlobalUnicast() {
			continue
		}
		if ip.IP.To4() != nil {
			return ip.IP.String()
		}
		if found == "" {
			found = ip.IP.String()
		}
	}
	return found
}

// column makes a text fit its column: valid UTF-8, and cut to its last characters, which are
// the ones that tell pods and hosts of one name's kind apart.
func fitColumn(s string) string {
	s = strings.ToValidUTF8(s, "?")
	for n := utf8.RuneCountInString(s); n > columnLength; n-- {
		_, size := utf8.DecodeRuneInString(s)
		s = s[size:]
	}
	return s
}

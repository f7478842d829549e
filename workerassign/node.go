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

// NodeType is the value of the column TYPE: the kind of node that received a worker ID.
type NodeType int

// The node types of Baidu's UidGenerator.
const (
	Container NodeType = 1
	Actual    NodeType = 2 // a physical or virtual machine
	Fake      NodeType = 3
)

// columnLength is the length of the columns HOST_NAME and PORT, in characters.
const columnLength = 64

// Node describes the node that received a worker ID. Its values are stored in the row for people
// to read. They have no influence on worker IDs.
type Node struct {
	HostName string // if longer than 64 characters, only the last 64 are stored
	Port     string // if longer than 64 characters, only the last 64 are stored
	Type     NodeType
}

// validate returns an error if a field of a Node that the caller passed is invalid.
func (n Node) validate() error {
	switch {
	case n.HostName == "":
		return fmt.Errorf("the node's host name is empty; must not be empty")
	case n.Port == "":
		return fmt.Errorf("the node's port is empty; must not be empty")
	case n.Type < Container || n.Type > Fake:
		return fmt.Errorf("the node's type is %d; must be %d (container) to %d (fake)", n.Type, Container, Fake)
	}
	return nil
}

// DetectNode returns a description of this node. It uses the first of these rules that applies:
//
//   - If the environment variable JPAAS_HOST is set, and JPAAS_HTTP_PORT or else
//     JPAAS_HOST_PORT_8080, the node is a container with that host name and port, as in Baidu's
//     UidGenerator.
//   - If KUBERNETES_SERVICE_HOST is set or the file /.dockerenv exists, the node is a container with
//     the host name of the pod or container.
//   - Otherwise the node is a machine. Its name is its first IPv4 address that is not a loopback or
//     link-local address, else such an IPv6 address, else its host name.
//
// Without a port in the environment, the port is "<milliseconds>-<random number below 100000>", as
// in Baidu's UidGenerator. The milliseconds are the Unix time.
func DetectNode() Node { return systemEnvironment().detect() }

// environment is the information that DetectNode uses. Tests replace it.
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
		// A host without a port, or a port without a host, is not an error: the next rule applies.
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

// bestHostName returns the host name, or "unknown" if there is none.
func (e environment) bestHostName() string {
	if name, err := e.hostname(); err == nil && name != "" {
		return name
	}
	if name := e.getenv("HOSTNAME"); name != "" {
		return name
	}
	return "unknown"
}

// firstAddress returns the first global unicast address of this machine: an IPv4 address if there is
// one, else an IPv6 address, else "".
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

// fitColumn returns s as valid UTF-8, shortened to its last 64 characters. It keeps the end, because
// the names of similar pods and hosts usually differ there.
func fitColumn(s string) string {
	s = strings.ToValidUTF8(s, "?")
	for n := utf8.RuneCountInString(s); n > columnLength; n-- {
		_, size := utf8.DecodeRuneInString(s)
		s = s[size:]
	}
	return s
}

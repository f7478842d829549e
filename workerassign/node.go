package workerassign

import (
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// The kinds of nodes in Baidu's UidGenerator. Its third one, 3 (fake), is not used.
const (
	kindContainer = 1
	kindActual    = 2 // a physical or virtual machine
)

// columnLength is the length of the columns HOST_NAME and PORT, in characters.
const columnLength = 64

// node describes the node that received a worker ID. Its values are stored in the row, see WithNode.
type node struct {
	hostName, port string
	kind           int // the column TYPE
}

// detectNode returns a description of this node, by the rules that WithNode names.
func detectNode() node { return systemEnvironment().detect() }

// environment is the information that detectNode uses. Tests replace it.
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

func (e environment) detect() node {
	if host := e.getenv("JPAAS_HOST"); host != "" {
		// A host without a port, or a port without a host, is not an error: the next rule applies.
		for _, name := range []string{"JPAAS_HTTP_PORT", "JPAAS_HOST_PORT_8080"} {
			if port := e.getenv(name); port != "" {
				return node{hostName: host, port: port, kind: kindContainer}
			}
		}
	}
	port := strconv.FormatInt(e.now().UnixMilli(), 10) + "-" + strconv.Itoa(e.random(100_000))
	if e.getenv("KUBERNETES_SERVICE_HOST") != "" || e.exists("/.dockerenv") {
		return node{hostName: e.bestHostName(), port: port, kind: kindContainer}
	}
	if addr := e.firstAddress(); addr != "" {
		return node{hostName: addr, port: port, kind: kindActual}
	}
	return node{hostName: e.bestHostName(), port: port, kind: kindActual}
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

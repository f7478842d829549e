package workerassign

import (
	"errors"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// testEnvironment returns an environment with the given variables, host name and addresses.
func testEnvironment(vars map[string]string, dockerenv bool, name string, addrs ...string) environment {
	return environment{
		getenv: func(k string) string { return vars[k] },
		hostname: func() (string, error) {
			if name == "" {
				return "", errors.New("no name")
			}
			return name, nil
		},
		exists: func(path string) bool { return dockerenv && path == "/.dockerenv" },
		addrs: func() ([]net.Addr, error) {
			var list []net.Addr
			for _, a := range addrs {
				ip, network, err := net.ParseCIDR(a)
				if err != nil {
					return nil, err
				}
				list = append(list, &net.IPNet{IP: ip, Mask: network.Mask})
			}
			return list, nil
		},
		now:    func() time.Time { return time.UnixMilli(1_700_000_000_123) },
		random: func(int) int { return 42 },
	}
}

func TestDetectNode(t *testing.T) {
	const generated = "1700000000123-42"
	for _, tt := range []struct {
		name string
		env  environment
		want node
	}{
		{"JPAAS with its first port", testEnvironment(map[string]string{"JPAAS_HOST": "h", "JPAAS_HTTP_PORT": "80", "JPAAS_HOST_PORT_8080": "81"}, true, "n"),
			node{"h", "80", kindContainer}},
		{"JPAAS with its second port", testEnvironment(map[string]string{"JPAAS_HOST": "h", "JPAAS_HOST_PORT_8080": "81"}, false, "n"),
			node{"h", "81", kindContainer}},
		{"Kubernetes", testEnvironment(map[string]string{"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, false, "pod-7", "10.1.1.1/8"),
			node{"pod-7", generated, kindContainer}},
		{"a container", testEnvironment(nil, true, "3f9a", "172.17.0.2/16"), node{"3f9a", generated, kindContainer}},
		{"a container without a name", testEnvironment(map[string]string{"HOSTNAME": "env"}, true, ""), node{"env", generated, kindContainer}},
		{"a machine", testEnvironment(nil, false, "n", "127.0.0.1/8", "fe80::1/64", "2001:db8::1/64", "192.168.1.9/24"),
			node{"192.168.1.9", generated, kindActual}},
		{"a machine with IPv6 only", testEnvironment(nil, false, "n", "::1/128", "2001:db8::1/64"), node{"2001:db8::1", generated, kindActual}},
		{"a machine without addresses", testEnvironment(nil, false, "n", "127.0.0.1/8"), node{"n", generated, kindActual}},
		{"a machine without addresses and host name", testEnvironment(nil, false, ""), node{"unknown", generated, kindActual}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.env.detect(); got != tt.want {
				t.Errorf("detect() = %+v, want %+v", got, tt.want)
			}
		})
	}
}

// The file of a container is one that exists.
func TestSystemEnvironment(t *testing.T) {
	e, path := systemEnvironment(), t.TempDir()
	if !e.exists(path) || e.exists(filepath.Join(path, "none")) {
		t.Errorf("a path exists: %v, another one: %v", e.exists(path), e.exists(filepath.Join(path, "none")))
	}
	if n := e.random(10); n < 0 || n > 9 {
		t.Errorf("a random number below 10 is %d", n)
	}
}

// D13: if the environment has a host and no port, or a port and no host, the original's class does not
// load. Here the next rule applies.
func TestD13IncompleteEnvironment(t *testing.T) {
	for _, vars := range []map[string]string{
		{"JPAAS_HOST": "h"},
		{"JPAAS_HTTP_PORT": "80"},
		{"JPAAS_HOST_PORT_8080": "81"},
		{"JPAAS_HOST": "", "JPAAS_HTTP_PORT": "80"},
	} {
		want := node{"192.168.1.9", "1700000000123-42", kindActual}
		if got := testEnvironment(vars, false, "n", "192.168.1.9/24").detect(); got != want {
			t.Errorf("with %v detect() = %+v, want %+v", vars, got, want)
		}
		want = node{"n", "1700000000123-42", kindContainer}
		if got := testEnvironment(vars, true, "n", "192.168.1.9/24").detect(); got != want {
			t.Errorf("with %v in a container detect() = %+v, want %+v", vars, got, want)
		}
	}
}

func TestDetectNodeOnThisSystem(t *testing.T) {
	n := detectNode()
	if n.hostName == "" || n.port == "" || n.kind != kindContainer && n.kind != kindActual {
		t.Errorf("%+v has no name, port or kind", n)
	}
	if fitColumn(n.hostName) != n.hostName || fitColumn(n.port) != n.port {
		t.Errorf("%+v does not fit its columns", n)
	}
}

// Long values are shortened to their end, and bytes that are not UTF-8 are replaced.
func TestFitColumn(t *testing.T) {
	long := strings.Repeat("x", 100)
	for _, tt := range []struct{ in, want string }{
		{"", ""},
		{"short", "short"},
		{long[:64], long[:64]},
		{long + "-pod-7", long[:58] + "-pod-7"},
		{strings.Repeat("é", 70) + "é7", strings.Repeat("é", 63) + "7"},
		{"invalid\xffbyte", "invalid?byte"},
	} {
		got := fitColumn(tt.in)
		if got != tt.want || utf8.RuneCountInString(got) > 64 || !utf8.ValidString(got) {
			t.Errorf("fitColumn(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

package freeport

import (
	"net"
	"slices"
	"strconv"
	"testing"
)

// The ports differ, are in the range, and can be used.
func TestChoose(t *testing.T) {
	ports, err := Choose(50)
	if err != nil {
		t.Fatal(err)
	}
	for _, port := range ports {
		if port < first || port >= last {
			t.Errorf("port %d; want %d to %d", port, first, last-1)
		}
		l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port))
		if err != nil {
			t.Errorf("port %d: %v", port, err)
			continue
		}
		defer l.Close()
	}
	if slices.Sort(ports); len(slices.Compact(ports)) != 50 {
		t.Errorf("the ports are %v; want 50 different ones", ports)
	}
}

package freeport

import (
	"net"
	"slices"
	"strconv"
	"testing"
)

// The ports differ, are in the range, and can be used.
func TestChoose(t *testing.T) {
	ok := false
	for try := 0; try < 5 && !ok; try++ { // another process may take one of the ports
		ok = testChoose(t)
	}
	if !ok {
		t.Error("in five tries, not all ports were free")
	}
}

func testChoose(t *testing.T) (areFree bool) {
	ports, err := Choose(50)
	if err != nil {
		t.Fatal(err)
	}
	areFree = true
	for _, port := range ports {
		if port < first || port >= last {
			t.Errorf("port %d; want %d to %d", port, first, last-1)
		}
		l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port))
		if err != nil {
			t.Logf("port %d: %v", port, err)
			areFree = false
			continue
		}
		defer l.Close()
	}
	if slices.Sort(ports); len(slices.Compact(ports)) != 50 {
		t.Errorf("the ports are %v; want 50 different ones", ports)
	}
	return areFree
}

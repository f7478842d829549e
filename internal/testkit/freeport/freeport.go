// Package freeport finds ports for the servers of tests.
package freeport

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// The ports are below those that Linux gives to outgoing connections (32768 to 60999). Otherwise a connection of another test
// could get a port between its choice and the start of the server.
const (
	first = 10_000
	last  = 32_000
)

// Choose returns n different free ports of the loopback interface.
func Choose(n int) ([]int, error) {
	ports := make([]int, n)
	for i := range ports {
		l, err := listen()
		if err != nil {
			return nil, err
		}
		defer l.Close() // only at the end, so that the ports differ
		ports[i] = l.Addr().(*net.TCPAddr).Port
	}
	return ports, nil
}

// One returns a free port of the loopback interface.
func One() (int, error) {
	ports, err := Choose(1)
	if err != nil {
		return 0, err
	}
	return ports[0], nil
}

// listen listens on a random port.
func listen() (net.Listener, error) {
	var errs []error
	for range 100 {
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(first+rand.IntN(last-first))))
		if err == nil {
			return l, nil
		}
		errs = append(errs, err)
	}
	return nil, fmt.Errorf("freeport: no free port: %w", errors.Join(errs...))
}

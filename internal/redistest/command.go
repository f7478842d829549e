package redistest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// commandTimeout bounds how long a command may take.
const commandTimeout = 10 * time.Second

// MustCommand is Command; an error fails the test.
func (s *Server) MustCommand(args ...string) string {
	s.tb.Helper()
	reply, err := s.Command(args...)
	if err != nil {
		s.tb.Fatalf("%s: %v", strings.Join(args, " "), err)
	}
	return reply
}

// Command runs a command on a connection of its own. It returns the reply as text, the elements of an
// array as lines.
func (s *Server) Command(args ...string) (string, error) {
	conn, err := net.DialTimeout("tcp", s.Address(), commandTimeout)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(commandTimeout))
	request := fmt.Sprintf("*%d\r\n", len(args))
	for _, arg := range args {
		request += fmt.Sprintf("$%d\r\n%s\r\n", len(arg), arg)
	}
	if _, err := io.WriteString(conn, request); err != nil {
		return "", err
	}
	return readReply(bufio.NewReader(conn))
}

// readReply reads a reply of Redis' protocol, RESP2.
func readReply(r *bufio.Reader) (string, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return "", err
	}
	line = strings.TrimRight(line, "\r\n")
	if line == "" {
		return "", errors.New("redistest: the reply is an empty line")
	}
	kind, text := line[0], line[1:]
	switch kind {
	case '+', ':':
		return text, nil
	case '-':
		return "", errors.New(text)
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return "", fmt.Errorf("redistest: the reply is %q", line)
	}
	switch {
	case n < 0:
		return "", nil
	case kind == '$':
		bulk := make([]byte, n+len("\r\n"))
		if _, err := io.ReadFull(r, bulk); err != nil {
			return "", err
		}
		return string(bulk[:n]), nil
	}
	elements := make([]string, n)
	for i := range elements {
		if elements[i], err = readReply(r); err != nil {
			return "", err
		}
	}
	return strings.Join(elements, "\n"), nil
}

package redistest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// commandTimeout bounds how long a command may take.
const commandTimeout = 2 * time.Minute

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
	ctx, cancel := context.WithTimeout(context.Background(), commandTimeout)
	defer cancel()
	return s.command(ctx, args...)
}

// command is Command with a context that has a deadline.
func (s *Server) command(ctx context.Context, args ...string) (string, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", s.Address())
	if err != nil {
		return "", err
	}
	defer conn.Close()
	deadline, _ := ctx.Deadline()
	conn.SetDeadline(deadline)
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

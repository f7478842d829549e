package server

import (
	"crypto/rand"
	"encoding/hex"
	"net/http"
	"strconv"
	"sync/atomic"
)

// requestIDs gives each request an ID: the one that it has, if that is harmless in a log, or a new one.
type requestIDs struct {
	prefix string // differs between processes
	last   *atomic.Uint64
}

// maxRequestID is the greatest length of a request ID that is taken from a request.
const maxRequestID = 64

func newRequestIDs() requestIDs {
	var b [6]byte
	rand.Read(b[:])
	return requestIDs{prefix: hex.EncodeToString(b[:]) + "-", last: new(atomic.Uint64)}
}

// of returns the ID of a request.
func (ids requestIDs) of(h http.Header) string {
	if given := h["X-Request-Id"]; len(given) == 1 && validRequestID(given[0]) {
		return given[0]
	}
	var b [40]byte
	return string(strconv.AppendUint(append(b[:0], ids.prefix...), ids.last.Add(1), 10))
}

// validRequestID reports whether an ID of a client has 1 to maxRequestID letters, digits, or characters of "-_.:".
func validRequestID(id string) bool {
	if len(id) == 0 || len(id) > maxRequestID {
		return false
	}
	for i := range len(id) {
		switch c := id[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_', c == '.', c == ':':
		default:
			return false
		}
	}
	return true
}

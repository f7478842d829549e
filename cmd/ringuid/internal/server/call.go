package server

import (
	"net/http"
	"strconv"
	"time"

	"golang.org/x/sync/semaphore"
)

// A call is one request that is being answered, and what became of it.
type call struct {
	s     *Server
	w     http.ResponseWriter
	r     *http.Request
	id    string // the request ID
	route *route
	token *hashedToken // nil: there are no tokens, or the route requires none
	begin time.Time

	status int    // 0 until the answer has begun
	err    error  // why the request failed, with details that only the log and the page show
	detail string // what the client was told

	idHeader, lengthHeader [1]string // values of headers

	isStream bool // it is counted in Server.streamed

	expected bool // a status of 500 and above is not a failure of the server

	share  *semaphore.Weighted // of the connection; nil if nothing was taken of it
	shared int64               // what was taken

	limit requestContext
}

// headerValues are values of http.Header that all answers share: net/http does not change them.
type headerValues struct {
	json, problem, text, noStore, noSniff, closing []string
}

func newHeaderValues() headerValues {
	return headerValues{
		json:    []string{"application/json"},
		problem: []string{"application/problem+json"},
		text:    []string{"text/plain; charset=utf-8"},
		noStore: []string{"no-store"},
		noSniff: []string{"nosniff"},
		closing: []string{"close"},
	}
}

// send sends an answer with a body.
func (c *call) send(status int, contentType []string, body []byte) {
	h := c.w.Header()
	h["Content-Type"] = contentType
	if len(body) > 2000 || c.r.ProtoMajor == 2 { // below 2,048 bytes, net/http sets it, if the answer is not flushed
		c.lengthHeader[0] = strconv.Itoa(len(body))
		h["Content-Length"] = c.lengthHeader[:]
	}
	c.status = status
	c.beginStream()
	if status != http.StatusOK {
		c.w.WriteHeader(status)
	}
	_, _ = c.w.Write(body) // an error means that the client is gone
}

// fail answers with a problem. detail is for the client, and err, which may be nil, only for the log and the page.
func (c *call) fail(status int, detail string, err error) {
	c.err, c.detail = err, detail
	h := c.w.Header()
	switch status {
	case http.StatusUnauthorized:
		h["Www-Authenticate"] = []string{`Bearer realm="ringuid"`}
	case http.StatusServiceUnavailable:
		h["Retry-After"] = []string{"1"}
	}
	h["X-Content-Type-Options"] = c.s.values.noSniff
	c.send(status, c.s.values.problem, appendProblem(nil, status, detail, c.id))
}

// param returns a parameter of the query that may be given once. ok is false if the call was answered, because it
// was given several times.
func (c *call) param(query map[string][]string, name string) (value string, ok bool) {
	values := query[name]
	if len(values) > 1 {
		c.fail(http.StatusBadRequest, "the parameter "+name+" is given "+strconv.Itoa(len(values))+" times; must be given at most once", nil)
		return "", false
	}
	if len(values) == 0 {
		return "", true
	}
	return values[0], true
}

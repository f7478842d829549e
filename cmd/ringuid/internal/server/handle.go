package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"runtime/debug"
	"strings"
	"time"
)

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// Most requests, without the search of ServeMux.
	if r.Method == http.MethodGet && r.URL.RawPath == "" {
		if h := s.exact[r.URL.Path]; h != nil {
			h.ServeHTTP(w, r)
			return
		}
	}
	if !isCanonical(r.URL.EscapedPath()) {
		s.refuse(w, r, http.StatusBadRequest, "the path must begin with / and must not contain empty, . or .. elements")
		return
	}
	s.handler.ServeHTTP(w, r)
}

// refuse answers a request that is not routed.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, status int, detail string) {
	s.answer(&route{path: "other", metrics: s.metrics.route("other"), handler: func(c *call) {
		c.fail(status, detail, nil)
	}}).ServeHTTP(w, r)
}

// isCanonical reports whether a path is one that http.ServeMux does not redirect to another one.
func isCanonical(path string) bool {
	return strings.HasPrefix(path, "/") && !strings.Contains(path, "//") && !strings.Contains(path+"/", "/./") && !strings.Contains(path+"/", "/../")
}

// answer returns the handler of a route: it checks what all requests have in common, and records the result.
func (s *Server) answer(rt *route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begin := time.Now()
		c := &call{s: s, w: w, r: r, route: rt, id: s.requestIDs.of(r.Header), begin: begin}
		s.inFlight.Add(1)
		defer s.inFlight.Add(-1)
		defer c.endStream()
		c.limit = requestContext{Context: r.Context(), deadline: begin.Add(s.cfg.RequestTimeout)}
		h := w.Header()
		c.idHeader[0] = c.id
		h["X-Request-Id"] = c.idHeader[:]
		h["Cache-Control"] = s.values.noStore // a number from a cache would be there twice
		if s.draining.Load() {
			h["Connection"] = s.values.closing // so that no connection is idle when it is closed
		}
		var n int64
		if !rt.free {
			n = s.limited.Add(1)
		}
		defer c.finish()
		if c.admit(n) {
			rt.handler(c)
		}
	})
}

// admit makes the checks that do not depend on the route's handler. It answers the request if one fails. limited is how many
// requests are being answered that max-requests limits, with this one if it is one of them.
func (c *call) admit(limited int64) bool {
	s, r := c.s, c.r
	foreign := c.foreignPage()
	switch {
	case limited > int64(s.cfg.MaxRequests):
		c.fail(http.StatusServiceUnavailable, fmt.Sprintf("%d requests are being answered, which is the limit; try again later", s.cfg.MaxRequests), nil)
	case !s.hosts.allows(r.Host):
		c.fail(http.StatusMisdirectedRequest, "the host of the request is not one of this server; if it should be, add it to the setting hosts", nil)
	case foreign != "":
		c.fail(http.StatusForbidden, foreign, nil)
	case r.ContentLength > 0 && !c.route.body:
		c.failWithBody()
	case r.ContentLength > int64(s.cfg.MaxBody):
		c.w.Header()["Connection"] = s.values.closing
		c.fail(http.StatusRequestEntityTooLarge, c.bodyLimit(), nil)
	default:
		return c.authorize() && (r.ContentLength >= 0 || c.route.body || c.hasEmptyBody())
	}
	return false
}

// failWithBody answers a request for a path that has none.
func (c *call) failWithBody() {
	c.w.Header()["Connection"] = c.s.values.closing // the body is not read
	c.fail(http.StatusRequestEntityTooLarge, "a request for this path has no body", nil)
}

// hasEmptyBody reports whether a body of unknown length is empty: that is how HTTP/2 clients and proxies may send a POST without a body.
// Otherwise it answers the request.
func (c *call) hasEmptyBody() bool {
	switch _, err := io.ReadFull(c.r.Body, make([]byte, 1)); {
	case err == io.EOF:
		return true
	case err == nil:
		c.failWithBody()
	case !c.isLateBody(err):
		c.fail(http.StatusBadRequest, fmt.Sprintf("the body cannot be read: %.200s", err), nil)
	}
	return false
}

// isLateBody reports whether a body did not arrive in time, and answers the request if that is so.
func (c *call) isLateBody(err error) bool {
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return false
	}
	c.w.Header()["Connection"] = c.s.values.closing
	c.fail(http.StatusRequestTimeout, fmt.Sprintf("the body did not arrive within %v", c.s.cfg.ReadTimeout), nil)
	return true
}

// bodyLimit returns the text about a body that is too long.
func (c *call) bodyLimit() string {
	return fmt.Sprintf("the body must have at most %d bytes", c.s.cfg.MaxBody)
}

// foreignPage returns why the request is refused if a browser sends it for a page of another site, or may do so, or "". Other clients
// do not send the headers.
func (c *call) foreignPage() string {
	h := c.r.Header
	takes := c.route.needs == takeUIDs || c.route.needs == takeTag
	if site := h["Sec-Fetch-Site"]; len(site) > 0 {
		// A link to the page or to figures is harmless. One that takes numbers is not, and neither is a frame, which a page
		// can open without being noticed.
		isLink := h.Get("Sec-Fetch-Mode") == "navigate" && (h.Get("Sec-Fetch-Dest") == "document" || h.Get("Sec-Fetch-Dest") == "")
		if site[0] == "same-origin" || site[0] == "none" || isLink && !takes {
			return ""
		}
		return "a page of another site must not use this server"
	}
	// Browsers leave that header out over plain HTTP, unless the host is localhost. They send Origin with some requests, and Referer if
	// the page does not turn it off.
	origins := h["Origin"]
	for _, origin := range origins {
		if !isOfHost(origin, c.r.Host) {
			return fmt.Sprintf("the request is for a page of %.100q (Origin), and the host of this server is %.100q: a page of another host must not use this server", origin, c.r.Host)
		}
	}
	if takes && len(origins) == 0 && strings.HasPrefix(h.Get("User-Agent"), "Mozilla/") && !isOfHost(h.Get("Referer"), c.r.Host) {
		return "a browser may have sent this for a page of another host, because neither Sec-Fetch-Site nor Origin nor Referer names a page of this one; " +
			"use TLS, or a client that is no browser"
	}
	return ""
}

// isOfHost reports whether a URL names the host of a request, with its port.
func isOfHost(text, host string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Host != "" && strings.EqualFold(u.Host, host)
}

// finish records the result of a call. A panic of the handler is a failure.
func (c *call) finish() {
	s := c.s
	p := recover()
	if p != nil && p != http.ErrAbortHandler { //nolint:errorlint // net/http compares it in the same way
		c.panicked(p, debug.Stack())
	}
	c.limit.end()
	if !c.route.free {
		s.limited.Add(-1)
	}
	took := time.Since(c.begin)
	c.route.metrics.observe(c.status, c.failed(), took)
	if !c.route.free {
		s.latencies.observe(took)
	}
	if c.failed() {
		s.failures.add(failure{Time: c.begin, Path: c.route.path, Status: c.status, Text: c.text(), RequestID: c.id})
	}
	c.log()
	if p != nil && c.status == 0 {
		panic(http.ErrAbortHandler) // nothing was answered: the connection is closed
	}
}

// panicked answers a request whose handler has panicked.
func (c *call) panicked(p any, stack []byte) {
	err := fmt.Errorf("panic: %v", p)
	if c.status == 0 {
		c.fail(http.StatusInternalServerError, "an internal error; the log has the details", err)
	}
	c.status, c.err = http.StatusInternalServerError, err
	c.s.log.Error("a handler panicked", "request_id", c.id, "path", c.route.path, "panic", fmt.Sprint(p), "stack", string(stack))
}

// failed reports whether the server could not do what it should. A client that did not wait is none of its failures.
func (c *call) failed() bool {
	return c.status >= http.StatusInternalServerError && !c.expected && c.r.Context().Err() == nil
}

// text returns why the call failed, with details.
func (c *call) text() string {
	if c.err != nil {
		return c.err.Error()
	}
	return c.detail
}

// log writes a record of the call: of each one at level debug, of a failure of the server at level warn. Of failures of
// clients only a few for each second are written, at level info.
func (c *call) log() {
	level, message := slog.LevelDebug, "request"
	switch {
	case c.failed():
		level, message = slog.LevelWarn, "a request failed"
	case c.status >= http.StatusBadRequest:
		level, message = slog.LevelInfo, "a request was refused"
	}
	if !c.s.log.Enabled(context.Background(), level) {
		return
	}
	var suppressed int
	if level > slog.LevelDebug {
		var ok bool
		if suppressed, ok = c.s.logLimit.allow(time.Now()); !ok {
			return
		}
	}
	attrs := []slog.Attr{
		slog.String("request_id", c.id), slog.String("method", shorten(c.r.Method, 20)), slog.String("path", shorten(c.r.URL.Path, 200)), slog.Int("status", c.status),
		slog.Duration("duration", time.Since(c.begin)), slog.String("remote", c.r.RemoteAddr),
	}
	if text := c.text(); text != "" {
		attrs = append(attrs, slog.String("err", shorten(text, maxText)))
	}
	if suppressed > 0 {
		attrs = append(attrs, slog.Int("suppressed", suppressed))
	}
	c.s.log.LogAttrs(context.WithoutCancel(c.r.Context()), level, message, attrs...)
}

// maxText is the greatest length of the text of an error in the log and on the page, in bytes.
const maxText = 1000

// shorten returns a text of at most about n bytes. Without it, clients could fill the disk with the log.
func shorten(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + "…"
}

// isTimeout reports whether an error comes from the end of a request's context.
func isTimeout(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

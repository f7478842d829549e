package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/netutil"
)

// Listen returns a listener on the address of a configuration.
func Listen(ctx context.Context, cfg Config) (net.Listener, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", cfg.Listen)
	if err != nil {
		return nil, fmt.Errorf("server: cannot listen on %s: %w; set listen to another address", cfg.Listen, err)
	}
	return l, nil
}

// Serve answers the requests of a listener until ctx ends. Then /readyz answers 503, and for the time Config.Drain
// requests are served on connections that end with their answer. After that no connection is accepted, the requests
// that have begun are finished, for at most Config.ShutdownTimeout, and Serve returns nil. It closes the listener. A
// Server serves once.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	server := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: s.cfg.HeaderTimeout,
		ReadTimeout:       s.cfg.ReadTimeout,
		WriteTimeout:      s.cfg.WriteTimeout,
		IdleTimeout:       s.cfg.IdleTimeout,
		MaxHeaderBytes:    s.cfg.MaxHeader,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: maxStreamsOfConnection},
		ErrorLog:          log.New(errorLog{s}, "", 0),
		ConnContext:       connContext,
	}
	l = netutil.LimitListener(l, s.cfg.MaxConnections)
	serve := server.Serve
	if s.cfg.TLSCert != "" {
		if err := s.ReloadCertificate(); err != nil {
			return errors.Join(err, l.Close())
		}
		server.TLSConfig = &tls.Config{
			GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return s.cert.Load(), nil },
			MinVersion:     tls.VersionTLS12,
		}
		serve = func(l net.Listener) error { return server.ServeTLS(l, "", "") }
	}

	background, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { s.takeSamples(background) })
	defer func() {
		stop()
		wg.Wait()
	}()
	failed := make(chan error, 1)
	wg.Go(func() { failed <- serve(l) })

	select {
	case err := <-failed:
		close(s.stopped)
		return fmt.Errorf("server: %w", errors.Join(err, server.Close()))
	case <-ctx.Done():
	}
	return s.shutdown(server)
}

// ReloadCertificate reads the files of the certificate again, for the connections that follow. If they cannot be used, the former
// certificate stays. A server without TLS has none.
func (s *Server) ReloadCertificate() error {
	if s.cfg.TLSCert == "" {
		return nil
	}
	cert, err := tls.LoadX509KeyPair(s.cfg.TLSCert, s.cfg.TLSKey)
	if err != nil {
		return fmt.Errorf("server: tls-cert and tls-key cannot be used: %w", err)
	}
	s.cert.Store(&cert)
	return nil
}

// maxStreamsOfConnection is how many requests a connection of HTTP/2 may have at the same time. Without a limit of its own, few connections
// could use up the lists that may wait. Browsers, and the client of the JDK, open no second connection.
const maxStreamsOfConnection = 50

// crowdedFlush is how long an answer may wait for its client while max-requests others do. A client that reads needs less.
const crowdedFlush = 100 * time.Millisecond

// beginStream is called when the answer to a request of HTTP/2 begins. Each that waits until its client has room needs a goroutine and a
// buffer, also if it is short, or a refusal: max-requests may wait for as long as write-timeout, and others for a moment.
// Then the stream is reset.
func (c *call) beginStream() {
	if c.isStream || c.r.ProtoMajor != 2 {
		return
	}
	c.isStream = true
	if c.s.streamed.Add(1) > int64(c.s.cfg.MaxRequests) {
		_ = http.NewResponseController(c.w).SetWriteDeadline(time.Now().Add(crowdedFlush)) // an error means that the client is gone
	}
}

// endStream waits until the client has room for the answer.
func (c *call) endStream() {
	if c.isStream {
		_ = http.NewResponseController(c.w).Flush() // the same
		c.s.streamed.Add(-1)
	}
}

// shutdown ends a server without failing a request that it has accepted.
func (s *Server) shutdown(server *http.Server) error {
	s.log.Info("shutting down", "drain", s.cfg.Drain)
	s.draining.Store(true)
	time.Sleep(s.cfg.Drain)
	close(s.stopped) // ends the streams of events
	ctx, cancel := context.WithTimeout(context.Background(), s.cfg.ShutdownTimeout)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		left := s.inFlight.Load()
		return fmt.Errorf("server: %d requests did not end within %v: %w", left, s.cfg.ShutdownTimeout, errors.Join(err, server.Close()))
	}
	requests, failures := s.metrics.totals()
	s.log.Info("all requests are finished", "requests", requests, "failures", failures)
	return nil
}

// An errorLog is the writer of the log of net/http, which reports connections that fail.
type errorLog struct{ s *Server }

// Write implements io.Writer.
func (e errorLog) Write(p []byte) (int, error) {
	if suppressed, ok := e.s.logLimit.allow(time.Now()); ok {
		e.s.log.Warn("a connection failed", "err", strings.TrimSpace(string(p)), "suppressed", suppressed)
	}
	return len(p), nil
}

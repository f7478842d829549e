package server

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/settings"
)

// Config are the settings of a Server. DefaultConfig and ReadConfig return one; Validate checks it.
type Config struct {
	Listen  string   // the address to listen on, host:port
	TLSCert string   // a file with a certificate and its chain, PEM; "": no TLS
	TLSKey  string   // the file with its key
	Hosts   []string // the names that requests may use for the server; none: see hostCheck
	Tokens  []Token  // none: everybody who can connect may do everything
	Tags    []string // the tags that are served; none: all that the source has

	MaxBatch       int // the greatest number of numbers of one request
	MaxBody        int // the greatest length of a body, in bytes
	MaxHeader      int // the greatest length of a request's header, in bytes
	MaxRequests    int // how many requests are answered concurrently; others are refused
	MaxConnections int // how many connections there may be; others wait

	RequestTimeout  time.Duration // how long a request may wait for a number
	HeaderTimeout   time.Duration // how long a client may take to send the header of a request
	ReadTimeout     time.Duration // ... and the whole request
	WriteTimeout    time.Duration // how long an answer may take, from the end of the request's header
	IdleTimeout     time.Duration // how long a connection may be idle
	Drain           time.Duration // how long requests are still accepted after the end has begun
	ShutdownTimeout time.Duration // how long requests that have begun may then take, and after them calls of a store

	Store    string            // the URL of the store of worker IDs; "": no UIDs
	TagStore string            // the URL of the store of tags; "": no numbers of tags
	UID      settings.Settings // the generator, and which worker ID it takes from Store; must not have the key store

	LogLevel  string // debug, info, warn or error
	LogFormat string // text or json
}

// DefaultConfig returns the defaults. Store and TagStore are empty.
func DefaultConfig() Config {
	return Config{
		Listen:          "127.0.0.1:8080",
		MaxBatch:        10_000,
		MaxBody:         64 << 10,
		MaxHeader:       16 << 10,
		MaxRequests:     1000,
		MaxConnections:  10_000,
		RequestTimeout:  5 * time.Second,
		HeaderTimeout:   5 * time.Second,
		ReadTimeout:     10 * time.Second,
		WriteTimeout:    20 * time.Second,
		IdleTimeout:     time.Minute,
		Drain:           time.Second,
		ShutdownTimeout: 20 * time.Second,
		LogLevel:        "info",
		LogFormat:       "text",
	}
}

// ErrConfig is wrapped by each fault of a configuration.
var ErrConfig = errors.New("server: invalid configuration")

// Validate returns a private copy of c, or an error that joins all faults. Each wraps ErrConfig. It reads the files of the
// certificate.
func (c Config) Validate() (Config, error) {
	return c.validate(func(name string) string { return name })
}

// validate is Validate. where returns where a setting was set, for the errors.
func (c Config) validate(where func(name string) string) (Config, error) {
	var faults []error
	fail := func(name, format string, args ...any) {
		faults = append(faults, fmt.Errorf("%w: %s %s", ErrConfig, where(name), fmt.Sprintf(format, args...)))
	}
	for _, st := range table() {
		if st.check == nil {
			continue
		}
		if wrong := st.check(&c); wrong != "" {
			fail(st.name, "%s", wrong)
		}
	}
	if (c.TLSCert == "") != (c.TLSKey == "") {
		fail("tls-cert", "and tls-key must both be set, or none of them")
	} else if c.TLSCert != "" {
		if _, err := tls.LoadX509KeyPair(c.TLSCert, c.TLSKey); err != nil {
			fail("tls-cert", "cannot be used: %v", err)
		}
	}
	if c.WriteTimeout <= c.RequestTimeout {
		fail("write-timeout", "is %v; must be greater than request-timeout, %v, or answers would be cut off", c.WriteTimeout, c.RequestTimeout)
	}
	names, secrets := map[string]bool{}, map[string]bool{}
	for i, t := range c.Tokens {
		name := t.Name
		switch {
		case name == "":
			fail("tokens", "has no name for token %d; must have one, which is not secret", i+1)
		case names[name]:
			fail("tokens", "has two tokens with the name %q; names must differ", name)
		}
		if len(t.Secret) < MinTokenLength {
			fail("tokens", "has a secret of %d characters for the token %q; must have at least %d, for example from: openssl rand -hex 24", len(t.Secret), name, MinTokenLength)
		} else if !isToken(t.Secret) {
			fail("tokens", "has a secret for the token %q with characters that a header cannot have; must be letters, digits and -._~+/=", name)
		} else if secrets[t.Secret] {
			fail("tokens", "has the secret of the token %q twice; secrets must differ", name)
		}
		names[name], secrets[t.Secret] = true, true
		if t.Rate < 0 {
			fail("tokens", "has the rate %d for the token %q; must be at least 1, or left out for no limit", t.Rate, name)
		}
		if !t.UIDs && len(t.Tags) == 0 && !t.Observe {
			fail("tokens", "has a token %q that allows nothing; set uids, tags or observe", name)
		}
		for _, tag := range t.Tags {
			if tag != "*" && segment.CheckTag(tag) != nil {
				fail("tokens", "has the invalid tag %q for the token %q", tag, name)
			}
		}
	}
	c.checkUID(fail)
	c.Hosts, c.Tokens, c.Tags = slices.Clone(c.Hosts), slices.Clone(c.Tokens), slices.Clone(c.Tags)
	c.UID = maps.Clone(c.UID)
	return c, errors.Join(faults...)
}

// checkUID checks the settings of the generator.
func (c Config) checkUID(fail func(name, format string, args ...any)) {
	s := maps.Clone(c.UID)
	for _, key := range []string{"assigner", "worker_id", "worker_name", "worker_prefix", "worker_divide"} {
		if _, set := s[key]; set && c.Store == "" {
			fail(uidName(key), "is set, and store is not: no UIDs are served; set store, or remove this")
		}
	}
	if _, set := s["store"]; set {
		fail(uidName("store"), "is set; must be the setting store of the server instead")
	}
	switch ofPool := s["worker_id"] != "" || s["worker_name"] != ""; {
	case s["assigner"] == "static":
		fail(uidName("assigner"), "is static; must be disposable or recycled: two servers with one static worker ID would generate the same UIDs")
	case s["assigner"] == "disposable" && ofPool:
		fail(uidName("assigner"), "is disposable, and worker_id or worker_name is set; these are only for recycled worker IDs")
	}
	if s == nil {
		s = settings.Settings{}
	}
	s["assigner"] = "recycled" // Check requires an assigner; without one, the store decides
	delete(s, "store")
	var all *settings.Error
	if errors.As(s.Check(), &all) {
		for _, fault := range all.Faults {
			if fault.Name == "" { // of several settings
				fail("uid", "has settings that contradict each other: %s", fault)
				continue
			}
			fail(uidName(fault.Name), "is wrong: %s", strings.TrimPrefix(fault.String(), fault.Name+": "))
		}
	}
}

// isToken reports whether a secret has only the characters of a bearer token (RFC 6750).
func isToken(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '.', c == '_', c == '~', c == '+', c == '/', c == '=':
		default:
			return false
		}
	}
	return true
}

// Warnings returns what an operator should know about a valid configuration.
func (c Config) Warnings() []string {
	var list []string
	if !isLoopback(c.Listen) {
		if len(c.Tokens) == 0 {
			list = append(list, "everybody who can reach "+c.Listen+" may take UIDs and numbers: set tokens, or listen on 127.0.0.1")
		} else if c.TLSCert == "" {
			list = append(list, "tokens are sent in clear text, because there is no TLS: set tls-cert and tls-key, unless a proxy has TLS")
		}
	}
	return list
}

// Logger returns the logger of a valid configuration, which writes to w.
func (c Config) Logger(w io.Writer) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.LogLevel)); err != nil {
		level = slog.LevelInfo
	}
	opts := &slog.HandlerOptions{Level: level}
	if c.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, opts))
	}
	return slog.New(slog.NewTextHandler(w, opts))
}

// checkAddress returns what is wrong with an address to listen on, or "".
func checkAddress(address string) string {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Sprintf("is %q; must be host:port, such as 127.0.0.1:8080, or :8080 for all interfaces", address)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Sprintf("has the port %q; must be 0 (any free port) to 65535", port)
	} else if strconv.FormatUint(n, 10) != port {
		return fmt.Sprintf("has the port %q; must be without leading zeros", port)
	}
	return ""
}

package connect

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// ErrURL is wrapped by every error that reports a wrong URL or option.
var ErrURL = errors.New("connect: wrong store")

// Kind is a kind of store.
type Kind string

// The kinds of stores.
const (
	File       Kind = "file"
	MySQL      Kind = "mysql" // also MariaDB, Galera and TiDB
	PostgreSQL Kind = "postgres"
	Redis      Kind = "redis"
	ZooKeeper  Kind = "zookeeper"
	Etcd       Kind = "etcd"
)

// redisMode is what the hosts of a URL of Redis are.
type redisMode int

const (
	redisServer   redisMode = iota // one server
	redisCluster                   // nodes of a Redis Cluster
	redisSentinel                  // Sentinels, which know the address of the primary
)

// schemes are the schemes of URLs, and whether they mean TLS.
var schemes = map[string]struct {
	kind  Kind
	tls   bool
	redis redisMode
}{
	"file": {kind: File}, "mysql": {kind: MySQL}, "postgres": {kind: PostgreSQL}, "postgresql": {kind: PostgreSQL},
	"redis": {kind: Redis}, "rediss": {kind: Redis, tls: true},
	"redis-cluster": {kind: Redis, redis: redisCluster}, "rediss-cluster": {kind: Redis, tls: true, redis: redisCluster},
	"redis-sentinel": {kind: Redis, redis: redisSentinel}, "rediss-sentinel": {kind: Redis, tls: true, redis: redisSentinel},
	"zookeeper": {kind: ZooKeeper}, "zk": {kind: ZooKeeper}, "etcd": {kind: Etcd}, "etcds": {kind: Etcd, tls: true},
}

// An address is a parsed URL, path or data source name.
type address struct {
	kind           Kind
	scheme         string // "" for a path and a data source name
	tls            bool
	redis          redisMode
	user, password string
	hasPassword    bool
	hosts          string // separated by commas, as in the URL
	path           string // decoded; of a file: the path of the file
	query          string // without the parameters of Options, as in the text
	dsn            string // a data source name of go-sql-driver/mysql, without parameters
	redacted       string
}

// parseAddress parses a text, and sets the options that its parameters contain. The error wraps ErrURL and has no
// password.
func parseAddress(text string, o *Options) (address, error) {
	a, err := splitAddress(text, o)
	if err == nil {
		err = o.check(a.kind)
	}
	if err != nil {
		return address{}, fmt.Errorf("%w: %q: %w", ErrURL, Redact(text), err)
	}
	a.redacted = Redact(text)
	return a, nil
}

// splitAddress is parseAddress without the checks of the options against each other.
func splitAddress(text string, o *Options) (a address, err error) {
	switch {
	case text == "":
		return a, errors.New("it is empty; must be a path or a URL")
	case strings.ContainsRune(text, 0):
		return a, errors.New("it contains a zero byte")
	}
	scheme, rest, hasScheme := cutScheme(text)
	switch {
	case !hasScheme && isDSN(text):
		a.kind = MySQL
		slash := strings.LastIndexByte(text, '/')
		rest, err := takeParameters(text, slash, o)
		if err != nil {
			return a, err
		}
		database, query, _ := strings.Cut(rest[slash:], "?")
		a.dsn, a.query = rest[:slash]+database, query
		return a, nil
	case !hasScheme && !isPath(text):
		// A host name that is taken for a file would lead to the worker IDs of another store.
		return a, errors.New("it has no scheme; a path must begin with / or ./, and the address of a server with a scheme such as mysql://")
	case !hasScheme && strings.Contains(text, "?"):
		// Another file than the one that was meant would lead to the same worker IDs as that.
		return a, errors.New("a path must not contain ?; with parameters it must be a URL such as file:/path?assign=recycled, where %3F is a ? of the path")
	case !hasScheme:
		a.kind, a.path = File, text
		return a, nil
	}
	s, known := schemes[scheme]
	if !known {
		return a, errors.New("its scheme is not known; must be file, mysql, postgres, redis, rediss, redis-cluster, rediss-cluster, redis-sentinel, rediss-sentinel, zookeeper, etcd or etcds, or none for a path")
	}
	a.kind, a.scheme, a.tls, a.redis = s.kind, scheme, s.tls, s.redis
	if rest, err = takeParameters(rest, 0, o); err != nil {
		return a, err
	}
	if a.kind == File {
		return a, a.setFile(rest)
	}
	rest, ok := strings.CutPrefix(rest, "//")
	if !ok {
		return a, fmt.Errorf("must begin with %s://", scheme)
	}
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	if err := a.setAuthority(rest[:end]); err != nil {
		return a, err
	}
	path, query, _ := strings.Cut(rest[end:], "?")
	if strings.ContainsAny(path+query, "#@") {
		return a, errors.New("its path or query contains @ or #: write the characters @ : / ? # % of a user name or password as %40 %3A %2F %3F %23 %25")
	}
	if a.path, err = url.PathUnescape(path); err != nil {
		return a, errors.New("its path contains a % that two hexadecimal digits do not follow")
	}
	a.query = query
	return a, a.checkPorts()
}

// cutScheme splits a text at its first colon, if it begins with a scheme. One letter is a drive of Windows.
func cutScheme(text string) (scheme, rest string, ok bool) {
	scheme, rest, ok = strings.Cut(text, ":")
	if !ok || len(scheme) < 2 || strings.Trim(strings.ToLower(scheme), "abcdefghijklmnopqrstuvwxyz+-.0123456789") != "" {
		return "", text, false
	}
	if s, known := schemes[scheme]; !strings.HasPrefix(rest, "//") && (!known || s.kind != File && isNetworkDSN(rest)) {
		return "", text, false // user:password@tcp(host)/database, also if the user is called mysql
	}
	return scheme, rest, true
}

// isDSN reports whether a text without a scheme is a data source name, and not a path.
func isDSN(text string) bool {
	if isPath(text) {
		return false
	}
	slash := strings.LastIndexByte(text, '/')
	return slash >= 0 && strings.ContainsAny(text[:slash], "@(")
}

// isNetworkDSN reports whether a text is the rest of a data source name, from the password on: it has a network and an address in
// parentheses, as in password@tcp(host:3306)/database.
func isNetworkDSN(rest string) bool {
	slash := strings.LastIndexByte(rest, '/')
	if slash < 0 || !strings.HasSuffix(rest[:slash], ")") {
		return false
	}
	at, open := strings.LastIndexByte(rest[:slash], '@'), strings.LastIndexByte(rest[:slash], '(')
	return at >= 0 && at < open
}

// isPath reports whether a text begins as a path.
func isPath(text string) bool {
	return strings.HasPrefix(text, "/") || strings.HasPrefix(text, ".") || filepath.IsAbs(text)
}

// setFile sets the path of a URL such as file:/path, file:///path or file:path.
func (a *address) setFile(rest string) error {
	rest, query, hasQuery := strings.Cut(rest, "?")
	if hasQuery && query != "" {
		name, _, _ := strings.Cut(query, "=")
		return fmt.Errorf("the parameter %q is not known", name)
	}
	if after, ok := strings.CutPrefix(rest, "//"); ok {
		if !strings.HasPrefix(after, "/") {
			return errors.New("a file of another host is not supported; must be file:/path or file:///path")
		}
		rest = after
	}
	path, err := url.PathUnescape(rest)
	if err != nil {
		return errors.New("its path contains a % that two hexadecimal digits do not follow; write % as %25")
	}
	if path == "" || strings.HasSuffix(path, "/") || strings.ContainsRune(path, 0) {
		return errors.New("it names no file")
	}
	a.path = path
	return nil
}

// setAuthority sets user, password and hosts.
func (a *address) setAuthority(authority string) (err error) {
	at := strings.LastIndexByte(authority, '@')
	a.hosts = authority[at+1:]
	if at >= 0 {
		user, password, hasPassword := strings.Cut(authority[:at], ":")
		a.hasPassword = hasPassword
		var err1, err2 error
		a.user, err1 = url.PathUnescape(user)
		a.password, err2 = url.PathUnescape(password)
		if err1 != nil || err2 != nil {
			return errors.New("its user name or password contains a % that two hexadecimal digits do not follow; write % as %25")
		}
	}
	if slices.Contains(strings.Split(a.hosts, ","), "") {
		return errors.New("a host is empty; must be host or host:port, and several are separated by commas")
	}
	return nil
}

// checkPorts returns an error if a host has a wrong port. It does not show the port, which may be a part of a password.
func (a *address) checkPorts() error {
	for host := range strings.SplitSeq(a.hosts, ",") {
		if colon := strings.LastIndexByte(host, ':'); colon >= 0 && !strings.HasSuffix(host, "]") {
			if n, err := strconv.ParseUint(host[colon+1:], 10, 16); err != nil || n == 0 {
				return errors.New("the port of a host is wrong; must be 1 to 65535")
			}
		}
	}
	return nil
}

// takeParameters sets the options that the query behind the first question mark after from contains, and returns the text without
// them.
func takeParameters(text string, from int, o *Options) (string, error) {
	mark := strings.IndexByte(text[from:], '?')
	if mark < 0 {
		return text, nil
	}
	before, query := text[:from+mark], text[from+mark+1:]
	known := map[string]parameter{}
	for _, p := range parameters() {
		known[p.name] = p
	}
	var kept []string
	seen := map[string]bool{}
	for pair := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(pair, "=")
		p, ok := known[name]
		if !ok {
			kept = append(kept, pair)
			continue
		}
		if seen[name] {
			return "", fmt.Errorf("the parameter %s is set twice", name)
		}
		seen[name] = true
		value, err := url.QueryUnescape(value)
		if err != nil {
			return "", fmt.Errorf("the parameter %s contains a %% that two hexadecimal digits do not follow", name)
		}
		if err := p.set(o, value); err != nil {
			return "", fmt.Errorf("the parameter %s is %q: %w", name, value, err)
		}
	}
	if joined := strings.Join(kept, "&"); joined != "" {
		before += "?" + joined
	}
	return before, nil
}

// hostsWithPort returns the hosts, each with the port if it has none.
func (a *address) hostsWithPort(port string) []string {
	hosts := strings.Split(a.hosts, ",")
	for i, h := range hosts {
		if colon := strings.LastIndexByte(h, ':'); colon < 0 || strings.HasSuffix(h, "]") {
			hosts[i] = h + ":" + port
		}
	}
	return hosts
}

// ParseFile returns the path of a text that names a file, as Open understands it. For any other text the error wraps ErrURL.
func ParseFile(text string) (string, error) {
	if scheme, _, ok := cutScheme(text); !ok && !isDSN(text) || scheme == string(File) {
		if !ok && text != "" && !isPath(text) {
			text = "./" + text // it cannot be a host here
		}
		a, err := parseAddress(text, &Options{Assign: Disposable})
		return a.path, err
	}
	return "", fmt.Errorf("%w: %q is not the path of a file", ErrURL, Redact(text))
}

package connect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A text is a path, a data source name, or a URL, whose parameters are either ours or the driver's.
func TestParseAddress(t *testing.T) {
	for _, tt := range []struct {
		text string
		want address
		opts Options
	}{
		{"/var/lib/worker", address{kind: File, path: "/var/lib/worker"}, Options{Assign: Disposable}},
		{"file:./worker%3Fx=1", address{kind: File, scheme: "file", path: "./worker?x=1"}, Options{Assign: Disposable}},
		{"file:/a%20b?assign=recycled&name=x%2Fy", address{kind: File, scheme: "file", path: "/a b"}, Options{Assign: Recycled, Name: "x/y"}},
		{"file:///a/b", address{kind: File, scheme: "file", path: "/a/b"}, Options{Assign: Disposable}},
		{"file:b", address{kind: File, scheme: "file", path: "b"}, Options{Assign: Disposable}},
		{"u:p?a/@tcp(h:1)/db?tls=true&assign=recycled&parseTime=true", address{kind: MySQL, dsn: "u:p?a/@tcp(h:1)/db", query: "tls=true&parseTime=true"}, Options{Assign: Recycled}},
		{"mysql:p@tcp(h:1)/db", address{kind: MySQL, dsn: "mysql:p@tcp(h:1)/db"}, Options{Assign: Disposable}},
		{"file:/a@b(c)/d", address{kind: File, scheme: "file", path: "/a@b(c)/d"}, Options{Assign: Disposable}},
		{"tcp(h)/db?table=w", address{kind: MySQL, dsn: "tcp(h)/db"}, Options{Assign: Disposable, Table: "w"}},
		{"u@/db", address{kind: MySQL, dsn: "u@/db"}, Options{Assign: Disposable}},
		{"mysql://u%3A:p%40@h:1/db?tls=true", address{kind: MySQL, scheme: "mysql", user: "u:", password: "p@", hasPassword: true, hosts: "h:1", path: "/db", query: "tls=true"}, Options{Assign: Disposable}},
		{"postgres://u@h1,h2:5/db?sslmode=disable&history=main&assign=recycled", address{kind: PostgreSQL, scheme: "postgres", user: "u", hosts: "h1,h2:5", path: "/db", query: "sslmode=disable"}, Options{Assign: Recycled, History: "main"}},
		{"rediss://:p@h/3?pool=a&db=2", address{kind: Redis, scheme: "rediss", tls: true, password: "p", hasPassword: true, hosts: "h", path: "/3", query: "db=2"}, Options{Assign: Recycled, Pool: "a"}},
		{"zookeeper://h1:1,h2/a/b", address{kind: ZooKeeper, scheme: "zookeeper", hosts: "h1:1,h2", path: "/a/b"}, Options{Assign: Recycled}},
		{"etcds://[::1]:2,h", address{kind: Etcd, scheme: "etcds", tls: true, hosts: "[::1]:2,h"}, Options{Assign: Recycled}},
	} {
		var opts Options
		a, err := parseAddress(tt.text, &opts)
		a.redacted = ""
		if err != nil || a != tt.want || opts != tt.opts {
			t.Errorf("%q: %+v, %+v, %v\nwant %+v, %+v", tt.text, a, opts, err, tt.want, tt.opts)
		}
	}
}

// A wrong URL is an error that wraps ErrURL, says what is wrong, and has no password.
func TestWrongAddress(t *testing.T) {
	for text, want := range map[string]string{
		"":                                    "it is empty",
		"a\x00b":                              "zero byte",
		"/a?assign=recycled":                  "a path must not contain ?",
		"db1.example.com":                     "a path must begin with / or ./",
		"u@host":                              "a path must begin with / or ./",
		"http://u:secret@h/":                  "its scheme is not known",
		"mysql:u:secret@h":                    "must begin with mysql://",
		"mysql:secret@h":                      "must begin with mysql://",
		"redis:secret@h:1/0":                  "must begin with redis://",
		"mysql:secret@tcp(h)/":                "it names no database",
		"postgres://h:1/a?password=x@secret":  "contains @ or #",
		"mysql://u:secret@/db":                "a host is empty",
		"mysql://u:secret@h":                  "it names no database",
		"mysql://u:secret@h/":                 "it names no database",
		"mysql://u:secret@h/a/b":              "it names no database",
		"mysql://u:secret@h,h/a":              "several hosts",
		"mysql://u:se#cret@h/a":               "contains @ or #",
		"mysql://u:se/secret@h/a":             "contains @ or #",
		"mysql://u:secret%@h/a":               "%",
		"mysql://u:secret@h/a%":               "%",
		"mysql://u:secret@h/a?tls=none":       "the driver does not accept the parameter tls or its value",
		"mysql://u:secret@h/a?timeout=soon":   "the parameter timeout or its value",
		"u:secret@tcp(h)/a?parseTime=x&x=y":   "the parameter parseTime or its value",
		"mysql://u:secret@h:x/a":              "the port of a host is wrong; must be 1 to 65535",
		"etcd://h:0":                          "the port of a host is wrong",
		"redis://[::1]:99999":                 "the port of a host is wrong",
		"mysql://u:secret@h/a?assign=":        `the parameter assign is "": must be disposable or recycled`,
		"u:secret@tcp(h/a":                    "not a data source name",
		"u:secret@tcp(h)/":                    "it names no database",
		"postgres://u:secret@h":               "it names no database",
		"postgres://u:secret@h:x/a":           "port",
		"postgres://u:secret@h/a?sslmode=x":   "the parameter sslmode or its value",
		"redis://u:secret@h/x":                "does not end with the number of a database",
		"redis://u:secret@h,h2/":              "several hosts",
		"redis-cluster://u:secret@h,h2/1":     "a Redis Cluster has no numbered databases",
		"redis-cluster://u:secret@h,h2/x/y":   "no numbered databases",
		"redis-cluster://h?read_only=true":    "all calls must reach the primary",
		"redis-cluster://h?addr=x":            "the parameter addr or its value",
		"redis-cluster://h?x=1":               "the parameter x or its value",
		"redis-cluster:secret@h":              "must begin with redis-cluster://",
		"redis-sentinel://u:secret@h,h2":      "it has no name of a primary",
		"redis-sentinel://u:secret@h,h2/a/b":  "does not end with the number of a database",
		"redis-sentinel://h/m/0/1":            "does not end with the number of a database",
		"redis-sentinel://h/m?master_name=n":  "master_name must not be set",
		"redis-sentinel://h/m?password=secr":  "password must not be set",
		"redis-sentinel://h/m?x=y;z":          "its parameters are not valid",
		"redis-sentinel://h/m?replica_only=1": "all calls must reach the primary",
		"redis://h?pool=a&pool=b":             "pool is set twice",
		"redis://h?assign=disposable":         "redis has no disposable worker IDs",
		"redis://h?table=a":                   "only for disposable worker IDs in databases",
		"redis://h?horizon=-1s":               "must be a duration of more than 0",
		"redis://h?fencing=x":                 "must be a duration of at least 0",
		"redis://h?worker-id=-1":              "must be a decimal number of at least 0",
		"redis://h?replicas=some":             "must be a decimal number of at least 0",
		"etcd://h?replicas=1":                 "replicas is set, but is only for Redis",
		"mysql://h/d?failover-gap=1":          "failover-gap is set, but is only for Redis, etcd and ZooKeeper",
		"redis://h?new-pool=true":             "new-pool",
		"etcd://h?x=1":                        `the parameter "x" is not known`,
		"zookeeper://h?x=1":                   `the parameter "x" is not known`,
		"file:/a?x=1":                         `the parameter "x" is not known`,
		"file://host/a":                       "another host",
		"file:":                               "names no file",
		"file:/a/":                            "names no file",
		"file:/a?name=x":                      "only for recycled worker IDs: add assign=recycled",
		"mysql://h/a?pool-table=x":            "must be both or none",
		"mysql://h/a?name=%":                  "%",

		"postgres://h/a?sslrootcert=/none&sslmode=verify-full": "the parameter sslrootcert or its value: open /none: ",
	} {
		s, err := Open(context.Background(), text, Options{})
		if s != nil {
			s.Close()
		}
		if !errors.Is(err, ErrURL) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v\nwant ErrURL with %q, without the password", text, err, want)
		}
		if checked := Check(text, Options{}); fmt.Sprint(checked) != fmt.Sprint(err) || !errors.Is(checked, ErrURL) {
			t.Errorf("%q: Check returns %v, and Open %v", text, checked, err)
		}
		for _, raw := range []string{"redis: ", "strconv", "parse \"", "cannot parse", "invalid DSN", "invalid value", "time: "} {
			if strings.Contains(fmt.Sprint(err), raw) {
				t.Errorf("%q: %v\nis the text of a driver; must say it in other words", text, err)
			}
		}
	}
}

// The forms of Redis Cluster and Sentinel become the options of their clients.
func TestRedisClients(t *testing.T) {
	cluster, err := parseAddress("rediss-cluster://u:p%40@h1,h2:7000,[::1]?pool=orders&dial_timeout=7s", &Options{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := cluster.clusterConfig()
	if err != nil || !slices.Equal(c.Addrs, []string{"h1:6379", "h2:7000", "[::1]:6379"}) || c.Username != "u" || c.Password != "p@" || c.DialTimeout != 7*time.Second ||
		c.TLSConfig == nil || c.TLSConfig.ServerName != "" {
		t.Errorf("%+v, %v", c, err)
	}
	sentinel, err := parseAddress("redis-sentinel://u:p@h1,h2:7000/mymaster/3?pool=orders&sentinel_username=s&sentinel_password=a%40b&read_timeout=2s", &Options{})
	if err != nil {
		t.Fatal(err)
	}
	f, err := sentinel.sentinelConfig()
	if err != nil || !slices.Equal(f.SentinelAddrs, []string{"h1:26379", "h2:7000"}) || f.MasterName != "mymaster" || f.DB != 3 || f.Username != "u" || f.Password != "p" ||
		f.SentinelUsername != "s" || f.SentinelPassword != "a@b" || f.ReadTimeout != 2*time.Second || f.DialerRetries != 1 || f.TLSConfig != nil {
		t.Errorf("%+v, %v", f, err)
	}
	if strings.Contains(sentinel.redacted, "a%40b") {
		t.Errorf("the text has a password: %s", sentinel.redacted)
	}
}

// The prefix of the keys in etcd may begin with a slash, which is not that after the host.
func TestEtcdPrefix(t *testing.T) {
	for text, want := range map[string]string{
		"etcd://h": "ringuid/", "etcd://h/": "ringuid/", "etcd://h//": "ringuid/", "etcd://h/a": "a/", "etcd://h/a/b/": "a/b/", "etcd://h//a/b": "/a/b/",
	} {
		a, err := parseAddress(text, &Options{})
		if got := a.etcdPrefix(); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", text, got, err, want)
		}
	}
}

// An option and a parameter of the URL must not contradict each other.
func TestOptionAndParameter(t *testing.T) {
	one, two := int64(1), int64(2)
	for text, opts := range map[string]Options{
		"redis://h?pool=a":        {Pool: "b"},
		"redis://h?worker-id=1":   {WorkerID: &two},
		"file:/a?assign=recycled": {Assign: Disposable},
		"redis://h?horizon=1m":    {Horizon: 1},
	} {
		if _, err := parseAddress(text, &opts); !errors.Is(err, ErrURL) || !strings.Contains(err.Error(), "differs") {
			t.Errorf("%q and %+v: %v", text, opts, err)
		}
	}
	opts := Options{WorkerID: &one, Pool: "a"}
	if _, err := parseAddress("redis://h?pool=a&worker-id=1", &opts); err != nil {
		t.Error(err)
	}
	if _, err := parseAddress("/a", &Options{Assign: "twice"}); !errors.Is(err, ErrURL) {
		t.Error(err)
	}
}

func TestRedact(t *testing.T) {
	for text, want := range map[string]string{
		"/a:b@c":                              "/a:b@c",
		"file:/a:b@c":                         "file:/a:b@c",
		"mysql://u:secret@h/db":               "mysql://u:xxxxx@h/db",
		"mysql://u:se/cr@et@h/db":             "mysql://u:xxxxx@h/db",
		"redis://:secret@h":                   "redis://:xxxxx@h",
		"redis://u@h":                         "redis://u@h",
		"u:secret@tcp(h)/db":                  "u:xxxxx@tcp(h)/db",
		"u:s@e/cret@tcp(h)/db?a=b":            "u:xxxxx@tcp(h)/db?a=xxxxx",
		"postgres://h/db?password=secret&x=1": "postgres://h/db?password=xxxxx",
		"postgres://h/db?sslPassword=secret":  "postgres://h/db?sslPassword=xxxxx",
		"htp://u:secret@h":                    "htp://u:xxxxx@h",
		"mysql:secret@tcp(h:1)/db":            "mysql:xxxxx@tcp(h:1)/db",
		"redis:secret@h":                      "redis:xxxxx@h",
		"postgres://h:1/db?password=se@cret":  "postgres://xxxxx",
		"u:se?token=cret@h":                   "xxxxx",
		"u:secret@h":                          "u:xxxxx@h",
		"mysql://u:p@h/db?pool=a&tls=b":       "mysql://u:xxxxx@h/db?pool=a&tls=xxxxx",
	} {
		if got := Redact(text); got != want {
			t.Errorf("Redact(%q) = %q, want %q", text, got, want)
		}
	}
}

// No text makes the parser panic, and no error has the password of a text that has one.
func FuzzParseAddress(f *testing.F) {
	for _, text := range []string{"/a", "mysql://u:p@h/db?a=b", "u:p@tcp(h)/db", "file:/a?assign=recycled", "etcd://a,b/c"} {
		f.Add(text, "p4ssw0rd")
	}
	f.Fuzz(func(t *testing.T, text, password string) {
		var opts Options
		parseAddress(text, &opts)
		if len(password) < 8 || strings.Contains(text, password) || strings.Contains(strconv.Quote(text), password) { // errors quote it
			return
		}
		for _, u := range []string{"mysql://u:" + password + "@h/" + text, "etcd://" + ":" + password + "@" + text} {
			if _, err := parseAddress(u, &Options{}); err != nil && strings.Contains(err.Error(), password) {
				t.Errorf("%q: the error has the password: %v", u, err)
			}
		}
	})
}

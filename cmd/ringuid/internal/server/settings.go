package server

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ringuid/ringuid/segment"
)

// A setting is one setting of a Config. Its name is that of the flag and of the key in the file; the environment
// variable is RINGUID_ and the name in upper case, with _ instead of -.
type setting struct {
	name  string
	usage string
	set   func(c *Config, text string) error
	get   func(c *Config) string
	check func(c *Config) string // what is wrong with the value, "" if nothing; nil: nothing can be wrong
}

// env returns the name of the environment variable.
func (st setting) env() string {
	return "RINGUID_" + strings.ToUpper(strings.ReplaceAll(st.name, "-", "_"))
}

// table returns all settings that flags, variables and the file have in common.
func table() []setting {
	return []setting{
		textSetting("store", "URL of the store of worker IDs; without it, no UIDs", func(c *Config) *string { return &c.Store }, nil),
		textSetting("tag-store", "URL of the store of tags, which may be the same", func(c *Config) *string { return &c.TagStore }, nil),
		listSetting("tags", "tags that are served, as in a,b; default: all", func(c *Config) *[]string { return &c.Tags }, func(tag string) string {
			if segment.CheckTag(tag) != nil {
				return fmt.Sprintf("has the invalid tag %q", tag)
			}
			return ""
		}),
		textSetting("listen", "address to listen on", func(c *Config) *string { return &c.Listen }, checkAddress),
		textSetting("tls-cert", "file with the certificate and its chain (PEM)", func(c *Config) *string { return &c.TLSCert }, nil),
		textSetting("tls-key", "file with the key of the certificate (PEM)", func(c *Config) *string { return &c.TLSKey }, nil),
		listSetting("hosts", "host names that requests may use for this server, separated by commas", func(c *Config) *[]string { return &c.Hosts }, func(host string) string {
			if host == "" || strings.ContainsAny(host, " /:@") {
				return fmt.Sprintf("has %q; must have host names without a port", host)
			}
			return ""
		}),
		numberSetting("max-batch", "greatest number of numbers of one request", func(c *Config) *int { return &c.MaxBatch }, 1, 100_000),
		numberSetting("max-body", "greatest length of a request's body, in bytes", func(c *Config) *int { return &c.MaxBody }, 1, 16<<20),
		numberSetting("max-header", "greatest length of a request's header, in bytes", func(c *Config) *int { return &c.MaxHeader }, 4096, 1<<20),
		numberSetting("max-requests", "how many requests are answered concurrently; others get status 503", func(c *Config) *int { return &c.MaxRequests }, 1, 1_000_000),
		numberSetting("max-connections", "how many connections there may be; others wait", func(c *Config) *int { return &c.MaxConnections }, 1, 1_000_000),
		timeSetting("request-timeout", "how long a request may wait for a number", func(c *Config) *time.Duration { return &c.RequestTimeout }, time.Millisecond, time.Hour),
		timeSetting("header-timeout", "how long a client may take to send a request's header", func(c *Config) *time.Duration { return &c.HeaderTimeout }, time.Millisecond, time.Hour),
		timeSetting("read-timeout", "how long a client may take to send a request", func(c *Config) *time.Duration { return &c.ReadTimeout }, time.Millisecond, time.Hour),
		timeSetting("write-timeout", "how long an answer may take", func(c *Config) *time.Duration { return &c.WriteTimeout }, time.Millisecond, time.Hour),
		timeSetting("idle-timeout", "how long a connection may be idle", func(c *Config) *time.Duration { return &c.IdleTimeout }, time.Millisecond, 24*time.Hour),
		timeSetting("drain", "how long requests are still accepted after SIGTERM", func(c *Config) *time.Duration { return &c.Drain }, 0, time.Hour),
		timeSetting("shutdown-timeout", "how long requests that have begun may take after that, and then calls of a store", func(c *Config) *time.Duration { return &c.ShutdownTimeout }, time.Millisecond, time.Hour),
		choiceSetting("log-level", "least level of log records: debug (every request), info, warn or error", func(c *Config) *string { return &c.LogLevel }, "debug", "info", "warn", "error"),
		choiceSetting("log-format", "form of log records: text or json", func(c *Config) *string { return &c.LogFormat }, "text", "json"),
	}
}

func textSetting(name, usage string, field func(*Config) *string, check func(string) string) setting {
	st := setting{
		name: name, usage: usage,
		set: func(c *Config, text string) error { *field(c) = text; return nil },
		get: func(c *Config) string { return *field(c) },
	}
	if check != nil {
		st.check = func(c *Config) string { return check(*field(c)) }
	}
	return st
}

func choiceSetting(name, usage string, field func(*Config) *string, choices ...string) setting {
	return textSetting(name, usage, field, func(value string) string {
		if slices.Contains(choices, value) {
			return ""
		}
		return fmt.Sprintf("is %q; must be %s", value, strings.Join(choices, " or "))
	})
}

// listSetting is a setting of words that are separated by commas. check returns what is wrong with one of them.
func listSetting(name, usage string, field func(*Config) *[]string, check func(string) string) setting {
	return setting{
		name: name, usage: usage,
		set: func(c *Config, text string) error {
			if text == "" {
				return errors.New("is empty, which would mean all; must have an element; without the setting there is no restriction")
			}
			*field(c) = strings.Split(text, ",")
			return nil
		},
		get: func(c *Config) string { return strings.Join(*field(c), ",") },
		check: func(c *Config) string {
			for _, word := range *field(c) {
				if wrong := check(word); wrong != "" {
					return wrong
				}
			}
			return ""
		},
	}
}

func numberSetting(name, usage string, field func(*Config) *int, least, greatest int) setting {
	return setting{
		name: name, usage: usage,
		set: func(c *Config, text string) error {
			n, err := strconv.Atoi(text)
			if err != nil {
				return fmt.Errorf("is %q; must be a number from %d to %d", text, least, greatest)
			}
			*field(c) = n
			return nil
		},
		get: func(c *Config) string { return strconv.Itoa(*field(c)) },
		check: func(c *Config) string {
			if n := *field(c); n < least || n > greatest {
				return fmt.Sprintf("is %d; must be %d to %d", n, least, greatest)
			}
			return ""
		},
	}
}

func timeSetting(name, usage string, field func(*Config) *time.Duration, least, greatest time.Duration) setting {
	return setting{
		name: name, usage: usage,
		set: func(c *Config, text string) error {
			d, err := time.ParseDuration(text)
			if err != nil {
				return fmt.Errorf("is %q; must be a duration with a unit, such as 500ms, 5s or 1m", text)
			}
			*field(c) = d
			return nil
		},
		get: func(c *Config) string { return field(c).String() },
		check: func(c *Config) string {
			if d := *field(c); d < least || d > greatest {
				return fmt.Sprintf("is %v; must be %v to %v", d, least, greatest)
			}
			return ""
		},
	}
}

// A Flag is a setting that Sources.Flags may have.
type Flag struct{ Name, Usage, Default string }

// Flags returns the flags of the server. Those of its generator are the settings.Keys, see FlagOfKey.
func Flags() []Flag {
	c := DefaultConfig()
	flags := []Flag{}
	for _, st := range table() {
		flags = append(flags, Flag{st.name, st.usage, st.get(&c)})
	}
	return append(flags, Flag{Name: tokenFileFlag, Usage: "file with a token that allows everything"})
}

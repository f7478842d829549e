package server

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ringuid/ringuid/settings"
)

// environment returns a LookupEnv of the given variables.
func environment(variables map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		text, ok := variables[name]
		return text, ok
	}
}

// writeFile writes a file of the test, and returns its path.
func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Without sources there are the defaults, and they are valid. A setting's text is read as it is written.
func TestDefaults(t *testing.T) {
	cfg, err := ReadConfig(Sources{LookupEnv: environment(nil)})
	if err != nil || !reflect.DeepEqual(cfg, DefaultConfig()) {
		t.Errorf("%+v, %v", cfg, err)
	}
	if !isLoopback(cfg.Listen) || len(cfg.Warnings()) > 0 {
		t.Errorf("listens on %s; %q", cfg.Listen, cfg.Warnings())
	}
	for _, st := range table() {
		again := Config{}
		if st.get(&cfg) == "" {
			continue // it is not set
		}
		if err := st.set(&again, st.get(&cfg)); err != nil || st.get(&again) != st.get(&cfg) {
			t.Errorf("%s: %q, %v", st.name, st.get(&again), err)
		}
	}
}

// Each setting can be set in the file, in the environment and by a flag, in this order of precedence.
func TestPrecedence(t *testing.T) {
	values := func(name string, n int) string {
		switch {
		case strings.HasSuffix(name, "timeout") || name == "drain":
			return fmt.Sprintf("%dm0s", 30+n)
		case strings.HasPrefix(name, "max-"):
			return fmt.Sprint(5000 + n)
		case name == "listen":
			return fmt.Sprintf("127.0.0.1:%d", 9000+n)
		case name == "log-level":
			return []string{"debug", "warn", "error"}[n]
		case name == "log-format":
			return []string{"text", "json", "text"}[n]
		}
		return fmt.Sprintf("value%d", n)
	}
	for _, st := range table() {
		if strings.HasPrefix(st.name, "tls-") {
			continue // TestTLS
		}
		set := func(n int) string { return values(st.name, n) }
		more := "" // write-timeout must be greater than request-timeout
		if st.name == "request-timeout" {
			more = "\nwrite-timeout: 60m"
		}
		src := Sources{File: writeFile(t, "config.yaml", st.name+": "+set(0)+more), LookupEnv: environment(nil)}
		for n := range 3 {
			switch n {
			case 1:
				src.LookupEnv = environment(map[string]string{st.env(): set(1)})
			case 2:
				src.Flags = map[string]string{st.name: set(2)}
			}
			cfg, err := ReadConfig(src)
			if err != nil || st.get(&cfg) != set(n) {
				t.Errorf("%s, source %d: %q, want %q: %v", st.name, n, st.get(&cfg), set(n), err)
			}
		}
	}
}

// An empty variable counts as not set: it must not open what the file restricts. An empty token is a fault.
func TestEmptyVariables(t *testing.T) {
	empty := map[string]string{}
	for _, st := range table() {
		empty[st.env()] = ""
	}
	src := Sources{File: writeFile(t, "config.yaml", "store: /a\ntags: [orders]\nhosts: [a]\nmax-batch: 5\n"), LookupEnv: environment(empty)}
	cfg, err := ReadConfig(src)
	if err != nil || cfg.Store != "/a" || len(cfg.Tags) != 1 || len(cfg.Hosts) != 1 || cfg.MaxBatch != 5 {
		t.Errorf("%+v, %v", cfg, err)
	}
	for name, want := range map[string]string{tokenEnv: "RINGUID_TOKEN has a secret of 0 characters", tokenEnv + "_FILE": "RINGUID_TOKEN_FILE is empty; must name a file"} {
		if _, err := ReadConfig(Sources{LookupEnv: environment(map[string]string{name: ""})}); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s is empty: %v", name, err)
		}
	}
}

// All faults are reported at once, each with its place.
func TestAllFaultsAtOnce(t *testing.T) {
	path := writeFile(t, "config.yaml", `
max_batch: 5
max-batch: many
max-batch: 7
listen: nowhere
tags: [ok, " bad"]
colour: red
hosts: {a: b}
drain: 5
log-level: loud
tls-cert: missing.pem
tokens:
  - {name: a, token: short, uids: true}
  - {name: a, token: 0123456789abcdef0, uids: yes, sort: x, rate: 0}
  - {token-file: missing, observe: true}
  - {name: c, token: 0123456789abcdef0}
`)
	_, err := ReadConfig(Sources{File: path, Flags: map[string]string{"max-body": "-1", "colour": "x"},
		LookupEnv: environment(map[string]string{"RINGUID_MAX_REQUESTS": "0", "RINGUID_WRITE_TIMEOUT": "1s"})})
	if !errors.Is(err, ErrConfig) {
		t.Fatalf("%v", err)
	}
	for _, want := range []string{
		path + `:2 has the unknown key "max_batch"; the key is max-batch`,
		path + `:3: max-batch is "many"; must be a number from 1 to 100000`,
		path + `:4 has the key "max-batch" a second time`,
		path + `:5: listen is "nowhere"; must be host:port`,
		path + `:6: tags has the invalid tag " bad"`,
		path + `:7 has the unknown key "colour"; doc/server.md lists the keys`,
		path + `:8 must have one value for hosts`,
		path + `:9: drain is "5"; must be a duration with a unit`,
		path + `:10: log-level is "loud"; must be debug or info or warn or error`,
		path + `:11: tls-cert and tls-key must both be set`,
		path + `:12: tokens has a secret of 5 characters for the token "a"`,
		path + `:12: tokens has two tokens with the name "a"`,
		path + `:14 has uids: yes; must be true or false`,
		path + `:14 has the unknown key "sort" in a token`,
		path + `:14 has rate: 0; must be a number, at least 1`,
		path + `:15: token-file cannot be read`,
		path + `:12: tokens has no name for token 3`,
		path + `:12: tokens has the secret of the token "c" twice`,
		path + `:12: tokens has a token "c" that allows nothing`,
		`--max-body is -1; must be 1 to 16777216`,
		`--colour is not a setting`,
		`RINGUID_MAX_REQUESTS is 0; must be 1 to 1000000`,
		`RINGUID_WRITE_TIMEOUT is 1s; must be greater than request-timeout, 5s`,
	} {
		if !strings.Contains(err.Error(), "server: invalid configuration: "+want) {
			t.Errorf("this is missing: %s", want)
		}
	}
	if t.Failed() {
		t.Logf("the error is:\n%v", err)
	}
	for _, text := range []string{"[", "- a", "x", "1: 2", "tokens: x", "tokens: [x]", "listen: [127.0.0.1:80, x]", "listen: null", "tags: [[a]]", "tags: []", "hosts: []", `tags: [""]`, `hosts: ""`, "tokens: []", "? [a]\n: b",
		"max-batch: 5\n---\nmax-body: 5\n", "max-batch: 5\n---\n", "---\n---\ntokens: []\n", "max-batch: 5\n---\n["} {
		if _, err := ReadConfig(Sources{File: writeFile(t, "config.yaml", text), LookupEnv: environment(nil)}); !errors.Is(err, ErrConfig) {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, text := range []string{"store: ./worker", "tag-store: ../x", "store: file:worker?assign=recycled"} { // it depends on the working directory
		if _, err := ReadConfig(Sources{File: writeFile(t, "config.yaml", text), LookupEnv: environment(nil)}); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), "must be absolute in a file of settings") {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, name := range []string{"tags", "hosts"} { // as with a variable of the shell that is not set
		_, err := ReadConfig(Sources{LookupEnv: environment(nil), Flags: map[string]string{name: ""}})
		if want := "--" + name + " is empty, which would mean all"; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("--%s with an empty text: %v, want %q", name, err, want)
		}
	}
	if _, err := ReadConfig(Sources{File: "missing.yaml", LookupEnv: environment(nil)}); !errors.Is(err, ErrConfig) || !errors.Is(err, os.ErrNotExist) && !strings.Contains(err.Error(), "missing.yaml") {
		t.Errorf("a file that does not exist: %v", err)
	}
}

// A file that cannot be read as a whole may set anything: that a setting is missing is not a fault then.
func TestUnreadableFile(t *testing.T) {
	directory := t.TempDir()
	for text, hidden := range map[string]bool{"[": true, "- a": true, "max-batch: 1\n---\nstore: /s\n": true, "": false, "colour: red": false, "max-batch: 1": false} {
		_, err := ReadConfig(Sources{File: writeFile(t, "config.yaml", text), LookupEnv: environment(nil), Flags: map[string]string{"max-body": "x"}, Check: nothingToServe})
		if err == nil || strings.Contains(err.Error(), "nothing to serve") == hidden || !strings.Contains(err.Error(), "--max-body") {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, path := range []string{directory, filepath.Join(directory, "missing.yaml")} {
		if _, err := ReadConfig(Sources{File: path, LookupEnv: environment(nil), Check: nothingToServe}); err == nil || strings.Contains(err.Error(), "nothing to serve") {
			t.Errorf("%s: %v", path, err)
		}
		// The store of a flag is still checked.
		_, err := ReadConfig(Sources{File: path, LookupEnv: environment(nil), Flags: map[string]string{"store": "/s"}, Check: nothingToServe})
		if err == nil || !strings.Contains(err.Error(), "--store is bad") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// nothingToServe is a check of stores.
func nothingToServe(cfg Config) map[string]error {
	if cfg.Store == "" && cfg.TagStore == "" {
		return map[string]error{"store": errors.New("is not set: nothing to serve")}
	}
	return map[string]error{"store": errors.New("is bad")}
}

// The section uid, and the variables of settings.Settings, configure the generator; its assigner is in the URL of the store.
func TestGeneratorSettings(t *testing.T) {
	read := func(text string, variables map[string]string) (Config, error) {
		return ReadConfig(Sources{File: writeFile(t, "config.yaml", text), LookupEnv: environment(variables)})
	}
	cfg, err := read("uid:\n  layout: 1-30-20-13\n  epoch: 2026-01-01T00:00:00Z\n  max_borrow: 50s\n", map[string]string{"RINGUID_STORE": "/s", "RINGUID_MAX_BORROW": "1m", "RINGUID_GENERATOR": "default"})
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{"layout": "1-30-20-13", "epoch": "2026-01-01T00:00:00Z", "max_borrow": "1m0s", "generator": "default", "store": ""} {
		if got := cfg.UID[key]; got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	if cfg.Store != "/s" {
		t.Errorf("the store is %q", cfg.Store)
	}
	_, err = read("uid:\n  layout: 1-2-3\n  colour: red\n  boost_power: 1000\nmax-batch: 0", map[string]string{"RINGUID_TIME_UNIT": "1h"})
	for _, want := range []string{"layout", "colour", "boost_power", "max-batch is 0", "RINGUID_TIME_UNIT"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
	for _, text := range []string{"uid: {assigner: recycled}", "uid: {worker_name: a}", "uid: {layout: [1]}", "uid: x", "uid: {layout: 1-28-22-13, layout: 1-28-22-13}"} {
		if _, err := read(text, nil); !errors.Is(err, ErrConfig) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := read("", map[string]string{"RINGUID_ASSIGNER": "recycled"}); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), "RINGUID_ASSIGNER is set, and store is not") {
		t.Errorf("an assigner in the environment: %v", err)
	}
}

// Flags take precedence over variables, and those over the file, for each setting of the generator and of its worker ID.
func TestGeneratorPrecedence(t *testing.T) {
	values := map[string][3]string{
		"generator": {"default", "cached", "default"}, "layout": {"1-30-20-13", "1-29-21-13", "1-27-23-13"}, "epoch": {"2020-01-01T00:00:00Z", "2021-01-01T00:00:00Z", "2022-01-01T00:00:00Z"},
		"time_unit": {"100ms", "200ms", "500ms"}, "boost_power": {"1", "2", "4"}, "padding_factor": {"20", "30", "40"}, "schedule_interval": {"2s", "3s", "4s"},
		"max_staleness": {"5s", "6s", "7s"}, "max_borrow": {"30m0s", "40m0s", "50m0s"}, "rollover": {"false", "true", "false"}, "rollover_interval": {"1m0s", "2m0s", "3m0s"},
		"reserve_ahead": {"10s", "20s", "40s"}, "take_policy": {"wait", "fail", "caller_pads"}, "rollback": {"refuse", "wait_out:5s", "ride_out"}, "spread": {"1", "2", "3"},
		"assigner": {"recycled", "disposable", "recycled"}, "worker_id": {"1", "2", "ordinal"}, "worker_name": {"a", "b", "c"}, "worker_prefix": {"5/3", "6/3", "7/3"}, "worker_divide": {"1", "2", "3"},
	}
	for _, k := range generatorKeys() {
		src := Sources{File: writeFile(t, "config.yaml", "store: /s\nuid: {"+k.Name+": \""+values[k.Name][0]+"\"}"), LookupEnv: environment(nil)}
		for n, want := range values[k.Name] {
			switch n {
			case 1:
				src.LookupEnv = environment(map[string]string{k.Env(settings.Prefix): want})
			case 2:
				src.Flags = map[string]string{FlagOfKey(k): want}
			}
			cfg, err := ReadConfig(src)
			if got := cfg.UID[k.Name]; err != nil || got != want {
				t.Errorf("%s, source %d: %q, want %q: %v", k.Name, n, got, want, err)
			}
		}
	}
}

// A misspelt variable is a fault, which is reported with all others. A typo of the token's variable must not open the server.
func TestMisspeltVariables(t *testing.T) {
	src := Sources{LookupEnv: environment(nil), Flags: map[string]string{"max-batch": "0"}, Environ: []string{
		"PATH=/bin", "RINGUID_TOKENFILE=/secret", "RINGUID_MAX_BATCHES=5", "RINGUID_COLOR=x", "RINGUID_TOKEN=x", "RINGUID_CONFIG=x", "RINGUID_LAYOUT=x", "RINGUID_PORT=tcp://10.0.0.1:80",
	}}
	_, err := ReadConfig(src)
	want := `server: invalid configuration: RINGUID_TOKENFILE is not a setting; did you mean RINGUID_TOKEN_FILE?
server: invalid configuration: RINGUID_MAX_BATCHES is not a setting; did you mean RINGUID_MAX_BATCH?
server: invalid configuration: RINGUID_COLOR is not a setting; remove it, or correct its name: doc/server.md and doc/settings.md list the variables
server: invalid configuration: --max-batch is 0; must be 1 to 100000`
	if !errors.Is(err, ErrConfig) || err.Error() != want {
		t.Errorf("%v\nwant\n%s", err, want)
	}
	src.Environ, src.Flags = Variables(), nil
	if _, err := ReadConfig(src); err != nil {
		t.Error(err)
	}
}

// What contradicts the assigner, and what the caller finds wrong, are faults with their places.
func TestAssignerFaults(t *testing.T) {
	for _, tt := range []struct {
		text string
		want string
	}{
		{"uid: {assigner: recycled}", ":1: uid.assigner is set, and store is not"},
		{"uid: {worker_divide: 1}", ":1: uid.worker_divide is set, and store is not"},
		{"store: /s\nuid: {assigner: static, worker_id: 1}", ":2: uid.assigner is static; must be disposable or recycled"},
		{"store: /s\nuid:\n  assigner: disposable\n  worker_name: a", ":3: uid.assigner is disposable, and worker_id or worker_name is set"},
		{"store: /s\nuid: {store: file:/x}", ":2: uid.store is set; must be the setting store"},
		{"store: /s\nuid: {boost_power: 16, max_borrow: 1h}", "uid has settings that contradict each other: "},
		{"store: /s\nuid: {worker_name: wrong}", ":2: uid.worker_name is refused by the caller"},
	} {
		check := func(c Config) map[string]error {
			if c.UID["worker_name"] == "wrong" {
				return map[string]error{"uid.worker_name": errors.New("is refused by the caller")}
			}
			return nil
		}
		_, err := ReadConfig(Sources{File: writeFile(t, "config.yaml", tt.text), LookupEnv: environment(nil), Check: check})
		if !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want one fault %q", tt.text, err, tt.want)
		}
	}
}

// Tokens come from the file, from files that it names, from the environment and from a flag. No error has a secret.
func TestTokensOfSources(t *testing.T) {
	secret := func(n int) string { return fmt.Sprintf("0123456789abcdef%d", n) }
	path := writeFile(t, "config.yaml", "tokens:\n  - {name: orders, token-file: secret, uids: true, tags: [orders, \"*\"]}\n  - {name: o, token: "+secret(1)+", observe: true}\n")
	if err := os.WriteFile(filepath.Join(filepath.Dir(path), "secret"), []byte(secret(0)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := ReadConfig(Sources{File: path, Flags: map[string]string{"token-file": writeFile(t, "s", secret(3))},
		LookupEnv: environment(map[string]string{"RINGUID_TOKEN": secret(2), "RINGUID_TOKEN_FILE": writeFile(t, "s", secret(4)+"\r\n")})})
	if err != nil {
		t.Fatal(err)
	}
	all := func(name string, n int) Token {
		return Token{Name: name, Secret: secret(n), UIDs: true, Tags: []string{"*"}, Observe: true}
	}
	want := []Token{{Name: "orders", Secret: secret(0), UIDs: true, Tags: []string{"orders", "*"}}, {Name: "o", Secret: secret(1), Observe: true},
		all("RINGUID_TOKEN", 2), all("RINGUID_TOKEN_FILE", 4), all("--token-file", 3)}
	if !reflect.DeepEqual(cfg.Tokens, want) {
		t.Errorf("%+v", cfg.Tokens)
	}
	for _, text := range []string{"a b c d e f g h i j", "line1aaaaaaaaaaaaaaaa\nline2", strings.Repeat("x", 5000), "ünïcödé-ünïcödé-x", ""} {
		_, err := ReadConfig(Sources{Flags: map[string]string{"token-file": writeFile(t, "s", text)}, LookupEnv: environment(nil)})
		if !errors.Is(err, ErrConfig) || text != "" && strings.Contains(err.Error(), text) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// A server that others can reach warns if it has no tokens or no TLS.
func TestWarnings(t *testing.T) {
	for listen, want := range map[string]int{"127.0.0.1:80": 0, "localhost:80": 0, "[::1]:80": 0, ":80": 1, "0.0.0.0:80": 1, "10.0.0.1:80": 1, "example.com:80": 1} {
		cfg := DefaultConfig()
		cfg.Listen = listen
		if got := cfg.Warnings(); len(got) != want {
			t.Errorf("%s: %q", listen, got)
		}
		cfg.Tokens = []Token{{Name: "a", Secret: strings.Repeat("x", 20), UIDs: true}}
		if got := cfg.Warnings(); len(got) != want || want == 1 && !strings.Contains(got[0], "clear text") {
			t.Errorf("%s with a token: %q", listen, got)
		}
		cfg.TLSCert = "cert.pem"
		if got := cfg.Warnings(); len(got) != 0 {
			t.Errorf("%s with TLS: %q", listen, got)
		}
	}
}

// Addresses are checked before anything listens.
func TestCheckAddress(t *testing.T) {
	for address, ok := range map[string]bool{"127.0.0.1:0": true, ":8080": true, "[::1]:1": true, "host:65535": true, "host": false, "host:65536": false, "host:-1": false, "host:http": false, "host:08": false, "": false, "::1:80": false} {
		if got := checkAddress(address); (got == "") != ok {
			t.Errorf("%q: %q", address, got)
		}
	}
}

// The private copy of a configuration does not change with the caller's.
func TestValidateCopies(t *testing.T) {
	cfg := DefaultConfig()
	cfg.Tags, cfg.Hosts = []string{"a"}, []string{"h"}
	got, err := cfg.Validate()
	if err != nil {
		t.Fatal(err)
	}
	cfg.Tags[0], cfg.Hosts[0] = "x", "x"
	if !slices.Equal(got.Tags, []string{"a"}) || !slices.Equal(got.Hosts, []string{"h"}) {
		t.Errorf("%+v", got)
	}
	if _, err := New(Config{}, Options{UIDs: newGenerator(t)}); !errors.Is(err, ErrConfig) {
		t.Errorf("New with the zero Config: %v", err)
	}
	if _, err := New(DefaultConfig(), Options{}); !errors.Is(err, ErrOption) {
		t.Errorf("New with nothing to serve: %v", err)
	}
}

// doc/server.md has all settings, with their defaults and what they mean.
func TestDocumentedSettings(t *testing.T) {
	text, err := os.ReadFile("../../../../doc/server.md")
	if err != nil {
		t.Fatal(err)
	}
	cfg := DefaultConfig()
	var want strings.Builder
	for _, st := range table() {
		value := st.get(&cfg)
		if value != "" {
			value = "`" + value + "` "
		}
		fmt.Fprintf(&want, "| `%s` | %s| %s |\n", st.name, value, st.usage)
	}
	if !strings.Contains(string(text), want.String()) {
		t.Errorf("the table of settings must be\n%s", &want)
	}
}

// FuzzConfigFile reads files: each is either valid or refused by errors that wrap ErrConfig, without a panic.
func FuzzConfigFile(f *testing.F) {
	for _, text := range []string{"listen: 127.0.0.1:1", "tokens:\n- {name: a, token: 0123456789abcdef, tags: [a]}", "uid: {layout: x}", "&a [*a]", "a: &x {b: *x}", "---\n---\n", "tags: a,b", "!!binary x: y"} {
		f.Add(text)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		path := filepath.Join(dir, "config.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadConfig(Sources{File: path, LookupEnv: environment(nil)}); err != nil && !errors.Is(err, ErrConfig) {
			t.Errorf("%q: %v", text, err)
		}
	})
}

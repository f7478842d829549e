package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/cmd/ringuid/internal/server"
	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/settings"
	"github.com/ringuid/ringuid/uid"
)

// The help has the defaults of the flags that it does not describe.
func TestServeHelpDefaults(t *testing.T) {
	listed := map[string]string{}
	for _, match := range regexp.MustCompile(`--([a-z-]+)=(\S+)`).FindAllStringSubmatch((*serveCommand)(nil).Help(), -1) {
		listed[match[1]] = match[2]
	}
	for _, f := range append(server.Flags(), generatorFlags()...) {
		if placeholders[f.Name] == "" && listed[f.Name] == "" {
			t.Errorf("--%s is not listed", f.Name)
		}
	}
	delete(listed, "rollover-interval") // which has another default than in services
	cfg, err := server.ReadConfig(server.Sources{Flags: listed, LookupEnv: func(string) (string, bool) { return "", false }})
	if err != nil {
		t.Fatal(err)
	}
	got, err := cfg.UID.InForce()
	if err != nil {
		t.Fatal(err)
	}
	want, err := settings.Settings{}.InForce()
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("with the flags as they are listed: %v; the defaults are %v, %v", got, want, err)
	}
	cfg.UID = nil
	if !reflect.DeepEqual(cfg, server.DefaultConfig()) {
		t.Errorf("with the flags as they are listed: %+v\nthe defaults are %+v", cfg, server.DefaultConfig())
	}
}

// A date as the epoch means what it means in other commands, and the time unit has the name of their flag, too.
func TestServeFlagsOfOthers(t *testing.T) {
	fails(t, exitUsage, `--time-unit: is "x"`, nil, "serve", "--store", "/s", "--unit", "x", "--epoch", "2026-01-01")
	r := run(t, "", nil, "serve", "--store", "/s", "--unit", "x", "--epoch", "2026-01-01")
	if strings.Contains(r.stderr, "epoch") {
		t.Errorf("%+v", r)
	}
	fails(t, exitUsage, "must be a whole second", nil, "serve", "--store", "/s", "--epoch", "2010-11-04T01:42:54.657Z")
	fails(t, exitUsage, `--epoch: is "yesterday"; must be a time`, nil, "serve", "--store", "/s", "--epoch", "yesterday")
}

// What is wrong with the settings as a whole is said once.
func TestServeFaults(t *testing.T) {
	fails(t, exitUsage, "--config cannot be read: open /none/x.yaml", nil, "serve", "--config", "/none/x.yaml")
	if r := run(t, "", nil, "serve", "--config", "/none/x.yaml"); strings.Contains(r.stderr, "nothing to serve") {
		t.Errorf("%+v", r)
	}
	fails(t, exitUsage, "there is nothing to serve", nil, "serve")
	fails(t, exitUsage, "--tags is set, and tag-store is not", nil, "serve", "--store", "/s", "--tags", "orders")
}

// Unless the settings say otherwise, the generator of a server changes to another worker ID at most once in ten minutes if worker IDs
// are used up, whatever clients request. The log says for how long the worker IDs last.
func TestServeRolloverInterval(t *testing.T) {
	for _, tt := range []struct {
		store, settings string
		rollovers       bool
		log             string
	}{
		{"file:%s", "", false, "rollover_interval=10m0s worker_ids_remaining=1048574 days_at_such_a_load=7281"},
		{"file:%s", "rollover_interval=1h", false, "rollover_interval=1h0m0s worker_ids_remaining=1048574 days_at_such_a_load=43690"},
		{"file:%s", "rollover_interval=0", true, ""},
		{"file:%s", "rollover=false", false, ""},
		{"file:%s", "generator=default", false, ""},
		{"file:%s?assign=recycled", "", true, ""},
	} {
		cfg := server.DefaultConfig()
		for setting := range strings.SplitSeq("layout=1-35-20-8,boost_power=0,max_borrow=10s,"+tt.settings, ",") {
			if key, value, ok := strings.Cut(setting, "="); ok && (tt.settings != "generator=default" || key == "layout" || key == "generator") {
				if err := cfg.UID.Set(key, value); err != nil {
					t.Fatal(err)
				}
			}
		}
		cfg.Store = fmt.Sprintf(tt.store, filepath.Join(t.TempDir(), "workers"))
		var log strings.Builder
		s, err := openServed(t.Context(), cfg, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		s.logRollovers(slog.New(slog.NewTextHandler(&log, nil)))
		if !strings.Contains(log.String(), tt.log) || tt.log == "" && log.Len() > 0 {
			t.Errorf("%+v: the log is %q", tt, log.String())
		}
		patience := 500 * time.Millisecond // in which all of it is generated if there are rollovers
		if tt.rollovers {
			patience = time.Minute
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		_, err = s.uids.NextNContext(ctx, make([]uid.ID, 256*30)) // three times what may be borrowed
		cancel()
		if n := s.uids.Stats().Rollovers; tt.rollovers && (n == 0 || err != nil) || !tt.rollovers && (n > 0 || err == nil) {
			t.Errorf("%+v: %d rollovers, %v", tt, n, err)
		}
		isLate := func(err error) bool { // a release that a slow disk has not made within five seconds
			return strings.Contains(tt.store, "recycled") && errors.Is(err, context.DeadlineExceeded)
		}
		if err := s.close(time.Minute); err != nil && !isLate(err) {
			t.Error(err)
		}
	}
}

// The URL of the page is one that a browser on this machine can open.
func TestPageURL(t *testing.T) {
	tls := server.Config{TLSCert: "cert.pem"}
	for _, tt := range []struct {
		cfg  server.Config
		addr string
		want string
	}{
		{server.Config{}, "127.0.0.1:8080", "http://127.0.0.1:8080/"}, {server.Config{}, "0.0.0.0:80", "http://localhost:80/"}, {server.Config{}, "[::]:8080", "http://localhost:8080/"},
		{tls, "[::1]:443", "https://[::1]:443/"}, {tls, "[::]:443", "https://localhost:443/"},
	} {
		addr := net.TCPAddrFromAddrPort(netip.MustParseAddrPort(tt.addr))
		if got := pageURL(tt.cfg, addr); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.addr, got, tt.want)
		}
	}
}

// The help fits on two screens.
func TestServeHelpIsShort(t *testing.T) {
	r := run(t, "", nil, "serve", "--help")
	if n := strings.Count(r.stdout, "\n"); n > 80 {
		t.Errorf("it has %d lines", n)
	}
	for _, f := range append(server.Flags(), generatorFlags()...) {
		if !strings.Contains(r.stdout, "--"+f.Name) {
			t.Errorf("it does not name --%s", f.Name)
		}
	}
}

// mustServe opens what a configuration serves, until the end of the test.
func mustServe(t *testing.T, cfg server.Config) *served {
	t.Helper()
	if wrong := checkStores(cfg); len(wrong) > 0 {
		t.Fatal(wrong)
	}
	s, err := openServed(t.Context(), cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.close(time.Minute); err != nil && !errors.Is(err, context.DeadlineExceeded) { // a slow disk
			t.Error(err)
		}
	})
	return s
}

// If no assigner is set, the store decides; the other settings of the worker ID count nevertheless.
func TestServedWithoutAssigner(t *testing.T) {
	cfg := server.DefaultConfig()
	cfg.UID.Set("worker_prefix", "5/3")
	cfg.Store = filepath.Join(t.TempDir(), "worker")
	s := mustServe(t, cfg)
	if got := s.uids.Stats().WorkerID; got>>19 != 5 || s.stale == 0 {
		t.Errorf("the worker ID is %d, the bound on staleness %v", got, s.stale)
	}
}

// A tag store that cannot be opened uses up no worker ID, however often the server is started.
func TestServedUsesNoWorkerID(t *testing.T) {
	cfg := server.DefaultConfig()
	cfg.Store = filepath.Join(t.TempDir(), "worker")
	cfg.TagStore = "nosuch://host"
	if s, err := openServed(t.Context(), cfg, slog.New(slog.DiscardHandler)); err == nil {
		t.Fatalf("openServed with the tag store %s = %v", cfg.TagStore, s.close(0))
	}
	if _, err := os.Stat(cfg.Store); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file of worker IDs: %v, want none", err)
	}
}

// What the settings of the generator say about its worker ID is what it takes from the store.
func TestServedWorkerID(t *testing.T) {
	cfg := server.DefaultConfig()
	for key, value := range map[string]string{"assigner": "recycled", "worker_id": "3", "worker_name": "orders", "worker_prefix": "5/3", "worker_divide": "2", "layout": "1-31-22-10"} {
		if err := cfg.UID.Set(key, value); err != nil {
			t.Fatal(err)
		}
	}
	cfg.Store = filepath.Join(t.TempDir(), "slots")
	s := mustServe(t, cfg)
	if got := s.uids.Stats().WorkerID; got != 5<<19|3 {
		t.Errorf("the worker ID is %d, want %d", got, 5<<19|3)
	}
	state, err := s.pool.State(t.Context())
	if err != nil || state.Pool.Format != "1-31-22-10 2026-01-01T00:00:00Z 1s; prefix 5 in 3 bits; divided by 2 bits" || state.Slots[3].Holder.Name != "orders" {
		t.Errorf("%+v, %v", state, err)
	}
	opts := s.options(nil)
	if n := len(opts.Collectors); n != 2 { // of the generator and of the pool
		t.Errorf("%d collectors", n)
	}
}

// The store and the settings must not contradict each other, and must not be wrong.
func TestCheckStores(t *testing.T) {
	for _, tt := range []struct {
		store, tagStore, settings string
		want                      string
	}{
		{"", "", "", "store: and tag-store are not set: there is nothing to serve"},
		{"redis://h", "redis://h", "assigner=recycled,worker_name=a,worker_id=0", ""},
		{"mysql://h/a?horizon=80s", "mysql://h/a?horizon=80s", "assigner=recycled", ""},
		{"redis://h?name=a", "", "worker_name=a", ""},
		{"redis://h?name=a", "", "worker_name=b", `store: is wrong: "redis://h?name=a": the parameter name is "a": differs`},
		{"redis://h", "", "assigner=disposable", `store: is wrong: "redis://h": assign is disposable, and redis has no disposable`},
		{"mysql://h/a", "", "worker_id=3", `store: is wrong: "mysql://h/a": worker-id is set, but is only for recycled worker IDs`},
		{"/s", "mysql://u:secret@h", "", `tag-store: is wrong: "mysql://u:xxxxx@h": it names no database`},
		{"/s", "", "assigner=recycled,worker_id=ordinal", "uid.worker_id: is ordinal: "}, // this host is no pod
	} {
		cfg := server.DefaultConfig()
		cfg.Store, cfg.TagStore = tt.store, tt.tagStore
		for setting := range strings.SplitSeq(tt.settings, ",") {
			if key, value, ok := strings.Cut(setting, "="); ok {
				if err := cfg.UID.Set(key, value); err != nil {
					t.Fatal(err)
				}
			}
		}
		var got []string
		for name, err := range checkStores(cfg) {
			got = append(got, name+": "+err.Error())
		}
		if text := strings.Join(got, "\n"); (text == "") != (tt.want == "") || !strings.HasPrefix(text, tt.want) || len(got) > 1 {
			t.Errorf("%+v: %q", tt, got)
		}
	}
}

// A slowSource ends its calls at a time, whether or not their context has ended.
type slowSource struct{ end time.Time }

func (s slowSource) String() string { return "slow" }

func (s slowSource) Take(context.Context, segment.Request) (segment.Range, error) {
	time.Sleep(time.Until(s.end))
	return segment.Range{}, segment.ErrEmpty
}

// The command waits at its end for a call of a store, but not for longer than it is told.
func TestCloseWaitsForStore(t *testing.T) {
	for took, want := range map[time.Duration]bool{12 * time.Second: true, time.Hour: false} {
		synctest.Test(t, func(t *testing.T) {
			begin := time.Now()
			tags, err := segment.NewTags(slowSource{end: begin.Add(took)}, segment.WithLogger(slog.New(slog.DiscardHandler)))
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if _, err := tags.NextContext(ctx, "orders"); err == nil {
				t.Error("a number came")
			}
			err = (&served{tags: tags}).close(20 * time.Second)
			if ended := !errors.Is(err, segment.ErrBusy); ended != want || time.Since(begin) > 30*time.Second || !want && time.Since(begin) < 20*time.Second {
				t.Errorf("a call of %v: %v after %v", took, err, time.Since(begin))
			}
			time.Sleep(time.Until(begin.Add(took)))
		})
	}
}

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math"
	"net"
	"os"
	"os/signal"
	"reflect"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"github.com/ringuid/ringuid/cmd/ringuid/internal/connect"
	"github.com/ringuid/ringuid/cmd/ringuid/internal/server"
	"github.com/ringuid/ringuid/metrics/promcollect"
	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/settings"
	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

type serveCommand struct {
	Config       string `placeholder:"FILE" fromenv:"RINGUID_CONFIG" help:"A file of settings (YAML). Default: RINGUID_CONFIG."`
	kong.Plugins        // of flagStruct
}

// placeholders are those of the flags that the help describes. It lists the others with their defaults only.
var placeholders = map[string]string{"store": "URL", "tag-store": "URL", "tags": "TAG,…", "listen": "HOST:PORT", "token-file": "FILE", "tls-cert": "FILE",
	"tls-key": "FILE", "hosts": "NAME,…", "log-level": "LEVEL", "log-format": "FORM", "generator": "KIND", "layout": "WIDTHS", "epoch": "TIME",
	"time-unit": "DURATION", "assigner": "KIND", "worker-id": "N", "worker-name": "NAME", "worker-prefix": "N/BITS", "worker-divide": "BITS"}

// generatorFlags returns the flags of the generator and of its worker ID: those of settings.Keys, without the store, which is a setting of
// the server.
func generatorFlags() (flags []server.Flag) {
	for _, k := range settings.Keys() {
		f := server.Flag{Name: server.FlagOfKey(k), Usage: k.Usage, Default: k.Default}
		switch k.Name {
		case "store":
			continue
		case "epoch":
			f.Usage += ", or a date" // as in other commands
		case "assigner":
			f.Usage = "where the worker ID comes from: disposable or recycled" // static is refused
		case "rollover_interval":
			f.Default = defaultRolloverInterval.String() + " (0 for recycled worker IDs)"
		}
		flags = append(flags, f)
	}
	return flags
}

// flagStruct returns a pointer to a struct with flags, for kong; tag is added to each. They are texts: server.ReadConfig checks them
// together with those of the environment and of the file, and reports all faults at once.
func flagStruct(tag string, flags []server.Flag) any {
	var fields []reflect.StructField
	for _, f := range flags {
		help := strings.ToUpper(f.Usage[:1]) + f.Usage[1:]
		if f.Default != "" && !strings.Contains(help, "default is "+f.Default) {
			help += ". Default: " + f.Default
		}
		tag := fmt.Sprintf(`name:"%s" placeholder:"%s" help:%q %s`, f.Name, placeholders[f.Name], help+".", tag)
		if placeholders[f.Name] == "" {
			tag += ` hidden:""`
		}
		if f.Name == "time-unit" {
			tag += ` aliases:"unit"` // as it is called in other commands
		}
		name := strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		fields = append(fields, reflect.StructField{Name: name, Type: reflect.TypeFor[*string](), Tag: reflect.StructTag(tag)})
	}
	return reflect.New(reflect.StructOf(fields)).Interface()
}

// moreFlags lists the flags that the help does not describe, with their defaults, for a help of 100 columns.
func moreFlags() string {
	var b strings.Builder
	column := 100
	for _, f := range append(server.Flags(), generatorFlags()...) {
		if placeholders[f.Name] != "" {
			continue
		}
		text := " --" + f.Name + "=" + cmp.Or(f.Default, "0")
		if column += len(text); column > 100 {
			b.WriteString("\n ")
			column = len(text)
		}
		b.WriteString(text)
	}
	return b.String() + "\n"
}

// Help implements kong.HelpProvider.
func (*serveCommand) Help() string {
	return `
Serves UIDs, and numbers of tags, over HTTP to programs in any language:

  GET /v1/uid               one UID; ?n=100 for a list, ?as=number for JSON numbers
  GET /v1/uid/ID            the parts of a UID
  GET /v1/segment/TAG       a number of a tag; ?n=100 for a list
  GET /readyz, /metrics     for probes and for Prometheus
  GET /                     a page for operators
  GET /openapi.json         the description of all paths

Each setting is a flag, an environment variable (--max-batch is RINGUID_MAX_BATCH) or a key of the file of --config (max-batch);
those of the generator are below its key uid (time_unit). A flag takes precedence over a variable, and that over the file.

Layout, epoch, time unit, prefix and division must be those of all other programs that use the store: otherwise UIDs can be
generated twice.

Without tokens, everybody who can connect may take UIDs. So it listens on this machine only, unless --listen says otherwise.
SIGTERM lets it finish its requests; SIGHUP lets it read its certificate again.

Examples:

  ringuid serve --store ~/ringuid-worker
  curl 'http://127.0.0.1:8080/v1/uid?n=3'
  ringuid serve --store ~/ringuid-ms --layout 1-41-10-12 --time-unit 1ms --epoch 2026-01-01
  ringuid serve --store 'mysql://service:secret@db1:3306/ids' --tag-store 'mysql://service:secret@db1:3306/ids' --listen :8080 --token-file /run/secrets/token

More flags, with their defaults (see doc/server.md and doc/settings.md):
` + moreFlags()
}

// Run serves until the context ends.
func (c *serveCommand) Run(a *App) (err error) {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP) // which would end the process
	defer signal.Stop(hangups)
	cfg, err := server.ReadConfig(server.Sources{File: c.Config, Flags: c.given(), LookupEnv: a.LookupEnv, Environ: a.Environ, Check: checkStores})
	if err != nil {
		return usageErrorf("%w", configFaults{err})
	}
	log := cfg.Logger(plainWriter{a.Stderr})
	for _, w := range cfg.Warnings() {
		log.Warn(w)
	}
	// Before a worker ID is taken: a server that is started again and again because its port is in use must not use them up.
	listener, err := server.Listen(a.Context, cfg)
	if err != nil {
		return err
	}
	defer listener.Close()
	served, err := openServed(a.Context, cfg, log)
	if err != nil {
		return err
	}
	// After the last request. An error here loses no UID.
	defer func() {
		if err = errors.Join(err, served.close(cfg.ShutdownTimeout)); err != nil {
			err = shutdownError{err}
		}
	}()
	s, err := server.New(cfg, served.options(log))
	if err != nil {
		return err
	}
	go reloadCertificate(a.Context, hangups, s, log)
	served.logRollovers(log)
	log.Info("listening", "address", listener.Addr().String(), "page", pageURL(cfg, listener.Addr()), "store", served.store(), "version", version())
	return s.Serve(a.Context, listener)
}

// reloadCertificate reads the certificate again at each SIGHUP, until ctx ends.
func reloadCertificate(ctx context.Context, hangups <-chan os.Signal, s *server.Server, log *slog.Logger) {
	for {
		select {
		case <-hangups:
		case <-ctx.Done():
			return
		}
		if err := s.ReloadCertificate(); err != nil {
			log.Error("SIGHUP: the former certificate stays in use", "err", err)
			continue
		}
		log.Info("SIGHUP: the certificate, if there is one, was read again; other settings are those of the start")
	}
}

// pageURL returns a URL of the page for a browser on this machine.
func pageURL(cfg server.Config, addr net.Addr) string {
	scheme, host := "http", addr.String()
	if cfg.TLSCert != "" {
		scheme = "https"
	}
	if tcp, ok := addr.(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
		host = net.JoinHostPort("localhost", strconv.Itoa(tcp.Port))
	}
	return scheme + "://" + host + "/"
}

// configFaults prints the faults of a configuration: each on a line of its own, if there are several.
type configFaults struct{ error }

func (f configFaults) Unwrap() error { return f.error }

func (f configFaults) Error() string {
	lines := strings.Split(strings.ReplaceAll(f.error.Error(), server.ErrConfig.Error()+": ", ""), "\n")
	if len(lines) == 1 {
		return lines[0]
	}
	return fmt.Sprintf("%d settings are wrong:\n  %s", len(lines), strings.Join(lines, "\n  "))
}

// given returns the flags that are set, by the names of settings.
func (c *serveCommand) given() map[string]string {
	given := map[string]string{}
	for _, flags := range c.Plugins {
		v := reflect.ValueOf(flags).Elem()
		for i := range v.NumField() {
			if text := v.Field(i).Interface().(*string); text != nil {
				given[v.Type().Field(i).Tag.Get("name")] = *text
			}
		}
	}
	if text, ok := given["epoch"]; ok {
		if epoch, err := parseTime(text); err == nil { // as for other commands, it may be a date
			given["epoch"] = epoch.Format(time.RFC3339Nano)
		}
	}
	return given
}

// storeOptions returns what the settings of the generator say about the store of its worker IDs.
func storeOptions(s settings.Settings) (connect.Options, error) {
	opts := connect.Options{Assign: connect.Assign(s["assigner"]), Name: s["worker_name"]}
	text, ok := s["worker_id"]
	if !ok {
		return opts, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil { // "ordinal": package settings accepts no other text
		hostname, err := os.Hostname()
		if err != nil {
			return opts, err
		}
		if n, err = workerassign.StatefulSetOrdinal(hostname); err != nil {
			return opts, err
		}
	}
	opts.WorkerID = &n
	return opts, nil
}

// tagStoreOptions returns those of the store of worker IDs if tags have the same text: its parameters may be only for recycled ones.
func tagStoreOptions(cfg server.Config) (opts connect.Options) {
	if cfg.TagStore == cfg.Store {
		opts, _ = storeOptions(cfg.UID) // whose error is that of the store
	}
	return opts
}

// checkStores checks what package server does not know: the texts of the stores, and what they have in common with the settings of
// the generator.
func checkStores(cfg server.Config) map[string]error {
	wrong := map[string]error{}
	check := func(setting, location string, opts connect.Options) {
		if err := connect.Check(location, opts); err != nil {
			wrong[setting] = fmt.Errorf("is wrong: %s", strings.TrimPrefix(err.Error(), connect.ErrURL.Error()+": "))
		}
	}
	if cfg.Store == "" && cfg.TagStore == "" {
		wrong["store"] = errors.New("and tag-store are not set: there is nothing to serve; set --store (RINGUID_STORE), --tag-store (RINGUID_TAG_STORE), or both")
	}
	if len(cfg.Tags) > 0 && cfg.TagStore == "" {
		wrong["tags"] = errors.New("is set, and tag-store is not: no numbers of tags are served; set --tag-store (RINGUID_TAG_STORE), or remove this")
	}
	if cfg.Store != "" {
		opts, err := storeOptions(cfg.UID)
		if err != nil {
			wrong["uid.worker_id"] = fmt.Errorf("is ordinal: %w", err)
		}
		if cfg.UID["assigner"] != "static" { // which is a fault already
			check("store", cfg.Store, opts)
		}
	}
	if cfg.TagStore != "" {
		check("tag-store", cfg.TagStore, tagStoreOptions(cfg))
	}
	return wrong
}

// served is what a server hands out, and the stores behind it.
type served struct {
	stores []*connect.Store
	uids   uid.Generator // nil: none
	stale  time.Duration // their bound of staleness; 0: the default
	tags   *segment.Tags // nil: none
	pool   server.Pool   // nil: none

	rolloverInterval time.Duration // the least time between two worker IDs that are used up; 0: no limit, or none is used up
}

// defaultRolloverInterval is the least time between two rollovers of a generator whose worker IDs are used up. Clients choose the load:
// without a limit, one of them can use up a worker ID every two seconds.
const defaultRolloverInterval = 10 * time.Minute

// limitRollovers returns the settings of the generator with a limit of rollovers, if they have none of their own. Recycled worker IDs
// are not used up.
func (s *served) limitRollovers(uids settings.Settings) (_ settings.Settings, err error) {
	if uids["generator"] == "default" || uids["rollover"] == "false" || s.pool != nil {
		return uids, nil
	}
	if _, ok := uids["rollover_interval"]; !ok {
		if err := uids.Set("rollover_interval", defaultRolloverInterval.String()); err != nil {
			return nil, err
		}
	}
	s.rolloverInterval, err = time.ParseDuration(uids["rollover_interval"])
	return uids, err
}

// logRollovers logs for how long the worker IDs last at the greatest load.
func (s *served) logRollovers(log *slog.Logger) {
	if s.rolloverInterval == 0 || s.uids.Stats().WorkerIDsTotal == 0 {
		return
	}
	remaining := s.uids.Stats().WorkerIDsRemaining
	days := float64(remaining) * s.rolloverInterval.Hours() / 24
	log.Info("a load above the layout's rate uses up a worker ID in each rollover interval",
		"rollover_interval", s.rolloverInterval, "worker_ids_remaining", remaining, "days_at_such_a_load", math.Floor(days))
}

// openTimeout is how long opening a store may take, where that means to log in: as long as the worker ID after that.
const openTimeout = 30 * time.Second

// openServed opens the stores, and then takes a worker ID, so that none is used up if a store cannot be opened.
func openServed(ctx context.Context, cfg server.Config, log *slog.Logger) (_ *served, err error) {
	s := new(served)
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close(0))
		}
	}()
	open := func(setting, location string, opts connect.Options) (*connect.Store, error) {
		opts.Logger = log
		ctx, cancel := context.WithTimeoutCause(ctx, openTimeout, fmt.Errorf("no answer within %v", openTimeout))
		defer cancel()
		store, err := connect.Open(ctx, location, opts)
		if errors.Is(err, connect.ErrURL) {
			return nil, usageErrorf("%s: %w", setting, err)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", setting, err)
		}
		s.stores = append(s.stores, store)
		return store, nil
	}
	var workers workerassign.Assigner
	if cfg.Store != "" {
		opts, err := storeOptions(cfg.UID)
		if err != nil {
			return nil, usageErrorf("worker_id: %w", err)
		}
		store, err := open("store", cfg.Store, opts)
		if err != nil {
			return nil, err
		}
		workers = store.Assigner()
		if r, ok := workers.(*recycled.Assigner); ok {
			s.pool = r
		}
	}
	if cfg.TagStore != "" {
		store, err := open("tag-store", cfg.TagStore, tagStoreOptions(cfg))
		if err != nil {
			return nil, err
		}
		if s.tags, err = segment.NewTags(store.Source(), segment.WithLogger(log), segment.WithMaxWait(cfg.RequestTimeout)); err != nil {
			return nil, err
		}
	}
	if workers != nil {
		if err := s.openGenerator(ctx, cfg.UID, workers, log); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// openGenerator starts the generator of the settings on a store of worker IDs.
func (s *served) openGenerator(ctx context.Context, uids settings.Settings, store workerassign.Assigner, log *slog.Logger) error {
	bits, err := strconv.Atoi(cmp.Or(uids["worker_divide"], "0"))
	if err != nil {
		return err
	}
	workers, err := wrapFlags{WorkerPrefix: uids["worker_prefix"], WorkerDivide: bits}.wrap(store)
	if err != nil {
		return err
	}
	if uids, err = s.limitRollovers(uids); err != nil {
		return err
	}
	checked := settings.Settings{"assigner": "recycled"} // without one, the store decides, but Check requires one
	maps.Copy(checked, uids)
	inForce, err := checked.InForce()
	if bound := inForce["max_staleness"]; err == nil && bound != "" {
		s.stale, err = time.ParseDuration(bound)
	}
	if err != nil {
		return err
	}
	g, err := uids.NewGenerator(ctx, workers, uid.WithLogger(log))
	if err != nil {
		return err
	}
	s.uids = g
	return nil
}

// options returns the options of the server.
func (s *served) options(log *slog.Logger) server.Options {
	opts := server.Options{Pool: s.pool, Store: s.store(), Version: version(), Logger: log, UIDs: s.uids, MaxStaleness: s.stale}
	if s.uids != nil {
		opts.Collectors = append(opts.Collectors, promcollect.NewGeneratorCollector(s.uids))
	}
	if s.pool != nil {
		opts.Collectors = append(opts.Collectors, promcollect.NewPoolCollector(s.pool))
	}
	if s.tags != nil { // not a nil pointer in an interface
		opts.Sequences = s.tags
		opts.Collectors = append(opts.Collectors, promcollect.NewTagsCollector(s.tags))
	}
	return opts
}

// store returns the addresses of the stores, without passwords.
func (s *served) store() string {
	var names []string
	for _, store := range s.stores {
		if name := store.String(); len(names) == 0 || names[0] != name {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// close closes what the server handed out, and then the stores. If a store still executes a call, because a disk takes seconds to write a
// file, it waits for limit, and some seconds more.
func (s *served) close(limit time.Duration) error {
	end := time.Now().Add(limit)
	wait := func(c io.Closer) error {
		for {
			err := c.Close() // which waits for seconds
			if isBusy := errors.Is(err, uid.ErrBusy) || errors.Is(err, segment.ErrBusy); !isBusy || !time.Now().Before(end) {
				return err
			}
		}
	}
	var errs []error
	if s.uids != nil { // first, because a worker ID may be released
		errs = append(errs, wait(s.uids))
	}
	if s.tags != nil {
		errs = append(errs, wait(s.tags))
	}
	for _, store := range s.stores {
		errs = append(errs, store.Close())
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("at the end: %w", err)
	}
	return nil
}

// version returns the version of the program, as its module records it.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(unknown)"
}

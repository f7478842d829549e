package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"runtime/debug"
	"strings"
	"unicode"

	"github.com/ringuid/ringuid/cmd/ringuid/internal/connect"
	"github.com/ringuid/ringuid/cmd/ringuid/internal/server"
	metrics "github.com/ringuid/ringuid/metrics/prometheus"
	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign"
)

// serveFlags are the settings of the server that are flags. They are texts: server.ReadConfig checks them together with
// those of the environment and of the file, and reports all faults at once.
type serveFlags struct {
	Store           *string `placeholder:"URL" help:"The store of worker IDs. Without it, no UIDs are served."`
	TagStore        *string `placeholder:"URL" help:"The store of tags. Without it, no numbers of tags are served. It may be the same store."`
	Tags            *string `placeholder:"TAG,…" help:"The tags that are served. Default: all that the store has."`
	Listen          *string `placeholder:"HOST:PORT" help:"The address to listen on. Default: 127.0.0.1:8080."`
	TokenFile       *string `placeholder:"FILE" help:"A file with a token that allows everything; or set RINGUID_TOKEN. Tokens with fewer rights: in the file of --config."`
	TLSCert         *string `name:"tls-cert" placeholder:"FILE" help:"The certificate and its chain (PEM)."`
	TLSKey          *string `name:"tls-key" placeholder:"FILE" help:"The key of the certificate (PEM)."`
	Hosts           *string `placeholder:"NAME,…" help:"The host names that requests may use for this server."`
	MaxBatch        *string `placeholder:"N" help:"The greatest number of numbers of one request. Default: 10000."`
	MaxBody         *string `placeholder:"BYTES" help:"The greatest length of a request's body. Default: 65536."`
	MaxHeader       *string `placeholder:"BYTES" help:"The greatest length of a request's header. Default: 16384."`
	MaxRequests     *string `placeholder:"N" help:"How many requests are answered concurrently; others get status 503. Default: 1000."`
	MaxConnections  *string `placeholder:"N" help:"How many connections there may be; others wait. Default: 10000."`
	RequestTimeout  *string `placeholder:"DURATION" help:"How long a request may wait for a number. Default: 5s."`
	HeaderTimeout   *string `placeholder:"DURATION" help:"How long a client may take to send a request's header. Default: 5s."`
	ReadTimeout     *string `placeholder:"DURATION" help:"How long a client may take to send a request. Default: 10s."`
	WriteTimeout    *string `placeholder:"DURATION" help:"How long an answer may take. Default: 20s."`
	IdleTimeout     *string `placeholder:"DURATION" help:"How long a connection may be idle. Default: 1m0s."`
	Drain           *string `placeholder:"DURATION" help:"How long requests are still accepted after SIGTERM. Default: 1s."`
	ShutdownTimeout *string `placeholder:"DURATION" help:"How long requests that have begun may take after that. Default: 20s."`
	LogLevel        *string `placeholder:"LEVEL" help:"debug (a record of every request), info, warn or error. Default: info."`
	LogFormat       *string `placeholder:"FORM" help:"text or json. Default: text."`
}

type serveCommand struct {
	Config string `placeholder:"FILE" fromenv:"RINGUID_CONFIG" help:"A file of settings (YAML). Default: the environment variable RINGUID_CONFIG, else none."`
	serveFlags
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

Each setting is a flag, an environment variable (--max-batch is RINGUID_MAX_BATCH) or a key of the file of --config (max-batch).
A flag takes precedence over a variable, and that over the file. All settings are checked at the start. To change one, start
again: SIGTERM lets the server finish its requests.

Without tokens, everybody who can connect may take UIDs. So it listens on this machine only, unless --listen says otherwise.

Examples:

  ringuid serve --store /var/lib/ringuid/worker
  curl http://127.0.0.1:8080/v1/uid?n=3
  ringuid serve --store 'mysql://service:secret@db1:3306/ids' --tag-store 'mysql://service:secret@db1:3306/ids' --listen :8080 --token-file /run/secrets/token
`
}

// Run serves until the context ends.
func (c *serveCommand) Run(a *App) (err error) {
	cfg, err := server.ReadConfig(server.Sources{File: c.Config, Flags: c.given(), LookupEnv: a.LookupEnv})
	if err != nil {
		return usageError{err}
	}
	if cfg.Store == "" && cfg.TagStore == "" {
		return usageErrorf("neither --store (RINGUID_STORE) nor --tag-store (RINGUID_TAG_STORE) is set: there is nothing to serve")
	}
	log := cfg.Logger(a.Stderr)
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
		if err = errors.Join(err, served.Close()); err != nil {
			err = shutdownError{err}
		}
	}()
	s, err := server.New(cfg, served.options(log))
	if err != nil {
		return err
	}
	log.Info("listening", "address", listener.Addr().String(), "tls", cfg.TLSCert != "", "store", served.store(), "version", version())
	return s.Serve(a.Context, listener)
}

// given returns the flags that are set, by the names of settings.
func (f serveFlags) given() map[string]string {
	given := map[string]string{}
	v := reflect.ValueOf(f)
	for i := range v.NumField() {
		if text := v.Field(i).Interface().(*string); text != nil {
			given[flagName(v.Type().Field(i))] = *text
		}
	}
	return given
}

// flagName returns the name of a field's flag.
func flagName(f reflect.StructField) string {
	if name := f.Tag.Get("name"); name != "" {
		return name
	}
	var b strings.Builder
	for i, r := range f.Name {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// served is what a server hands out, and the stores behind it.
type served struct {
	stores []*connect.Store
	uids   server.Generator // nil: none
	tags   *segment.Tags    // nil: none
	pool   server.Pool      // nil: none
}

// openServed opens the stores, and takes a worker ID.
func openServed(ctx context.Context, cfg server.Config, log *slog.Logger) (_ *served, err error) {
	s := new(served)
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	open := func(setting, location string) (*connect.Store, error) {
		store, err := connect.Open(ctx, location, connect.Options{Logger: log})
		if errors.Is(err, connect.ErrURL) {
			return nil, usageErrorf("%s: %w", setting, err)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", setting, err)
		}
		s.stores = append(s.stores, store)
		return store, nil
	}
	if cfg.Store != "" {
		store, err := open("store", cfg.Store)
		if err != nil {
			return nil, err
		}
		if r, ok := store.Assigner().(*workerassign.Recycled); ok {
			s.pool = r
		}
		if s.uids, err = newGenerator(ctx, store.Assigner(), cfg.UID, log); err != nil {
			return nil, err
		}
	}
	if cfg.TagStore != "" {
		store, err := open("tag-store", cfg.TagStore)
		if err != nil {
			return nil, err
		}
		if s.tags, err = segment.NewTags(store.Source(), segment.WithLogger(log)); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// newGenerator returns the generator of the settings.
func newGenerator(ctx context.Context, workers workerassign.Assigner, settings uid.Settings, log *slog.Logger) (server.Generator, error) {
	opts := append(settings.Options(), uid.WithLogger(log))
	if settings.Generator == uid.GeneratorDefault {
		g, err := uid.NewDefault(ctx, workers, opts...)
		if err != nil {
			return nil, err // not g, which would be an interface that is not nil
		}
		return g, nil
	}
	g, err := uid.NewCached(ctx, workers, opts...)
	if err != nil {
		return nil, err
	}
	return g, nil
}

// options returns the options of the server.
func (s *served) options(log *slog.Logger) server.Options {
	opts := server.Options{Pool: s.pool, Store: s.store(), Version: version(), Logger: log, UIDs: s.uids}
	if s.uids != nil {
		opts.Collectors = append(opts.Collectors, metrics.NewCollector(s.uids))
	}
	if s.tags != nil { // not a nil pointer in an interface
		opts.Sequences = s.tags
		opts.Collectors = append(opts.Collectors, metrics.NewTagsCollector(s.tags))
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

// Close closes what the server handed out, and then the stores.
func (s *served) Close() error {
	var errs []error
	if s.tags != nil {
		errs = append(errs, s.tags.Close())
	}
	if s.uids != nil {
		errs = append(errs, s.uids.Close())
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

package server

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"

	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// Sequences are the numbers of tags that a Server hands out. *segment.Tags are Sequences.
type Sequences interface {
	// NextContext returns the next number of a tag, at least 1.
	NextContext(ctx context.Context, tag string) (int64, error)

	// Claim returns up to n numbers of a tag, at least one.
	Claim(ctx context.Context, tag string, n int64) (segment.Range, error)

	// Stats returns the tags in memory, with their statistics.
	Stats() iter.Seq2[string, segment.Stats]

	// Health returns the tags in memory, with their health.
	Health() iter.Seq2[string, segment.Health]
}

// A Pool reports who holds which worker ID. *recycled.Assigner is a Pool.
type Pool interface {
	State(ctx context.Context) (recycled.State, error)
}

// Options are what a Server serves.
type Options struct {
	UIDs       uid.Generator          // nil: no UIDs
	Sequences  Sequences              // nil: no numbers of tags
	Pool       Pool                   // nil: no list of leases
	Store      string                 // the store's address without passwords, for the page
	Version    string                 // the program's, for the page
	Collectors []prometheus.Collector // for /metrics, besides the server's own
	Logger     *slog.Logger           // nil: slog.Default()

	MaxStaleness time.Duration // how long clients may use a block of UIDs; 0: uid.DefaultMaxStaleness
}

// A Server answers requests for UIDs and numbers. It is an http.Handler, which is safe for concurrent use. It does
// not own its generator and its sequences: the caller closes them after Serve has returned.
type Server struct {
	cfg     Config
	opts    Options
	log     *slog.Logger
	handler http.Handler
	exact   map[string]http.Handler // the routes for GET whose paths have no wildcard
	routes  []route
	auth    authorizer
	hosts   hostCheck
	values  headerValues
	page    map[string][]byte // the files of the page
	metrics *httpMetrics
	started time.Time

	requestIDs requestIDs
	inFlight   atomic.Int64 // all requests that are being answered
	limited    atomic.Int64 // those of them that max-requests limits
	streamed   atomic.Int64 // requests of HTTP/2 whose answers have begun, and may wait for their clients
	draining   atomic.Bool
	short      atomic.Int64        // requests that take few UIDs
	long       *semaphore.Weighted // the long lists that take UIDs
	lists      *budget             // of answers with lists
	parses     *budget             // of requests to parse UIDs
	batches    batchPool
	failures   failureLog
	logLimit   logLimiter
	leases     *cache[*poolState]
	history    *history
	streams    streamList
	latencies  latencies
	lease      leaseWatch
	cert       atomic.Pointer[tls.Certificate] // nil: no TLS
	stopped    chan struct{}                   // closed when the server no longer accepts requests
}

// ErrOption is wrapped by the errors of New for invalid options.
var ErrOption = errors.New("server: invalid option")

// New returns a Server. The error wraps ErrOption if there is nothing to serve, or joins all faults of cfg.
func New(cfg Config, opts Options) (*Server, error) {
	if opts.UIDs == nil && opts.Sequences == nil {
		return nil, fmt.Errorf("%w: there is neither a generator nor a source of tags; set at least one", ErrOption)
	}
	cfg, err := cfg.Validate()
	if err != nil {
		return nil, err
	}
	if opts.Logger == nil {
		opts.Logger = slog.Default()
	}
	opts.MaxStaleness = cmp.Or(opts.MaxStaleness, uid.DefaultMaxStaleness)
	s := &Server{cfg: cfg, opts: opts, log: opts.Logger, values: newHeaderValues(), started: time.Now()}
	s.auth = newAuthorizer(cfg)
	s.hosts = newHostCheck(cfg.Listen, cfg.Hosts)
	s.requestIDs = newRequestIDs()
	s.long = semaphore.NewWeighted(maxLongLists)
	s.lists = newBudget(listBudget, cfg.MaxRequests/2) // so that long answers leave room for short ones
	s.parses = newBudget(parseBudget, cfg.MaxRequests/4)
	s.history = newHistory()
	s.leases = newCache[*poolState](leaseCacheTime)
	s.stopped = make(chan struct{})
	if s.page, err = readPage(); err != nil {
		return nil, fmt.Errorf("server: bug: %w", err) // they are embedded
	}
	if s.metrics, err = newHTTPMetrics(s, opts.Collectors); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrOption, err)
	}
	s.routes = s.newRoutes()
	s.handler, s.exact = s.newMux()
	return s, nil
}

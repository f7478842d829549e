package server

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// httpMetrics are the server's own metrics, and the handler of /metrics.
type httpMetrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	failed   *prometheus.CounterVec
	duration *prometheus.HistogramVec
	text     *cache[metricsText]

	mu     sync.Mutex
	routes map[string]*routeMetrics
}

// routeMetrics are the metrics of one route. They count with as few steps as possible, because every request does.
type routeMetrics struct {
	route    string
	all      *httpMetrics
	ok       prometheus.Counter // of status 200
	failed   prometheus.Counter
	duration prometheus.Observer
	count    atomic.Uint64
	failures atomic.Uint64
}

// newHTTPMetrics returns the metrics of a server, with those of the collectors.
func newHTTPMetrics(s *Server, others []prometheus.Collector) (*httpMetrics, error) {
	m := &httpMetrics{
		text:   newCache[metricsText](metricsCacheTime),
		routes: map[string]*routeMetrics{},
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ringuid_http_requests_total",
			Help: "Requests that were answered, by the route's path and the status.",
		}, []string{"route", "code"}),
		failed: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ringuid_http_failures_total",
			Help: "Requests that the server could not fulfil, by the route's path. Clients that did not wait are not counted.",
		}, []string{"route"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "ringuid_http_request_duration_seconds",
			Help:    "Time from the beginning of a handler to its end, by the route's path.",
			Buckets: []float64{.00001, .000025, .0001, .00025, .001, .0025, .01, .025, .1, .25, 1, 2.5, 10},
		}, []string{"route"}),
	}
	gauge := func(name, help string, value func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value)
	}
	m.registry = prometheus.NewRegistry()
	for _, c := range append([]prometheus.Collector{
		m.requests, m.failed, m.duration, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		gauge("ringuid_http_requests_in_flight", "Requests that are being answered, including this one.", func() float64 { return float64(s.inFlight.Load()) }),
		gauge("ringuid_http_event_streams", "Streams of events that are open, one for each open page.", func() float64 { return float64(s.streams.count()) }),
	}, others...) {
		if err := m.registry.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// route returns the metrics of a route.
func (m *httpMetrics) route(path string) *routeMetrics {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.routes[path]
	if r == nil {
		r = &routeMetrics{route: path, all: m, ok: m.requests.WithLabelValues(path, "200"), failed: m.failed.WithLabelValues(path), duration: m.duration.WithLabelValues(path)}
		m.routes[path] = r
	}
	return r
}

// observe counts a request.
func (r *routeMetrics) observe(status int, failed bool, d time.Duration) {
	r.count.Add(1)
	if failed {
		r.failures.Add(1)
		r.failed.Inc()
	}
	if status == http.StatusOK {
		r.ok.Inc()
	} else {
		r.all.requests.WithLabelValues(r.route, strconv.Itoa(status)).Inc()
	}
	r.duration.Observe(d.Seconds())
}

// totals returns how many requests were answered, and how many of them were failures of the server.
func (m *httpMetrics) totals() (requests, failures uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.routes {
		requests += r.count.Load()
		failures += r.failures.Load()
	}
	return requests, failures
}

// metricsCacheTime is how long the text of the metrics is used again, so that those who do not read it share a few texts.
const metricsCacheTime = time.Second

// serveMetrics answers with the metrics in Prometheus' text format, or with status 500 if a collector fails.
func (c *call) serveMetrics() {
	text, err := c.s.metrics.text.get(&c.limit, c.s.metrics.gather)
	switch {
	case err == nil:
		c.send(http.StatusOK, text.contentType, text.body)
	case isTimeout(err):
		c.fail(http.StatusServiceUnavailable, "the metrics were not collected in time; try again later", err)
	default:
		c.fail(http.StatusInternalServerError, "the metrics cannot be collected; the log has the details", err)
	}
}

// A metricsText is the answer of promhttp.
type metricsText struct {
	contentType []string
	body        []byte
}

// gather collects the metrics.
func (m *httpMetrics) gather() (metricsText, error) {
	w := textWriter{header: http.Header{}}
	promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{ErrorLog: &w}).ServeHTTP(&w, &http.Request{URL: &url.URL{}})
	return metricsText{w.header["Content-Type"], w.body.Bytes()}, w.err
}

// A textWriter keeps the answer of another handler.
type textWriter struct {
	header http.Header
	body   bytes.Buffer
	err    error // why it failed
}

// Header implements http.ResponseWriter.
func (w *textWriter) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter.
func (w *textWriter) WriteHeader(int) {}

// Write implements http.ResponseWriter.
func (w *textWriter) Write(b []byte) (int, error) { return w.body.Write(b) }

// Println implements promhttp.Logger.
func (w *textWriter) Println(v ...any) { w.err = errors.New(strings.TrimSpace(fmt.Sprintln(v...))) }

package server

import (
	"context"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/ringuid/ringuid/uid"
)

// An answer of /metrics that fails is a failure, and not status 200 in the figures.
func TestMetricsFail(t *testing.T) {
	s := start(t, testConfig(), Options{UIDs: newGenerator(t), Collectors: []prometheus.Collector{failingCollector{}}})
	if a := s.get("/metrics"); a.status != 500 {
		t.Fatalf("%+v", a)
	}
	if state := s.httpState(); state.Requests != 1 || state.Failures != 1 {
		t.Errorf("%+v", state)
	}
	families, err := s.metrics.registry.Gather()
	if err == nil {
		t.Error("no collector fails")
	}
	var counted []string
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "ringuid_http_requests_total" && m.GetCounter().GetValue() > 0 {
				counted = append(counted, m.String())
			}
		}
	}
	if len(counted) != 1 || !strings.Contains(counted[0], `"500"`) {
		t.Errorf("counted are %q", counted)
	}
	if list := s.failures.list(); len(list) != 1 || list[0].Path != "/metrics" || list[0].Status != 500 || !strings.Contains(list[0].Text, "no figures") {
		t.Errorf("the failures are %+v", list)
	}
	if log := s.log.String(); !strings.Contains(log, "no figures") {
		t.Errorf("the log is:\n%s", log)
	}
}

// However many requests for metrics come at the same time, they are collected once, and again a second later. Who waits for that is answered
// within the time limit.
func TestMetricsAreCollectedOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, start func(Config, Options) *testServer) {
		var collected atomic.Int64
		cfg := testConfig()
		cfg.RequestTimeout = time.Second
		takes := 100 * time.Millisecond
		slow := prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "slow"}, func() float64 {
			time.Sleep(takes)
			return float64(collected.Add(1))
		})
		s := start(cfg, Options{UIDs: newGenerator(t), Collectors: []prometheus.Collector{slow}})
		for want := 1.0; want < 4; want++ {
			var requests sync.WaitGroup
			for range 50 {
				requests.Go(func() {
					if a := s.get("/metrics"); a.status != 200 || metric(t, a.body, "slow") != want || !strings.HasPrefix(a.header.Get("Content-Type"), "text/plain; version=0.0.4") {
						t.Errorf("want the %vth figures: %d %v", want, a.status, a.header)
					}
				})
			}
			requests.Wait()
			time.Sleep(metricsCacheTime)
		}
		takes = 3 * time.Second
		go s.get("/metrics")
		synctest.Wait()
		isProblem(t, "while they are collected", s.get("/metrics"), 503, "not collected in time")
		time.Sleep(takes)
	})
}

// A failingCollector has no figures.
type failingCollector struct{}

func (failingCollector) Describe(ch chan<- *prometheus.Desc) { ch <- failingDesc() }

func (failingCollector) Collect(ch chan<- prometheus.Metric) {
	ch <- prometheus.NewInvalidMetric(failingDesc(), os.ErrInvalid)
}

func failingDesc() *prometheus.Desc { return prometheus.NewDesc("fails", "no figures", nil, nil) }

// What the page shows as failures is a metric. Probes that find the server not ready, and names of tags that do not exist, are
// no failures, whatever their status is.
func TestFailuresMetric(t *testing.T) {
	g := &fakeGenerator{Generator: newGenerator(t), next: func(context.Context) (uid.ID, error) { return 0, uid.ErrEmpty }}
	s := start(t, testConfig(), Options{UIDs: g, Sequences: newSequences(t)})
	for path, status := range map[string]int{"/v1/uid": 503, "/v1/uid?n=3": 503, "/api/snowflake/get/x": 500, "/api/segment/get/none": 500, "/v1/segment/none": 404, "/v1/segment/orders": 200} {
		if a := s.get(path); a.status != status {
			t.Errorf("%s: %d, want %d", path, a.status, status)
		}
	}
	s.draining.Store(true)
	if a := s.get("/readyz"); a.status != 503 {
		t.Errorf("/readyz: %d", a.status)
	}
	text := s.get("/metrics").body
	if n, page := metric(t, text, "ringuid_http_failures_total"), s.httpState().Failures; n != 3 || page != 3 {
		t.Errorf("/metrics has %v failures, and the page %d; want 3", n, page)
	}
	for line, want := range map[string]string{`route="/v1/uid"`: "2", `route="/api/snowflake/get/{key}"`: "1", `route="/readyz"`: "0", `route="/api/segment/get/{key}"`: "0"} {
		if full := "ringuid_http_failures_total{" + line + "} " + want + "\n"; !strings.Contains(text, full) {
			t.Errorf("/metrics has no %q", full)
		}
	}
}

// doc/server.md describes each metric of the server with its labels, and no other. They follow the conventions of Prometheus.
func TestServerMetricsAreDocumented(t *testing.T) {
	s := start(t, testConfig(), Options{})
	s.get("/v1/uid")
	text := s.get("/metrics").body
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("promlint: %v, %v", problems, err)
	}
	exported := map[string]string{} // labels by name
	families, err := s.metrics.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), "ringuid_http_") {
			continue
		}
		var labels []string
		for _, l := range f.GetMetric()[0].GetLabel() {
			labels = append(labels, l.GetName())
		}
		slices.Sort(labels)
		exported[f.GetName()] = strings.Join(labels, " ")
	}
	if len(exported) < 5 {
		t.Fatalf("the metrics are %v", exported)
	}
	page, err := os.ReadFile("../../../../doc/server.md")
	if err != nil {
		t.Fatal(err)
	}
	label := regexp.MustCompile("`([a-z]+)`")
	for _, row := range regexp.MustCompile("(?m)^\\| `(ringuid_\\w+)` \\| (.+) \\|$").FindAllStringSubmatch(string(page), -1) {
		var labels []string
		for _, m := range label.FindAllStringSubmatch(row[2], -1) {
			labels = append(labels, m[1])
		}
		slices.Sort(labels)
		if want, ok := exported[row[1]]; !ok || want != strings.Join(labels, " ") {
			t.Errorf("%s is described with the labels %v; it exists: %v, with %q", row[1], labels, ok, want)
		}
		delete(exported, row[1])
	}
	if len(exported) > 0 {
		t.Errorf("not described: %v", exported)
	}
}

// metric returns the value of a metric without labels, or with any, as /metrics has it.
func metric(t *testing.T, text, name string) float64 {
	t.Helper()
	sum, found := 0.0, false
	for _, m := range regexp.MustCompile(`(?m)^`+name+`(?:\{.*\})? (\S+)$`).FindAllStringSubmatch(text, -1) {
		v, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		sum, found = sum+v, true
	}
	if !found {
		t.Fatalf("there is no metric %s in\n%s", name, text)
	}
	return sum
}

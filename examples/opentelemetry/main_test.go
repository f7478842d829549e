package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	"google.golang.org/protobuf/proto"
)

// A receiver of OTLP gets the metrics of the generator, with their values and the label of its name.
func TestExampleRuns(t *testing.T) {
	values := make(chan float64, 100)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var request collector.ExportMetricsServiceRequest
		if err == nil {
			err = proto.Unmarshal(body, &request)
		}
		if err != nil || r.URL.Path != "/v1/metrics" {
			t.Errorf("a request of %s with %d bytes: %v", r.URL.Path, len(body), err)
		}
		for _, resource := range request.ResourceMetrics {
			for _, scope := range resource.ScopeMetrics {
				for _, m := range scope.Metrics {
					for _, p := range m.GetSum().GetDataPoints() {
						if m.Name == "ringuid_uid_issued_total" && len(p.Attributes) == 1 && p.Attributes[0].Value.GetStringValue() == "orders" {
							values <- p.GetAsDouble()
						}
					}
				}
			}
		}
	}))
	defer receiver.Close()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- run(ctx, receiver.URL+"/v1/metrics", filepath.Join(t.TempDir(), "worker"), 10*time.Millisecond)
	}()
	for v := range values {
		if v >= 1 {
			break
		}
	}
	stop()
	for ended := false; !ended; {
		select {
		case <-values:
		case err := <-done:
			if ended = true; err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := run(t.Context(), receiver.URL, "", time.Minute); err == nil || !strings.Contains(err.Error(), "-file must name") {
		t.Errorf("without a file: %v", err)
	}
}

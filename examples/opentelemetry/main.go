// Command opentelemetry sends the metrics of a generator to a receiver of OTLP, such as the OpenTelemetry Collector:
//
//	cd examples/opentelemetry
//	go run . -endpoint http://127.0.0.1:4318/v1/metrics -file /var/lib/orders/worker
//
// The collectors of package promcollect are read by the bridge for Prometheus that the OpenTelemetry project has.
package main

import (
	"context"
	"errors"
	"flag"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	bridge "go.opentelemetry.io/contrib/bridges/prometheus"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/sdk/metric"

	"github.com/ringuid/ringuid/metrics/promcollect"
	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign"
)

func main() {
	endpoint := flag.String("endpoint", "http://127.0.0.1:4318/v1/metrics", "URL of the receiver")
	file := flag.String("file", "", "worker file, for one host; it must not be lost between starts")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *endpoint, *file, time.Minute); err != nil {
		log.Fatal("opentelemetry: ", err)
	}
}

// run generates a UID each second and sends the metrics at an interval, and once more at the end of ctx.
func run(ctx context.Context, endpoint, file string, interval time.Duration) (err error) {
	if file == "" {
		return errors.New("-file must name a worker file, for example /var/lib/orders/worker")
	}
	g, err := uid.NewCached(ctx, workerassign.NewFile(file))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.Close()) }()

	registry := prometheus.NewRegistry()
	registry.MustRegister(promcollect.NewGeneratorCollector(g, promcollect.WithName("orders")))
	exporter, err := otlpmetrichttp.New(ctx, otlpmetrichttp.WithEndpointURL(endpoint))
	if err != nil {
		return err
	}
	producer := bridge.NewMetricProducer(bridge.WithGatherer(registry))
	provider := metric.NewMeterProvider(metric.WithReader(metric.NewPeriodicReader(exporter, metric.WithInterval(interval), metric.WithProducer(producer))))
	defer func() {
		timeout, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		err = errors.Join(err, provider.Shutdown(timeout)) // before the generator is closed, because it reads its metrics
	}()

	for tick := time.NewTicker(time.Second); ; {
		if _, err := g.NextContext(ctx); err != nil && ctx.Err() == nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// Package promcollect exports the statistics of ringuid's generators and sequences as Prometheus metrics.
//
// A program registers one collector for each generator and each sequence:
//
//	registry := prometheus.NewRegistry() // of github.com/prometheus/client_golang/prometheus
//	registry.MustRegister(promcollect.NewGeneratorCollector(g))
//
// Statistics are read when Prometheus scrapes the program, by the methods Stats and Health. Taking a UID or a number
// costs nothing more than before. NewPoolCollector reads the store of a pool of worker IDs.
//
// The file doc/metrics.md of the repository describes all metrics. This directory also has alerting rules (alerts.yml)
// and a dashboard for Grafana (dashboard.json), which use them.
package promcollect

package server

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringuid/ringuid/metrics/promcollect"
	"github.com/ringuid/ringuid/uid"
)

// testCollectors returns the collectors of a generator, as the command registers them.
func testCollectors(g uid.Generator) []prometheus.Collector {
	return []prometheus.Collector{promcollect.NewGeneratorCollector(g)}
}

package promcollect

import (
	"fmt"
	"maps"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// A family is all metrics of one name.
type family struct {
	name   string
	help   string
	kind   prometheus.ValueType
	labels []string // that vary
}

// collector is a prometheus.Collector of one generator, or of the sequences of one object.
type collector struct {
	err   error // of the constructor; Describe reports it
	kinds map[string]prometheus.ValueType
	descs map[string]*prometheus.Desc
	order []*prometheus.Desc // as in the documentation
	read  func(*scrape)      // calls Stats and Health, and adds the metrics
}

// newCollector returns a collector. label is the name of the label with the collector's name.
func newCollector(c config, label string, families []family, read func(*scrape)) *collector {
	out := &collector{err: c.err, read: read, kinds: map[string]prometheus.ValueType{}, descs: map[string]*prometheus.Desc{}}
	if out.err != nil {
		return out
	}
	constant := prometheus.Labels{}
	maps.Copy(constant, c.labels)
	constant[label] = c.name
	for _, f := range families {
		for _, name := range append([]string{label}, f.labels...) {
			if _, used := c.labels[name]; used {
				out.err = fmt.Errorf("%w: WithLabels has the label %q, which is one of %s; must have another name", ErrOption, name, f.name)
				return out
			}
		}
		desc := prometheus.NewDesc(f.name, f.help, f.labels, constant)
		out.kinds[f.name], out.descs[f.name] = f.kind, desc
		out.order = append(out.order, desc)
	}
	return out
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	if c.err != nil {
		ch <- prometheus.NewInvalidDesc(c.err)
		return
	}
	for _, desc := range c.order {
		ch <- desc
	}
}

// A scrape is the metrics of one call of Collect.
type scrape struct {
	c       *collector
	metrics []prometheus.Metric
}

// add adds a metric of a family.
func (s *scrape) add(name string, value float64, labels ...string) {
	s.metrics = append(s.metrics, prometheus.MustNewConstMetric(s.c.descs[name], s.c.kinds[name], value, labels...))
}

// addBool adds a metric that is 0 or 1.
func (s *scrape) addBool(name string, value bool, labels ...string) {
	number := 0.0
	if value {
		number = 1
	}
	s.add(name, number, labels...)
}

// addTime adds a metric with a time, in seconds since 1970, unless it is the zero time.
func (s *scrape) addTime(name string, t time.Time) {
	if !t.IsZero() {
		s.add(name, float64(t.Unix())+float64(t.Nanosecond())/1e9)
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	if c.err != nil {
		return
	}
	s := &scrape{c: c}
	c.read(s)
	for _, m := range s.metrics {
		ch <- m
	}
}

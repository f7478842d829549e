package promcollect_test

import (
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringuid/ringuid/metrics/promcollect"
	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/segment/segmenttest"
	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign"
)

// show prints the metrics of some families.
func show(g prometheus.Gatherer, names ...string) {
	families, err := g.Gather() // as promhttp.HandlerFor does for each scrape
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range families {
		for _, name := range names {
			if f.GetName() == name {
				for _, m := range f.GetMetric() {
					fmt.Print(name)
					for _, l := range m.GetLabel() {
						fmt.Printf(" %s=%q", l.GetName(), l.GetValue())
					}
					fmt.Println(" ", m.GetGauge().GetValue()+m.GetCounter().GetValue())
				}
			}
		}
	}
}

// Two generators have different names.
func ExampleNewGeneratorCollector() {
	registry := prometheus.NewRegistry()
	for id, name := range []string{"orders", "events"} {
		// No other generator, of no process, may have these numbers: it would generate the same UIDs.
		g, err := uid.NewDefault(context.Background(), workerassign.Static(int64(id)))
		if err != nil {
			fmt.Println(err)
			return
		}
		defer g.Close()
		registry.MustRegister(promcollect.NewGeneratorCollector(g, promcollect.WithName(name)))
		if _, err := g.Next(); err != nil {
			fmt.Println(err)
			return
		}
	}
	show(registry, "ringuid_uid_issued_total", "ringuid_uid_ok")
	// Output:
	// ringuid_uid_issued_total generator="events"  1
	// ringuid_uid_issued_total generator="orders"  1
	// ringuid_uid_ok generator="events"  1
	// ringuid_uid_ok generator="orders"  1
}

// The tags beyond the bound are in the metrics without a tag.
func ExampleNewTagsCollector() {
	ctx := context.Background()
	source := segmenttest.NewMemory()
	tags, err := segment.NewTags(source)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer tags.Close()
	registry := prometheus.NewRegistry()
	registry.MustRegister(promcollect.NewTagsCollector(tags, promcollect.WithMaxTags(1)))
	for _, tag := range []string{"invoices", "orders", "returns"} {
		if err := source.CreateTag(ctx, tag, segment.TagConfig{}); err != nil {
			fmt.Println(err)
			return
		}
		if _, err := tags.NextN(tag, make([]int64, 5)); err != nil {
			fmt.Println(err)
			return
		}
	}
	show(registry, "ringuid_segment_taken_total")
	// Output:
	// ringuid_segment_taken_total sequence="" tag=""  10
	// ringuid_segment_taken_total sequence="" tag="invoices"  5
}

package prometheus

import (
	"bytes"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/uid"
)

// A panic of Stats or Health, or the end of its goroutine, is counted and logged once a minute. The other metrics of the
// program are collected.
func TestPanickingGenerator(t *testing.T) {
	for name, fail := range map[string]func(){
		"panic": func() { panic("boom") }, "nil panic": func() { panic(error(nil)) }, "goexit": runtime.Goexit,
	} {
		for _, method := range []string{"Stats", "Health"} {
			t.Run(name+"/"+method, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var log bytes.Buffer
					bad, good := newFake(t), newFake(t)
					c := NewCollector(bad, WithName("bad"), WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
					registry := newRegistry(t, c, NewCollector(good, WithName("good")))
					if n := values(t, registry, "ringuid_uid_scrape_failures_total", "generator"); n["bad"] != 0 {
						t.Errorf("%v failures before the first one", n)
					}
					ok := *bad
					if method == "Stats" {
						bad.stats = func() uid.Stats { fail(); return uid.Stats{} }
					} else {
						bad.health = func() uid.Health { fail(); return uid.Health{} }
					}
					for want := 1.0; want <= 3; want++ {
						if n := values(t, registry, "ringuid_uid_scrape_failures_total", "generator"); n["bad"] != want || n["good"] != 0 {
							t.Errorf("%v failures, want %v", n, want)
						}
					}
					if n := values(t, registry, "ringuid_uid_issued_total", "generator"); len(n) != 1 || n["good"] != 18 {
						t.Errorf("issued UIDs are %v, want those of the other generator", n)
					}
					synctest.Wait() // for the log
					if n := strings.Count(log.String(), "reading the statistics has panicked"); n != 1 {
						t.Errorf("%d records, want 1: %s", n, &log)
					}
					time.Sleep(time.Minute)
					gather(t, registry)
					synctest.Wait()
					if n := strings.Count(log.String(), "reading the statistics has panicked"); n != 2 {
						t.Errorf("after a minute, %d records, want 2: %s", n, &log)
					}
					*bad = ok
					if n := values(t, registry, "ringuid_uid_issued_total", "generator"); n["bad"] != 18 {
						t.Errorf("issued UIDs after the failures are %v", n)
					}
				})
			})
		}
	}
}

// What was read before a panic is not collected: a scrape has all metrics of a generator or only the counter.
func TestPanicDuringRead(t *testing.T) {
	families, _ := sequenceFamilies()
	c := newCollector(newConfig([]Option{WithLogger(slog.New(slog.DiscardHandler))}), "sequence", "ringuid_segment_scrape_failures_total", families, func(s *scrape) {
		s.add("ringuid_segment_step", 7, "a")
		panic("boom")
	})
	if got := names(t, newRegistry(t, c)); len(got) != 1 || !got["ringuid_segment_scrape_failures_total"] {
		t.Errorf("after a panic there are %v", got)
	}
}

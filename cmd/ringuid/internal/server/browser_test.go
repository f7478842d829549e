//go:build ringuid_full

package server

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/page"
	cdpruntime "github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/slottest"
	"github.com/ringuid/ringuid/metrics/promcollect"
	"github.com/ringuid/ringuid/stores/filestore"
	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign/assigntest"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// A browser is a tab of a headless Chromium.
type browser struct {
	context.Context
	t *testing.T

	mu     sync.Mutex
	errors []string // of the console: exceptions, and violations of the Content-Security-Policy
}

// startChromium starts Chromium, with a profile of its own. It ends with the test.
func startChromium(t *testing.T) context.Context {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		testkit.Missing(t, "Chromium is not installed")
	}
	opts := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(path), chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun, chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("host-resolver-rules", "MAP *.example 127.0.0.1"), chromedp.Flag("disable-sync", true), chromedp.Flag("disable-dev-shm-usage", true), chromedp.WSURLReadTimeout(patience),
	}
	allocator, cancel := chromedp.NewExecAllocator(context.Background(), opts...)
	t.Cleanup(cancel)
	ctx, cancel := chromedp.NewContext(allocator, chromedp.WithBrowserOption(chromedp.WithDialTimeout(patience)))
	t.Cleanup(func() {
		chromedp.Cancel(ctx)
		cancel()
	})
	if err := chromedp.Run(ctx); err != nil {
		t.Fatal(err)
	}
	return ctx
}

// openTab opens a tab of Chromium, which is closed at the end of the test.
func openTab(chromium context.Context, t *testing.T) *browser {
	t.Helper()
	ctx, cancel := chromedp.NewContext(chromium)
	t.Cleanup(cancel)
	b := &browser{Context: ctx, t: t}
	chromedp.ListenTarget(ctx, func(event any) {
		b.mu.Lock()
		defer b.mu.Unlock()
		switch e := event.(type) {
		case *cdpruntime.EventExceptionThrown:
			b.errors = append(b.errors, e.ExceptionDetails.Error())
		case *cdpruntime.EventConsoleAPICalled:
			if e.Type == cdpruntime.APITypeError && len(e.Args) > 0 {
				b.errors = append(b.errors, e.Args[0].Description)
			}
		case *log.EventEntryAdded:
			if e.Entry.Level == log.LevelError && !strings.Contains(e.Entry.Text, "401") && !strings.Contains(e.Entry.Text, "403") {
				b.errors = append(b.errors, e.Entry.Text)
			}
		}
	})
	b.run(log.Enable(), cdpruntime.Enable())
	return b
}

func (b *browser) run(actions ...chromedp.Action) {
	b.t.Helper()
	if err := chromedp.Run(b, actions...); err != nil {
		b.t.Fatalf("%v; the console has %q", err, b.console())
	}
}

func (b *browser) console() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string(nil), b.errors...)
}

// waitFor waits until a JavaScript expression is true.
func (b *browser) waitFor(expression string) {
	b.t.Helper()
	var ok bool
	err := chromedp.Run(b, chromedp.Poll("Boolean("+expression+")", &ok, chromedp.WithPollingTimeout(patience), chromedp.WithPollingInterval(50*time.Millisecond)))
	if err != nil {
		b.t.Fatalf("not true: %s: %v; the console has %q", expression, err, b.console())
	}
}

// eval returns the value of a JavaScript expression.
func eval[T any](b *browser, expression string, opts ...chromedp.EvaluateOption) (v T) {
	b.t.Helper()
	b.run(chromedp.Evaluate(expression, &v, opts...))
	return v
}

// pagePool is a pool for the page.
func pagePool() *poolOf {
	now := time.Now()
	p := &poolOf{state: recycled.State{Now: now, Pool: recycled.Pool{Slots: 12}}}
	for i := range int64(12) {
		slot := recycled.Slot{WorkerID: i + 1, From: now.Add(-time.Hour), Until: now.Add(time.Duration(10+i) * time.Second),
			Holder: recycled.Holder{Name: fmt.Sprintf("orders-%d", i), Host: fmt.Sprintf("node-%c", 'a'+i%3), Process: fmt.Sprint(4000 + i)}}
		if i < 9 {
			slot.Token = "held"
		} else {
			slot.Until = now.Add(-time.Duration(i) * time.Minute)
		}
		p.state.Slots = append(p.state.Slots, slot)
	}
	return p
}

// The page works in Chromium.
func TestPage(t *testing.T) {
	chromium := startChromium(t)
	for name, test := range map[string]func(*testing.T, *browser){"figures": testPage, "token": testPageToken, "without a ring": testPageWithoutRing, "silence": testPageSilence, "store": testPageStore} {
		t.Run(name, func(t *testing.T) { test(t, openTab(chromium, t)) })
	}
}

// The page shows the figures of /metrics, takes a UID apart, has no error and no violation of its policy, and can be used by
// keyboard. With RINGUID_SCREENSHOTS, it is photographed at three sizes, light and dark.
func testPage(t *testing.T, b *browser) {
	g, tags := newGenerator(t), newSequences(t)
	failing := &fakeGenerator{Generator: g}
	failing.next = func(ctx context.Context) (uid.ID, error) { return g.NextContext(ctx) }
	s := start(t, testConfig(), Options{UIDs: failing, Sequences: tags, Pool: pagePool(), Store: "mysql://service@db1:3306/ids", Version: "v1.0.0", Collectors: testCollectors(g)})
	stop := s.traffic(failing)
	defer stop()
	b.run(emulation.SetDeviceMetricsOverride(1440, 1000, 1, false), chromedp.Navigate(s.url+"/"))
	b.waitFor(`document.querySelector("[data-key=issued]").dataset.value > 0 && document.querySelectorAll(".chart svg").length == 4`)
	if directory := os.Getenv("RINGUID_SCREENSHOTS"); directory != "" {
		b.photograph(directory, "")
	}
	stop()

	// When nothing is requested any more, all sources have the same figures.
	want := map[string]float64{}
	for key, name := range map[string]string{
		"issued": "ringuid_uid_issued_total", "worker_id": "ringuid_uid_worker_id", "rollovers": "ringuid_uid_rollovers_total", "lost_leases": "ringuid_uid_lost_leases_total",
		"fill": "ringuid_uid_fill_ratio", "rejected_takes": "ringuid_uid_rejected_takes_total", "failed_paddings": "ringuid_uid_failed_paddings_total",
	} {
		want[key] = metric(t, s.get("/metrics").body, name)
	}
	for key, value := range want {
		b.waitFor(fmt.Sprintf(`Number(document.querySelector("[data-key=%s]").dataset.value) === %v`, key, value))
	}
	failures := eval[float64](b, `Number(document.querySelector("[data-key=failures]").dataset.value)`)
	inMetrics := metric(t, s.get("/metrics").body, "ringuid_http_failures_total")
	if failures != inMetrics || failures == 0 {
		t.Errorf("the page has %v failures, and /metrics %v", failures, inMetrics)
	}
	// The colors of a chart's legend are those of its lines, also after a change of the color scheme.
	marker := `getComputedStyle(document.querySelector("#chart-rate .legend span:nth-child(2) i")).borderTopColor`
	light := eval[string](b, marker)
	b.run(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}))
	if light != "rgb(36, 96, 207)" {
		t.Errorf("the marker of UIDs is %s", light)
	}
	b.waitFor(marker + `== "rgb(122, 168, 255)"`)
	b.run(emulation.SetEmulatedMedia())
	if rows := eval[int](b, `document.querySelectorAll("#leases tr").length`); rows != 12 {
		t.Errorf("%d leases", rows)
	}
	if text := eval[string](b, `document.querySelector("[data-key=lease_count]").textContent`); !regexp.MustCompile(`^9 held of 12, at \d\d:\d\d:\d\d UTC$`).MatchString(text) {
		t.Errorf("the pool has %q", text)
	}
	if text := eval[string](b, `document.querySelector("#failures td:nth-child(5)").textContent`); !strings.Contains(text, "connection refused") {
		t.Errorf("the last failure is %q", text)
	}
	testkit.Eventually(t, "orders has issued more than invoices", func() bool {
		return s.get("/v1/segment/orders?n=1000").status == http.StatusOK
	})
	b.waitFor(`document.querySelector("#tags td").textContent == "orders"`)

	// By keyboard: to the field by Tab, a UID, Enter.
	id, err := g.Next()
	if err != nil {
		t.Fatal(err)
	}
	reached := false
	for range 20 {
		b.run(chromedp.KeyEvent(kb.Tab))
		if reached = eval[string](b, `document.activeElement.id`) == "parse-id"; reached {
			break
		}
	}
	if !reached {
		t.Fatal("Tab does not reach the field for a UID")
	}
	b.run(chromedp.KeyEvent(id.String() + kb.Enter))
	b.waitFor(`document.querySelector("#parse-result dd")`)
	p := g.Parse(id)
	text := eval[string](b, `document.querySelector("#parse-result").textContent`)
	for _, want := range []string{p.Time.Format("2006-01-02 15:04:05 UTC"), fmt.Sprintf("%028b", p.Delta), fmt.Sprintf("%022b", p.WorkerID), fmt.Sprintf("%013b", p.Sequence)} {
		if !strings.Contains(text, want) {
			t.Errorf("the parts are %q, without %q", text, want)
		}
	}
	b.run(chromedp.SetValue("#parse-id", "12x", chromedp.ByQuery), chromedp.SendKeys("#parse-id", kb.Enter, chromedp.ByQuery))
	b.waitFor(`document.querySelector("#parse-result .error")`)
	b.mu.Lock()
	b.errors = nil // the browser logs the status 400 of the wrong UID
	b.mu.Unlock()

	// No part of the page is wider than a phone, and nothing comes from elsewhere.
	b.run(emulation.SetDeviceMetricsOverride(360, 740, 1, true))
	b.waitFor(`document.documentElement.scrollWidth <= 360`)
	if hidden := eval[[]string](b, `[...document.querySelectorAll("#failures td")].filter(e => e.getBoundingClientRect().right > 345).map(e => e.textContent)`); len(hidden) > 0 {
		t.Errorf("on a phone, these parts of failures must be scrolled to: %q", hidden)
	}
	if outside := eval[[]string](b, `performance.getEntriesByType("resource").map(e => e.name).filter(n => !n.startsWith(location.origin))`); len(outside) > 0 {
		t.Errorf("loaded from elsewhere: %q", outside)
	}
	if unnamed := eval[int](b, `[...document.querySelectorAll("input,button,meter,[role=img]")].filter(e => !(e.labels?.length || e.textContent.trim() || e.ariaLabel)).length`); unnamed > 0 {
		t.Errorf("%d controls have no name", unnamed)
	}
	if console := b.console(); len(console) > 0 {
		t.Errorf("the console has %q", console)
	}
}

// traffic requests UIDs and numbers, and a few that fail, until the function that it returns is called.
func (s *testServer) traffic(g *fakeGenerator) (stop func()) {
	real, ctx := g.next, context.Background()
	for i := range 3 {
		g.next = func(context.Context) (uid.ID, error) {
			return 0, fmt.Errorf("%w: dial tcp 10.0.0.%d:3306: connect: connection refused", uid.ErrLease, 7+i/2)
		}
		s.get("/v1/uid")
	}
	g.next = real
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	for i, path := range []string{"/v1/uid?n=20", "/v1/segment/orders?n=3", "/v1/segment/invoices"} {
		wg.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				s.get(path)
				select {
				case <-ctx.Done():
				case <-time.After(time.Duration(5*(i+1)+n%7) * time.Millisecond):
				}
			}
		})
	}
	return func() {
		cancel()
		wg.Wait()
	}
}

// photograph writes pictures of the page.
func (b *browser) photograph(directory, prefix string) {
	b.t.Helper()
	seconds, _ := strconv.Atoi(os.Getenv("RINGUID_SCREENSHOTS_AFTER"))
	time.Sleep(time.Duration(seconds) * time.Second) // so that the charts show something
	b.run(chromedp.SetValue("#parse-id", "962392666547429376", chromedp.ByQuery), chromedp.SendKeys("#parse-id", kb.Enter, chromedp.ByQuery))
	b.waitFor(`document.querySelector("#parse-result dd")`)
	for _, size := range [][2]int64{{390, 844}, {820, 1180}, {1440, 1000}} {
		for _, scheme := range []string{"light", "dark"} {
			b.run(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}),
				emulation.SetDeviceMetricsOverride(size[0], size[1], 1, size[0] < 800))
			time.Sleep(1500 * time.Millisecond) // for the next event, which draws the charts again
			var picture []byte
			b.run(chromedp.FullScreenshot(&picture, 100))
			path := filepath.Join(directory, fmt.Sprintf("%s%d-%s.png", prefix, size[0], scheme))
			if err := os.WriteFile(path, picture, 0o600); err != nil {
				b.t.Fatal(err)
			}
		}
	}
	b.run(emulation.SetEmulatedMedia(), emulation.SetDeviceMetricsOverride(1440, 1000, 1, false), chromedp.Reload())
	b.waitFor(`document.querySelector("[data-key=issued]").dataset.value > 0 && document.querySelectorAll(".chart svg").length == 4`)
}

// The page shows how much is left of what ends, and how long requests take. It is amber when the store does not extend the lease, while
// the server is still ready, and says why it is not connected.
func testPageStore(t *testing.T, b *browser) {
	store := assigntest.NewMemory(assigntest.WithNoLoss())
	directory, reserve := os.Getenv("RINGUID_SCREENSHOTS"), 16*time.Second
	if directory != "" {
		reserve = time.Minute
	}
	pool := slottest.New(t, store, recycled.WithHorizon(5*time.Minute))
	g, err := uid.NewCached(t.Context(), pool, uid.WithReserveAhead(reserve), uid.WithMaxBorrow(time.Minute), uid.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	s := start(t, testConfig(), Options{UIDs: g, Pool: pool, Sequences: newSequences(t)})
	cell := func(key string) string {
		return eval[string](b, fmt.Sprintf(`document.querySelector("[data-key=%s]").textContent`, key))
	}
	s.get("/v1/uid?n=1000")
	b.run(chromedp.Navigate(s.url + "/"))
	b.waitFor(`document.getElementById("state").textContent == "ready" && Number(document.querySelector("[data-key=p99]").dataset.value) > 0`)
	for key, want := range map[string]string{
		"workers_left": "used again", "store_state": `^has extended the lease .* s ago$`, "ahead": `^not ahead$|of at most 60 s$`, "in_flight": `^0$`, "p50": ` m?s$`, "p99": ` m?s$`,
	} {
		if got := cell(key); !regexp.MustCompile(want).MatchString(got) {
			t.Errorf("%s is %q, want %s", key, got, want)
		}
	}
	store.SetFaults(func(assigntest.Op) assigntest.Fault { return assigntest.LoseRequest })
	b.waitFor(`document.getElementById("state").className == "badge warn" && document.getElementById("state").textContent == "ready, but the store does not answer"
		&& document.getElementById("why").checkVisibility() && document.getElementById("why").textContent.includes("does not extend the lease")`)
	if directory != "" {
		b.photograph(directory, "store-")
	}
	store.SetFaults(nil)
	b.waitFor(`document.getElementById("state").textContent == "ready" && !document.getElementById("why").checkVisibility()`)
	if err := s.stop(); err != nil {
		t.Fatal(err)
	}
	b.waitFor(`document.getElementById("state").textContent == "not connected" && document.getElementById("why").checkVisibility()`)
	if why := eval[string](b, `document.getElementById("why").textContent`); !strings.Contains(why, "does not answer") && !strings.Contains(why, "has ended the connection") {
		t.Errorf("the page says %q", why)
	}
}

// The page of a server with tokens asks for one that may observe, says why one does not work, and keeps it only in the tab.
func testPageToken(t *testing.T, b *browser) {
	cfg, bearer := testTokens()
	s := start(t, cfg, Options{})
	b.run(chromedp.Navigate(s.url + "/"))
	b.waitFor(`!document.getElementById("login").hidden && document.getElementById("state").textContent == "locked"`)
	b.run(chromedp.SendKeys("#token", "wrong"+kb.Enter, chromedp.ByQuery))
	b.waitFor(`document.getElementById("login-error").textContent.includes("does not know")`)
	// A token that may not observe takes a UID apart, although the page does not know the layout.
	b.run(chromedp.SetValue("#token", bearer("uids")[7:], chromedp.ByQuery), chromedp.SendKeys("#token", kb.Enter, chromedp.ByQuery))
	b.waitFor(`document.getElementById("login-error").textContent.includes("may not observe")`)
	b.run(chromedp.SendKeys("#parse-id", "962392666547429376"+kb.Enter, chromedp.ByQuery))
	b.waitFor(`document.getElementById("parse-result").textContent.includes("2026-11-21 04:21:53 UTC")`)
	b.run(chromedp.SetValue("#token", bearer("observe")[7:], chromedp.ByQuery), chromedp.SendKeys("#token", kb.Enter, chromedp.ByQuery))
	b.waitFor(`document.getElementById("login").hidden && document.getElementById("state").textContent == "ready"`)
	b.run(emulation.SetDeviceMetricsOverride(360, 740, 1, true))
	b.waitFor(`document.querySelector("#tags .empty span")?.getBoundingClientRect().right <= 345`) // the text about no tags is not cut off
	if console := b.console(); len(console) > 0 {
		t.Errorf("the console has %q", console)
	}
	if kept := eval[int](b, `localStorage.length + document.cookie.length`); kept != 0 {
		t.Error("the token is kept beyond the tab")
	}
}

// The page of a generator without a ring has no figures of one. Times are counted by the clock of the server, because that of the
// browser may be wrong.
func testPageWithoutRing(t *testing.T, b *browser) {
	pool := recycled.New(filestore.New(filepath.Join(t.TempDir(), "slots")))
	g, err := uid.NewDefault(t.Context(), pool, uid.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	s := start(t, testConfig(), Options{UIDs: g, Pool: pool, Collectors: testCollectors(g)})
	s.get("/v1/uid")
	b.run(chromedp.ActionFunc(func(ctx context.Context) error {
		_, err := page.AddScriptToEvaluateOnNewDocument(`{ const right = Date.now; Date.now = () => right() + 3600_000; }`).Do(ctx)
		return err
	}), chromedp.Navigate(s.url+"/"))
	b.waitFor(`document.querySelector("[data-key=issued]").dataset.value > 0 && document.querySelectorAll(".chart svg").length == 3`)
	if shown := eval[string](b, `[...document.querySelectorAll(".of-ring")].filter(e => e.checkVisibility()).map(e => e.textContent).join()`); shown != "" {
		t.Errorf("the page shows %q", shown)
	}
	if strings.Contains(s.get("/metrics").body, "ringuid_uid_fill_ratio") {
		t.Error("/metrics has a fill level, and the page has none")
	}
	if until := eval[string](b, `document.querySelector("[data-key=lease_until]").textContent`); !strings.Contains(until, "UTC (in ") || strings.Contains(until, "ended") {
		t.Errorf("the lease lasts until %q", until)
	}
	// A row that has not changed is the same one, so that its text can be selected.
	b.waitFor(`document.querySelectorAll("#leases td").length > 1`)
	eval[bool](b, `(window.row = document.querySelector("#failures tr")) != null`)
	before := eval[float64](b, `Number(document.querySelector("[data-key=requests]").dataset.value)`)
	s.get("/v1/uid")
	b.waitFor(fmt.Sprintf(`Number(document.querySelector("[data-key=requests]").dataset.value) > %v`, before))
	if !eval[bool](b, `window.row === document.querySelector("#failures tr")`) {
		t.Error("the table of failures was replaced")
	}
	if console := b.console(); len(console) > 0 {
		t.Errorf("the console has %q", console)
	}
}

// A connection that breaks without an end is noticed by its silence: the page says that it is not connected, and of when its figures
// are. It connects again.
func testPageSilence(t *testing.T, b *browser) {
	s := start(t, testConfig(), Options{})
	// Time limits are a fifth, and streams of events end to have events after the second one, until window.silent is false.
	b.run(chromedp.ActionFunc(func(ctx context.Context) error {
		_, err := page.AddScriptToEvaluateOnNewDocument(`{
			const later = setTimeout, request = fetch;
			window.setTimeout = (f, ms, ...rest) => later(f, ms / 5, ...rest);
			window.silent = true;
			window.fetch = async (path, options) => {
				const resp = await request(path, options);
				if (path !== "/v1/events" || !window.silent) return resp;
				const reader = resp.body.getReader();
				return new Response(new ReadableStream({ async start(to) {
					options.signal?.addEventListener("abort", () => to.error(new Error("aborted")));
					for (let i = 0; i < 2; i++) to.enqueue((await reader.read()).value);
				} }));
			};
		}`).Do(ctx)
		return err
	}), chromedp.Navigate(s.url+"/"))
	b.waitFor(`document.getElementById("state").textContent == "ready"`)
	b.waitFor(`document.getElementById("why").textContent == "Nothing has arrived for 10 s."`)
	b.waitFor(`document.getElementById("state").textContent == "not connected" && / the figures are those of 2\d{3}-\d\d-\d\d \d\d:\d\d:\d\d UTC$/.test(" " + document.getElementById("about").textContent)`)
	eval[bool](b, `!(window.silent = false)`)
	b.waitFor(`document.getElementById("state").textContent == "ready" && document.getElementById("about").textContent.includes("up for")`)
	if console := b.console(); len(console) > 0 {
		t.Errorf("the console has %q", console)
	}
}

// A page of another host cannot take numbers, or read figures, over plain HTTP under a host name, where browsers do not send
// Sec-Fetch-Site: not by a script, and not by an element that loads something.
func TestForeignPageInBrowser(t *testing.T) {
	cfg := testConfig()
	cfg.Hosts = []string{"ids.example"}
	g := newGenerator(t)
	s := start(t, cfg, Options{UIDs: g, Sequences: newSequences(t)})
	target := strings.Replace(s.url, "127.0.0.1", "ids.example", 1)
	policy := ""
	foreign := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<!doctype html><meta name="referrer" content="%s"><script>
			const at = "%s", taken = [], ended = [];
			const get = async (path, options) => { try { taken.push(await (await fetch(at + path, options)).text()) } catch {} };
			const load = (name, key, path) => new Promise((resolve) => {
				const e = document.createElement(name);
				e.onload = e.onerror = resolve;
				e[key] = at + path;
				document.documentElement.append(e);
			});
			const submit = () => new Promise((resolve) => {
				const frame = document.createElement("iframe"), form = document.createElement("form");
				frame.name = "target";
				document.documentElement.append(frame, form);
				frame.onload = resolve;
				form.action = at + "/v1/uid";
				form.target = "target";
				form.submit();
			});
			const run = async () => {
				await get("/v1/uid?n=10000");
				await get("/v1/uid?n=10000", { mode: "no-cors" });
				await get("/v1/segment/orders", { mode: "no-cors" });
				await get("/v1/stats");
				await get("/v1/parse", { method: "POST", mode: "no-cors", body: '{"ids":["5"]}' });
				await load("img", "src", "/v1/uid?n=10000");
				await load("script", "src", "/api/snowflake/get/x");
				await load("iframe", "src", "/api/segment/get/orders");
				await submit();
				window.done = true;
			};
			run();
		</script>`, policy, target)
	}))
	defer foreign.Close()
	b := openTab(startChromium(t), t)
	for _, policy = range []string{"no-referrer", "unsafe-url"} {
		before, _ := s.metrics.totals()
		b.run(chromedp.Navigate(strings.Replace(foreign.URL, "127.0.0.1", "evil.example", 1)))
		b.waitFor("window.done")
		if taken := eval[[]string](b, "taken.filter(t => /[0-9]{5}/.test(t))"); len(taken) > 0 {
			t.Errorf("%s: a foreign page has read %.100q", policy, taken)
		}
		if after, _ := s.metrics.totals(); after-before < 8 {
			t.Errorf("%s: only %d requests have reached the server", policy, after-before)
		}
	}
	if issued := g.Stats().Issued; issued != 0 {
		t.Errorf("foreign pages have taken %d UIDs", issued)
	}
	for _, st := range s.opts.Sequences.Stats() {
		t.Errorf("foreign pages have taken %d numbers of %s", st.Issued, st.Tag)
	}
	// A page of the same host may.
	b.run(chromedp.Navigate(target + "/"))
	if status := eval[int](b, `fetch("/v1/uid", { referrerPolicy: "same-origin" }).then(r => r.status)`, awaited); status != 200 {
		t.Errorf("a page of the same host: %d", status)
	}
}

// awaited makes eval wait for a promise.
func awaited(p *cdpruntime.EvaluateParams) *cdpruntime.EvaluateParams {
	return p.WithAwaitPromise(true)
}

// testCollectors returns the collectors of a generator, as the command registers them.
func testCollectors(g uid.Generator) []prometheus.Collector {
	return []prometheus.Collector{promcollect.NewGeneratorCollector(g)}
}

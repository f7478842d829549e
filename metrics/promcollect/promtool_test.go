package promcollect

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// promtool runs promtool in a directory.
func promtool(t *testing.T, directory, input string, args ...string) (output string, err error) {
	t.Helper()
	program, err := exec.LookPath("promtool")
	if err != nil {
		testkit.Missing(t, "promtool was not found: install it (Debian's package prometheus), or run make test, which does")
	}
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Stdin = directory, strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// allMetrics returns the metrics of collectors of each kind.
func allMetrics(t *testing.T) (text string, families map[string]bool) {
	t.Helper()
	src := newSource(t, 10, "orders", "returns")
	tags := newTags(t, src, segment.WithMaxWait(time.Minute))
	for _, tag := range []string{"orders", "returns"} {
		if _, err := tags.NextN(tag, make([]int64, 3)); err != nil {
			t.Fatal(err)
		}
	}
	s := newSequence(t, src, "orders", segment.WithStepPolicy(segment.FixedStep{}), segment.WithMaxWait(time.Minute))
	for range 25 {
		if _, err := s.Next(); err != nil {
			t.Fatal(err)
		}
	}
	registry := newRegistry(t, NewGeneratorCollector(newFake(t), WithName("orders")), NewSequenceCollector(s, WithName("a")), NewTagsCollector(tags, WithMaxTags(1), WithName("b")),
		NewPoolCollector(fakePool(func(context.Context) (recycled.State, error) {
			return poolState("1-41-10-12 2026-01-01T00:00:00Z 1ms"), nil
		}), WithName("fleet")))
	return exposition(t, registry), names(t, registry)
}

// The names, units and texts of the metrics are as the conventions of Prometheus have them.
func TestMetricsFollowConventions(t *testing.T) {
	text, _ := allMetrics(t)
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("promlint: %v, %v", problems, err)
	}
	if out, err := promtool(t, ".", text, "check", "metrics"); err != nil || strings.TrimSpace(out) != "" {
		t.Errorf("promtool check metrics: %v\n%s", err, out)
	}
	bad := strings.ReplaceAll(text, "ringuid_uid_issued_total", "ringuid_uid_issued_count")
	if out, err := promtool(t, ".", bad, "check", "metrics"); err == nil {
		t.Errorf("promtool finds nothing in bad names:\n%s", out)
	}
}

var (
	alertName  = regexp.MustCompile(`(?m)^ *- alert: (\w+)$`)
	alertExpr  = regexp.MustCompile(`(?m)^( *expr: )(.*?)$`)
	metricName = regexp.MustCompile(`\bringuid_\w+`)
)

// readFile returns the content of a file of this directory, or of another one.
func readFile(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Each alerting rule fires when it should, and only then. Its test finds a rule that never fires, and one that always does.
func TestAlerts(t *testing.T) {
	rules, tests := readFile(t, "alerts.yml"), readFile(t, "alerts_test.yml")
	if out, err := promtool(t, ".", "", "check", "rules", "alerts.yml"); err != nil {
		t.Fatalf("promtool check rules: %v\n%s", err, out)
	}
	if out, err := promtool(t, ".", "", "test", "rules", "alerts_test.yml"); err != nil {
		t.Fatalf("promtool test rules: %v\n%s", err, out)
	}
	alerts := alertName.FindAllStringSubmatchIndex(rules, -1)
	if len(alerts) < 10 || len(alerts) != strings.Count(rules, "expr:") {
		t.Fatalf("%d alerts were found", len(alerts))
	}
	_, exported := allMetrics(t)
	exported["ringuid_http_failures_total"] = true // of ringuid serve: doc/server.md, whose metrics a test of the command compares
	directory := t.TempDir()
	var files []string
	for i, alert := range alerts {
		end := len(rules)
		if i+1 < len(alerts) {
			end = alerts[i+1][0]
		}
		name, rule := rules[alert[2]:alert[3]], rules[alert[0]:end]
		for _, metric := range metricName.FindAllString(alertExpr.FindString(rule), -1) {
			if !exported[metric] {
				t.Errorf("%s uses %s, which is not exported", name, metric)
			}
		}
		ofAlert := testsOf(tests, name)
		if !strings.Contains(ofAlert, "exp_alerts: []") || !strings.Contains(ofAlert, "- exp_labels:") {
			t.Errorf("%s has no test in which it fires, or none in which it does not:\n%s", name, ofAlert)
		}
		if !testkit.IsFull() {
			continue // promtool computes for seconds
		}
		for what, expr := range map[string]string{"never-fires": "vector(1) > 2", "always-fires": "vector(1)"} {
			broken := name + "-" + what
			files = append(files, broken+"/alerts_test.yml")
			if err := os.Mkdir(filepath.Join(directory, broken), 0o700); err != nil {
				t.Fatal(err)
			}
			changed := rules[:alert[0]] + alertExpr.ReplaceAllString(rule, "${1}"+expr) + rules[end:]
			for file, text := range map[string]string{"alerts.yml": changed, "alerts_test.yml": ofAlert} {
				if err := os.WriteFile(filepath.Join(directory, broken, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if len(files) == 0 {
		return
	}
	out, _ := promtool(t, directory, "", append([]string{"test", "rules"}, files...)...) // in one process, because it starts slowly
	results := strings.Split(out, "Unit Testing: ")
	if len(results) != len(files)+1 {
		t.Fatalf("promtool has tested %d files, want %d:\n%s", len(results)-1, len(files), out)
	}
	for i, file := range files {
		if name, _, _ := strings.Cut(file, "-"); !strings.Contains(results[i+1], "alertname: "+name+",") {
			t.Errorf("the tests do not find the broken rule of %s:\n%s", file, results[i+1])
		}
	}
}

// testsOf returns a file with the tests of one alert.
func testsOf(tests, alert string) string {
	const start = "  - name: "
	parts := strings.SplitAfter(tests, "\n"+start)
	file := strings.TrimSuffix(parts[0], start)
	for _, part := range parts[1:] {
		if strings.HasPrefix(part, "'"+alert+": ") {
			file += start + strings.TrimSuffix(part, start)
		}
	}
	return file
}

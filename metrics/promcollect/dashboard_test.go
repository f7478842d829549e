package promcollect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// dashboard is what the tests know of the JSON model of a dashboard of Grafana.
type dashboard struct {
	Title         string  `json:"title"`
	UID           string  `json:"uid"`
	SchemaVersion int     `json:"schemaVersion"`
	Panels        []panel `json:"panels"`
	Templating    struct {
		List []variable `json:"list"`
	} `json:"templating"`
}

type panel struct {
	ID          int        `json:"id"`
	Type        string     `json:"type"`
	Title       string     `json:"title"`
	Description string     `json:"description"`
	Datasource  datasource `json:"datasource"`
	GridPos     struct{ H, W, X, Y int }
	Targets     []struct {
		RefID        string     `json:"refId"`
		Expr         string     `json:"expr"`
		LegendFormat string     `json:"legendFormat"`
		Datasource   datasource `json:"datasource"`
	} `json:"targets"`
	FieldConfig struct {
		Defaults struct {
			Unit string `json:"unit"`
		} `json:"defaults"`
	} `json:"fieldConfig"`
}

type datasource struct{ Type, UID string }

type variable struct {
	Name       string          `json:"name"`
	Type       string          `json:"type"`
	Datasource datasource      `json:"datasource"`
	Query      json.RawMessage `json:"query"`
	Definition string          `json:"definition"`
	AllValue   string          `json:"allValue"`
}

// readDashboard returns the dashboard.
func readDashboard(t *testing.T) (d dashboard) {
	t.Helper()
	text := []byte(readFile(t, "dashboard.json"))
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	var again bytes.Buffer
	if err := json.Indent(&again, text, "", "  "); err != nil || again.String() != string(text) {
		t.Errorf("dashboard.json is not indented by two spaces: %v", err)
	}
	return d
}

// The dashboard has what Grafana requires: panels with different IDs in a grid of 24 columns, and a data source that the
// user chooses.
func TestDashboard(t *testing.T) {
	d := readDashboard(t)
	if d.Title == "" || d.UID == "" || d.SchemaVersion < 30 || len(d.Panels) < 10 {
		t.Fatalf("the dashboard is %+v", d)
	}
	chosen := datasource{"prometheus", "${datasource}"}
	ids, titles, cells := map[int]bool{}, map[string]bool{}, map[[2]int]string{}
	for _, p := range d.Panels {
		if p.ID < 1 || ids[p.ID] || p.Title == "" || titles[p.Title] {
			t.Errorf("panel %d, %q: ID and title must be set and different", p.ID, p.Title)
		}
		ids[p.ID], titles[p.Title] = true, true
		g := p.GridPos
		if g.H < 1 || g.W < 1 || g.X < 0 || g.X+g.W > 24 || g.Y < 0 {
			t.Errorf("%q is at %+v", p.Title, g)
		}
		for x := range g.W {
			for y := range g.H {
				cell := [2]int{g.X + x, g.Y + y}
				if cells[cell] != "" {
					t.Fatalf("%q and %q overlap", p.Title, cells[cell])
				}
				cells[cell] = p.Title
			}
		}
		if p.Type == "row" {
			continue
		}
		if p.Type != "timeseries" && p.Type != "stat" || p.Datasource != chosen || p.Description == "" || p.FieldConfig.Defaults.Unit == "" || len(p.Targets) == 0 {
			t.Errorf("%q: type %q, data source %v, unit %q, %d queries, description %q", p.Title, p.Type, p.Datasource, p.FieldConfig.Defaults.Unit, len(p.Targets), p.Description)
		}
		refs := map[string]bool{}
		for _, target := range p.Targets {
			if target.RefID == "" || refs[target.RefID] || target.Datasource != chosen || target.LegendFormat == "" {
				t.Errorf("%q has the query %+v", p.Title, target)
			}
			refs[target.RefID] = true
		}
	}
	if v := d.Templating.List[0]; v.Name != "datasource" || v.Type != "datasource" || string(v.Query) != `"prometheus"` {
		t.Errorf("the first variable is %+v, want the data source", v)
	}
	defined := map[string]bool{}
	for _, v := range d.Templating.List {
		for _, m := range variableName.FindAllStringSubmatch(v.Definition, -1) {
			if !defined[m[1]] {
				t.Errorf("the variable %s uses %s, which comes later or does not exist", v.Name, m[1])
			}
		}
		if v.Type == "query" && (v.Datasource != chosen || !strings.HasPrefix(v.Definition, "label_values(") || !strings.Contains(string(v.Query), strings.Trim(fmt.Sprintf("%q", v.Definition), `"`)) || v.AllValue != ".*") {
			t.Errorf("the variable %+v", v)
		}
		defined[v.Name] = true
	}
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			for _, m := range variableName.FindAllStringSubmatch(target.Expr, -1) {
				if !defined[m[1]] && m[1] != "__rate_interval" {
					t.Errorf("%q uses the variable %s, which does not exist", p.Title, m[1])
				}
			}
		}
	}
}

var (
	variableName = regexp.MustCompile(`\$\{?(\w+)`)
	selector     = regexp.MustCompile(`\{[^}]*\}|\[[^\]]*\]|"[^"]*"`)
	grouping     = regexp.MustCompile(`\b(by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)`)
	identifier   = regexp.MustCompile(`[a-zA-Z_:][\w:]*\s*\(?`)
	sampleLine   = regexp.MustCompile(`(?m)^(ringuid\S*(?:\{.*\})?) (\S+)$`)
)

// metricsOf returns the names of the metrics of a query in PromQL.
func metricsOf(expr string) (found []string) {
	for _, name := range identifier.FindAllString(grouping.ReplaceAllString(selector.ReplaceAllString(expr, ""), ""), -1) {
		switch name = strings.TrimSpace(name); {
		case strings.HasSuffix(name, "("), name == "and", name == "or", name == "unless", name == "bool":
		default:
			found = append(found, name)
		}
	}
	return found
}

func TestMetricsOf(t *testing.T) {
	const expr = `max by (a) (rate(one_total{x=~"$y",z="w"}[5m])) / on (b) group_left (c) two and three > bool 0 or vector(0)`
	if got := fmt.Sprint(metricsOf(expr)); got != "[one_total two three]" {
		t.Errorf("metricsOf() = %v", got)
	}
}

// Each query of the dashboard uses only exported metrics, and finds something in the metrics of a program.
func TestDashboardQueries(t *testing.T) {
	d := readDashboard(t)
	text, exported := allMetrics(t)
	var tests strings.Builder
	tests.WriteString("rule_files: []\nevaluation_interval: 1m\ntests:\n  - interval: 1m\n    input_series:\n")
	samples := sampleLine.FindAllStringSubmatch(text, -1)
	if len(samples) < 40 {
		t.Fatalf("%d samples were found in\n%s", len(samples), text)
	}
	for _, m := range samples {
		fmt.Fprintf(&tests, "      - series: '%s'\n        values: '%s+0x20'\n", m[1], m[2])
	}
	tests.WriteString("    promql_expr_test:\n")
	used := map[string]bool{}
	replace := strings.NewReplacer("$__rate_interval", "5m", "$job", ".*", "$instance", ".*", "$generator", ".*", "$sequence", ".*", "$tag", ".*")
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			for _, name := range metricsOf(target.Expr) {
				used[name] = true
				if !exported[name] {
					t.Errorf("%q uses %s, which is not exported", p.Title, name)
				}
			}
			expr := replace.Replace(target.Expr)
			fmt.Fprintf(&tests, "      - expr: 'count(%s) > bool 0'\n        eval_time: 15m\n        exp_samples:\n          - labels: '{}'\n            value: 1\n", expr)
		}
	}
	if len(used) < 15 {
		t.Errorf("the dashboard uses %d metrics: %v", len(used), used)
	}
	for _, v := range d.Templating.List {
		for _, name := range metricName.FindAllString(v.Definition, -1) {
			if !exported[name] {
				t.Errorf("the variable %s uses %s, which is not exported", v.Name, name)
			}
		}
	}
	directory := t.TempDir()
	run := func(text string) (string, error) {
		if err := os.WriteFile(filepath.Join(directory, "queries.yml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return promtool(t, directory, "", "test", "rules", "queries.yml")
	}
	if out, err := run(tests.String()); err != nil {
		t.Errorf("promtool: %v\n%s", err, out)
	}
	if out, err := run(strings.Replace(tests.String(), "'count(", "'count(no_such_metric + ", 1)); err == nil {
		t.Errorf("promtool finds something for a query without a result:\n%s", out)
	}
}

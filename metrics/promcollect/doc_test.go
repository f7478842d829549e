package promcollect

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// documentation is the page that describes the metrics.
const documentation = "../../doc/metrics.md"

// rows returns the rows of the tables of a text whose header begins with a cell.
func rows(text, header string) (found [][]string) {
	inside := false
	for line := range strings.Lines(text) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		switch {
		case !strings.HasPrefix(line, "|"):
			inside = false
		case cells[0] == header:
			inside = true
		case inside && !strings.HasPrefix(cells[0], "---"):
			found = append(found, cells)
		}
	}
	return found
}

var backquoted = regexp.MustCompile("`([^`]+)`")

// quoted returns what a cell has in backquotes.
func quoted(cell string) (found []string) {
	for _, m := range backquoted.FindAllStringSubmatch(cell, -1) {
		found = append(found, m[1])
	}
	return found
}

// doc/metrics.md describes each metric with its type and its labels, and no other.
func TestDocumentation(t *testing.T) {
	generators, ofRing := generatorFamilies()
	sequences, ofTags := sequenceFamilies()
	kinds := map[prometheus.ValueType]string{prometheus.CounterValue: "counter", prometheus.GaugeValue: "gauge"}
	exported := map[string]string{}
	add := func(families []family, mark string) {
		for _, f := range families {
			if exported[f.name] != "" {
				t.Errorf("there are two families %s", f.name)
			}
			exported[f.name] = fmt.Sprint(kinds[f.kind], f.labels, mark)
		}
	}
	add(generators, "")
	add(ofRing, "†")
	add(sequences, "")
	add(ofTags, "")
	add(poolFamilies(), "")
	described := map[string]string{}
	for _, row := range rows(readFile(t, documentation), "metric") {
		name, mark := quoted(row[0])[0], ""
		if strings.HasSuffix(row[0], "†") {
			mark = "†"
		}
		if described[name] != "" || len(row) != 4 || row[3] == "" {
			t.Errorf("the row of %s is %q", name, row)
		}
		described[name] = fmt.Sprint(row[1], quoted(row[2]), mark)
	}
	if !reflect.DeepEqual(exported, described) {
		for name := range exported {
			if exported[name] != described[name] {
				t.Errorf("%s is %q, and described as %q", name, exported[name], described[name])
			}
		}
		for name := range described {
			if exported[name] == "" {
				t.Errorf("%s is described, and does not exist", name)
			}
		}
	}
}

// The values of the labels reason and trigger are described.
func TestDocumentationOfLabels(t *testing.T) {
	for _, row := range rows(readFile(t, documentation), "metric") {
		var want []string
		switch quoted(row[0])[0] {
		case "ringuid_segment_failing":
			want = reasons()
		case "ringuid_uid_paddings_total":
			want = []string{"initial", "immediate", "scheduled", "caller"}
		default:
			continue
		}
		if got := quoted(row[3]); !reflect.DeepEqual(got, want) {
			t.Errorf("the values in the row of %s are %v, want %v", row[0], got, want)
		}
	}
}

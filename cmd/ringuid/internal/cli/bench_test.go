package cli

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The chart goes to the terminal and to a file.
func TestBench(t *testing.T) {
	file := filepath.Join(t.TempDir(), "chart.svg")
	r := run(t, "", nil, "bench", "--rounds", "1", "--time", "1us", "--goroutines", "1,3", "--svg", file)
	if r.status != exitOK || r.stderr != "" {
		t.Fatalf("%+v", r)
	}
	for _, want := range []string{"the median of 1 round of 1µs", "one goroutine", "3 goroutines at the same time", "  Cached.Next ", "  atomic.Int64.Add ", "× 1.00 "} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("the chart lacks %q:\n%s", want, r.stdout)
		}
	}
	if text, err := os.ReadFile(file); err != nil || !strings.HasSuffix(string(text), "</svg>\n") {
		t.Errorf("%s, %v", text, err)
	}
	r = run(t, "", nil, "bench", "--rounds", "2", "--time", "1us", "--goroutines", "2")
	if !strings.Contains(r.stdout, "the median of 2 rounds of 1µs") {
		t.Errorf("%+v", r)
	}
	r = run(t, "", nil, "bench", "--rounds", "1", "--time", "1us", "--goroutines", "2", "--json")
	var report struct {
		Results []struct {
			Name string
			NS   float64
		}
	}
	if err := json.Unmarshal([]byte(r.stdout), &report); err != nil || len(report.Results) < 5 || report.Results[0].NS <= 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestBenchFails(t *testing.T) {
	fails(t, exitUsage, "--rounds is 0", nil, "bench", "--rounds", "0")
	fails(t, exitUsage, "--time is 0s", nil, "bench", "--time", "0s")
	fails(t, exitUsage, "--goroutines is [0]", nil, "bench", "--goroutines", "0")
	fails(t, exitUsage, "--goroutines is [2 2]", nil, "bench", "--goroutines", "2,2")
	fails(t, exitFailed, "no such file", nil, "bench", "--svg", filepath.Join(t.TempDir(), "none", "x.svg"))
	// A benchmark that ends early leaves the chart of an earlier one as it is, and no empty file.
	directory := t.TempDir()
	earlier, fresh := filepath.Join(directory, "earlier.svg"), filepath.Join(directory, "new.svg")
	if err := os.WriteFile(earlier, []byte("chart"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, file := range []string{earlier, fresh} {
		var out strings.Builder
		Run(ctx, []string{"bench", "--svg", file}, strings.NewReader(""), &out, &out, func(string) (string, bool) { return "", false }, nil)
	}
	if text, err := os.ReadFile(earlier); err != nil || string(text) != "chart" {
		t.Errorf("the earlier chart is %q, %v", text, err)
	}
	if _, err := os.Stat(fresh); !os.IsNotExist(err) {
		t.Errorf("%s: %v", fresh, err)
	}
	var stdout, stderr strings.Builder
	status := Run(ctx, []string{"bench"}, strings.NewReader(""), &stdout, &stderr, func(string) (string, bool) { return "", false }, nil)
	if status != exitInterrupted || stdout.String() != "" {
		t.Errorf("status %d, %q, %q", status, &stdout, &stderr)
	}
}

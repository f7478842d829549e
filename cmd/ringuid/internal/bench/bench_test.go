package bench

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the golden files of testdata")

// Each subject is measured in each round, with each number of goroutines, and the ratios are to the limit of the same number.
func TestRun(t *testing.T) {
	var last, total int
	results, err := Run(context.Background(), Config{Rounds: 2, Time: time.Microsecond, Goroutines: []int{1, 2}}, func(done, n int) {
		if done != last+1 {
			t.Errorf("progress %d after %d", done, last)
		}
		last, total = done, n
	})
	if err != nil || last != total || last != 2*len(results) || len(results) < 10 {
		t.Fatalf("%d results, %d of %d measurements, %v", len(results), last, total, err)
	}
	for _, r := range results {
		if r.Nanos <= 0 || r.Ratio <= 0 || r.Name == Limit && r.Ratio != 1 {
			t.Errorf("%+v", r)
		}
	}
}

// Run ends when its context does, and leaves no file behind.
func TestRunEnds(t *testing.T) {
	directory := t.TempDir()
	t.Setenv("TMPDIR", directory)
	ctx, cancel := context.WithCancel(context.Background())
	results, err := Run(ctx, Config{Rounds: 1000, Time: time.Microsecond, Goroutines: []int{1}}, func(int, int) { cancel() })
	if !errors.Is(err, context.Canceled) || results != nil {
		t.Errorf("%v, %v", results, err)
	}
	if files, err := filepath.Glob(filepath.Join(directory, "*")); err != nil || len(files) != 0 {
		t.Errorf("%q remain, %v", files, err)
	}
}

// A long measurement ends when its context does.
func TestMeasureEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	s := Subject{"endless", func() func(int) error {
		return func(int) error {
			cancel()
			return nil
		}
	}}
	if _, err := s.measure(ctx, 2, time.Hour); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestMedian(t *testing.T) {
	for want, values := range map[float64][]float64{3: {3}, 2: {9, 1, 2}, 2.5: {4, 1, 2, 3}} {
		if got := median(values); got != want {
			t.Errorf("median(%v) = %v, want %v", values, got, want)
		}
	}
}

// A failing call ends a measurement, and is its error.
func TestMeasureFails(t *testing.T) {
	bad := errors.New("bad")
	s := Subject{"bad", func() func(int) error { return func(int) error { return bad } }}
	if _, err := s.measure(t.Context(), 2, time.Hour); !errors.Is(err, bad) {
		t.Error(err)
	}
}

var sample = []Result{{Limit, 1, 2, 1}, {"Cached.Next", 1, 2.5, 1.25}, {"<slow> & co", 1, 40, 20}, {Limit, 2, 5, 1}, {"Cached.Next", 2, 5.2, 1.04}}

// The charts, word by word. The picture is well-formed, whatever the names are.
func TestCharts(t *testing.T) {
	var text, picture bytes.Buffer
	if err := WriteText(&text, sample, func(bar string, isLimit bool) string {
		if isLimit {
			return "(" + bar + ")"
		}
		return bar
	}); err != nil {
		t.Fatal(err)
	}
	if err := WriteSVG(&picture, sample, "go1.26 <linux>"); err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string]string{"chart.txt": text.String(), "chart.svg": picture.String()} {
		path := filepath.Join("testdata", name)
		if *update {
			if err := errors.Join(os.MkdirAll("testdata", 0o755), os.WriteFile(path, []byte(got), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got != strings.ReplaceAll(string(want), "\r\n", "\n") {
			t.Errorf("%s:\n%s", name, got)
		}
	}
	d := xml.NewDecoder(&picture)
	for {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	for _, write := range []func(io.Writer) error{
		func(w io.Writer) error { return WriteSVG(w, sample, "") },
		func(w io.Writer) error { return WriteText(w, sample, func(b string, _ bool) string { return b }) },
	} {
		if err := write(fullDisk{}); !errors.Is(err, errFull) {
			t.Error(err)
		}
	}
}

var errFull = errors.New("full")

// fullDisk is a writer that fails.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

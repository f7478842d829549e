package main

import (
	"cmp"
	"image/color"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/ringuid/ringuid/benchmarks"
)

// drawChart draws the cost of an ID for each subject, on a logarithmic scale. It draws points instead of
// bars, because a logarithmic scale has no zero from which a bar could start.
func (r *results) drawChart(path string) error {
	plot.DefaultFont.Variant = "Sans" // has the same widths as the fonts with which browsers replace it
	p := plot.New()
	p.Title.Text = "Cost of an ID: nanoseconds, logarithmic; further left is faster"
	p.X.Scale = plot.LogScale{}
	p.X.Tick.Marker = plot.LogTicks{Prec: -1}
	p.Add(plotter.NewGrid())

	var names []string
	place := make(map[string]int)
	at := func(name string) float64 {
		if _, ok := place[name]; !ok {
			place[name] = len(names)
			names = append(names, name)
		}
		return float64(place[name])
	}
	series := []struct {
		group, title string
		subjects     []benchmarks.Subject
		color        color.Color
		shape        draw.GlyphDrawer
	}{
		{"Serial", "one goroutine", benchmarks.Serial(), color.RGBA{R: 0x1f, G: 0x4e, B: 0x9e, A: 0xff}, draw.CircleGlyph{}},
		{"Batch", "", benchmarks.Batch(), color.RGBA{R: 0x1f, G: 0x4e, B: 0x9e, A: 0xff}, draw.CircleGlyph{}},
		{"Parallel", "two goroutines at once", benchmarks.Parallel(), color.RGBA{R: 0xd0, G: 0x5a, B: 0x10, A: 0xff}, draw.TriangleGlyph{}},
	}
	// The fastest subjects are at the top. The index on the axis increases from the bottom.
	var order []plotter.XY // X: the cost, Y: the index in labels
	var labels []string
	for _, s := range series {
		for _, subject := range s.subjects {
			name := chartName(subject.Name)
			if v := median(r.figuresOf(s.group+"/"+subject.Name, r.maxProcs())); v > 0 && !slices.Contains(labels, name) {
				order = append(order, plotter.XY{X: v, Y: float64(len(labels))})
				labels = append(labels, name)
			}
		}
	}
	slices.SortFunc(order, func(a, b plotter.XY) int { return cmp.Compare(b.X, a.X) })
	for _, o := range order {
		at(labels[int(o.Y)])
	}
	for _, s := range series {
		var points plotter.XYs
		for _, subject := range s.subjects {
			if v := median(r.figuresOf(s.group+"/"+subject.Name, r.maxProcs())); v > 0 {
				points = append(points, plotter.XY{X: v * 1e9, Y: at(chartName(subject.Name))})
			}
		}
		if len(points) == 0 {
			continue
		}
		dots, err := plotter.NewScatter(points)
		if err != nil {
			return err
		}
		dots.GlyphStyle = draw.GlyphStyle{Color: s.color, Radius: vg.Points(4), Shape: s.shape}
		p.Add(dots)
		if s.title != "" {
			p.Legend.Add(s.title, dots)
		}
	}
	p.NominalY(names...)
	p.Legend.Top = true
	p.Legend.Padding = vg.Points(4)
	p.X.Min, p.X.Max = 0.1, 90_000
	return p.Save(20*vg.Centimeter, 13*vg.Centimeter, path)
}

// chartName returns the name of a subject for the chart.
func chartName(name string) string {
	return strings.NewReplacer("peer:", "", "limit:", "limit: ").Replace(name)
}

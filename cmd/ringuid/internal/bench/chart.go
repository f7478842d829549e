package bench

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	svg "github.com/ajstarks/svgo"
)

// barWidth is the width of the longest bar in a terminal, in characters.
const barWidth = 40

// eighths are parts of a character.
var eighths = []string{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"}

// bar returns a bar of a terminal. value is 0 to greatest.
func bar(value, greatest float64) string {
	n := int(value / greatest * barWidth * 8)
	return strings.Repeat("█", n/8) + eighths[n%8]
}

// groups returns the results of each number of goroutines.
func groups(results []Result) (found [][]Result) {
	for i, r := range results {
		if i == 0 || r.Goroutines != results[i-1].Goroutines {
			found = append(found, nil)
		}
		found[len(found)-1] = append(found[len(found)-1], r)
	}
	return found
}

// greatest returns the greatest cost of all results.
func greatest(results []Result) (nanos float64) {
	for _, r := range results {
		nanos = max(nanos, r.Nanos)
	}
	return nanos
}

// title says what a group of results is.
func title(goroutines int) string {
	if goroutines == 1 {
		return "one goroutine"
	}
	return fmt.Sprintf("%d goroutines at the same time", goroutines)
}

// WriteText writes the results as a chart for a terminal. paint colours a bar.
func WriteText(w io.Writer, results []Result, paint func(bar string, isLimit bool) string) error {
	width := 0
	for _, r := range results {
		width = max(width, utf8.RuneCountInString(r.Name))
	}
	for _, group := range groups(results) {
		if _, err := fmt.Fprintf(w, "%s, per UID or call\n", title(group[0].Goroutines)); err != nil {
			return err
		}
		for _, r := range group {
			if _, err := fmt.Fprintf(w, "  %-*s %8.2f ns  × %-6.2f %s\n", width, r.Name, r.Nanos, r.Ratio, paint(bar(r.Nanos, greatest(results)), r.Name == Limit)); err != nil {
				return err
			}
		}
	}
	return nil
}

// The measures of the picture, in pixels.
const (
	svgWidth, svgMargin, svgRow, svgLabels, svgBars = 820, 16, 24, 220, 400
)

// WriteSVG writes the results as a picture. The subtitle says where they were measured.
func WriteSVG(w io.Writer, results []Result, subtitle string) error {
	grouped := groups(results)
	var b bytes.Buffer
	height := 2*svgMargin + svgRow*(2+len(results)+2*len(grouped))
	canvas := svg.New(&b)
	canvas.Start(svgWidth, height, `role="img"`)
	canvas.Title("Cost of a UID")
	canvas.Desc(subtitle)
	canvas.Rect(0, 0, svgWidth, height, "fill:white")
	const text = "font-family:sans-serif;font-size:13px;fill:#222"
	y := svgMargin + svgRow/2
	canvas.Text(svgMargin, y, "Cost of a UID, in nanoseconds", text+";font-weight:bold")
	y += svgRow
	canvas.Text(svgMargin, y, subtitle, text+";fill:#666")
	for _, group := range grouped {
		y += svgRow + svgRow/2
		canvas.Text(svgMargin, y, title(group[0].Goroutines), text+";font-weight:bold")
		for _, r := range group {
			y += svgRow
			color := "#2b6cb0"
			if r.Name == Limit {
				color = "#888"
			}
			width := int(r.Nanos / greatest(results) * svgBars)
			canvas.Text(svgMargin, y, r.Name, text)
			canvas.Rect(svgMargin+svgLabels, y-13, max(width, 1), 17, "fill:"+color)
			canvas.Text(svgMargin+svgLabels+max(width, 1)+6, y, fmt.Sprintf("%.2f ns (× %.2f)", r.Nanos, r.Ratio), text)
		}
	}
	canvas.End()
	_, err := w.Write(b.Bytes())
	return err
}

package report

import (
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/avoformer/avoformer/bench/internal/sweep"
)

// SweepPlot draws speed against size into an SVG file, with a line for each series and a ring
// around each cliff.
func SweepPlot(title, xlabel string, lines []sweep.Line, file string) error {
	p := newPlot(title)
	p.X.Label.Text, p.Y.Label.Text = xlabel, lines[0].Unit
	p.X.Scale = plot.LogScale{}
	p.Y.Min = 0
	last := 1
	for i, l := range lines {
		var xy, cliffs plotter.XYs
		for _, q := range l.Points {
			xy = append(xy, plotter.XY{X: float64(q.Size), Y: q.Speed})
			last = max(last, q.Size)
			if slices.ContainsFunc(l.Cliffs, func(c sweep.Cliff) bool { return c.To == q.Size }) {
				cliffs = append(cliffs, xy[len(xy)-1])
			}
		}
		line, err := plotter.NewLine(xy)
		if err != nil {
			return err
		}
		line.Color, _ = style(i)
		line.Width = vg.Points(1.1)
		p.Add(line)
		p.Legend.Add(l.Label, line)
		if len(cliffs) == 0 {
			continue
		}
		rings, err := plotter.NewScatter(cliffs)
		if err != nil {
			return err
		}
		rings.Color, rings.Radius = line.Color, vg.Points(4)
		p.Add(rings)
	}
	var marks []float64
	for v := 1; v <= last; v *= 4 {
		marks = append(marks, float64(v))
	}
	p.X.Tick.Marker = ticks(marks)
	return save(p, 21*vg.Centimeter, 12*vg.Centimeter, file)
}

// SweepTable returns a Markdown table with a row for each series.
func SweepTable(lines []sweep.Line) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| series | slowest and fastest, %s | cliffs |\n| --- | --- | --- |\n", lines[0].Unit)
	for _, l := range lines {
		low, high := l.Points[0].Speed, l.Points[0].Speed
		for _, q := range l.Points {
			low, high = min(low, q.Speed), max(high, q.Speed)
		}
		cliffs := "none"
		for i, c := range l.Cliffs {
			if i == 0 {
				cliffs = ""
			} else {
				cliffs += ", "
			}
			cliffs += fmt.Sprintf("%d to %d: -%.0f%%", c.From, c.To, 100*c.Fall)
		}
		fmt.Fprintf(&b, "| %s | %.3g to %.3g | %s |\n", l.Label, low, high, cliffs)
	}
	return b.String()
}

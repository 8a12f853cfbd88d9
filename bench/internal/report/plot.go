package report

import (
	"bytes"
	"fmt"
	"image/color"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/avoformer/avoformer/bench/internal/peak"
	"github.com/avoformer/avoformer/bench/internal/workload"
)

// A Plot is a picture of the report.
type Plot struct{ Title, File string }

// palette has colours of Okabe and Ito, which colour-blind readers can distinguish, also in grey
// print.
var palette = []color.Color{
	color.RGBA{0, 114, 178, 255}, color.RGBA{213, 94, 0, 255}, color.RGBA{0, 158, 115, 255}, color.RGBA{204, 121, 167, 255},
	color.RGBA{230, 159, 0, 255}, color.RGBA{86, 180, 233, 255}, color.RGBA{0, 0, 0, 255}, color.RGBA{130, 130, 130, 255},
}

var glyphs = []draw.GlyphDrawer{
	draw.CircleGlyph{}, draw.SquareGlyph{}, draw.PyramidGlyph{}, draw.CrossGlyph{}, draw.PlusGlyph{}, draw.RingGlyph{}, draw.BoxGlyph{}, draw.TriangleGlyph{},
}

// scatter adds points in the i-th style.
func scatter(p *plot.Plot, i int, points plotter.XYs, label string) error {
	s, err := plotter.NewScatter(points)
	if err != nil {
		return err
	}
	s.Color, s.Shape = style(i)
	s.Radius = vg.Points(3)
	p.Add(s)
	p.Legend.Add(label, s)
	return nil
}

func style(i int) (color.Color, draw.GlyphDrawer) {
	return palette[i%len(palette)], glyphs[(i+i/len(palette))%len(glyphs)]
}

// Plots draws all plots for which the run has data, as SVG files in dir.
func (r *Run) Plots(dir string) ([]Plot, error) {
	var done []Plot
	draws := []struct {
		name string
		draw func() (*plot.Plot, vg.Length, vg.Length, error)
	}{
		{"ratio", r.ratioPlot},
		{"roofline", r.roofline},
		{"attention-length", func() (*plot.Plot, vg.Length, vg.Length, error) {
			return r.lengths(workload.SDPA, "Attention, 12 heads of 64, 1 thread", func(d []int) (int, bool) { return d[2], d[0] == 1 && d[1] == 12 && d[2] == d[3] })
		}},
		{"encoder-length", func() (*plot.Plot, vg.Length, vg.Length, error) {
			return r.lengths(workload.EncoderLayer, "Encoder layer of BERT-base, 1 thread", func(d []int) (int, bool) { return d[1], d[0] == 1 && d[2] == 768 })
		}},
	}
	for _, d := range draws {
		p, w, h, err := d.draw()
		if err != nil {
			return nil, err
		}
		if p == nil {
			continue
		}
		file := filepath.Join(dir, r.Slug()+"-"+d.name+".svg")
		if err := save(p, w, h, file); err != nil {
			return nil, err
		}
		done = append(done, Plot{p.Title.Text, file})
	}
	return done, nil
}

// sans is the font for which the plots are laid out.
var sans = font.Font{Typeface: "Liberation", Variant: "Sans"}

// legendTop is the distance of the legend from the upper edge. It is below the title.
const legendTop = 28

// save writes a plot as SVG. Text remains text. For systems without the font, the file names a
// second font with the same widths, which most systems have.
func save(p *plot.Plot, w, h vg.Length, file string) error {
	c := vgsvg.New(w, h)
	const margin = 8
	page := draw.Crop(draw.New(c), margin, -margin, margin, -margin)
	// The legend is next to the plot, where it covers no data.
	legend := p.Legend
	p.Legend = plot.NewLegend()
	legend.Top, legend.Left, legend.XOffs, legend.YOffs = true, true, 0, -legendTop
	column := legend.Rectangle(page).Size().X + 3*margin
	p.Draw(draw.Crop(page, 0, -column, 0, 0))
	legend.Draw(draw.Crop(page, page.Size().X-column+2*margin, 0, 0, 0))
	p.Legend = legend
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return err
	}
	text := regexp.MustCompile(`font-family:[^;]*;`).ReplaceAll(b.Bytes(), []byte("font-family:Liberation Sans,Arimo,Arial,Helvetica,sans-serif;"))
	return os.WriteFile(file, text, 0o644)
}

func newPlot(title string) *plot.Plot {
	p := plot.New()
	p.Title.Text = title
	p.Title.TextStyle.Font = font.From(sans, 13)
	p.Title.Padding = vg.Points(8)
	p.BackgroundColor = color.White
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Padding = vg.Points(6)
		a.Label.TextStyle.Font, a.Tick.Label.Font = font.From(sans, 10), font.From(sans, 9)
	}
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = color.Gray{225}, color.Gray{225}
	p.Add(grid)
	p.Legend.Padding = vg.Points(2)
	p.Legend.TextStyle.Font = font.From(sans, 9)
	p.Legend.ThumbnailWidth = vg.Points(22)
	return p
}

// ticks returns marks at given values, with the values as labels.
func ticks(values []float64) plot.ConstantTicks {
	var t plot.ConstantTicks
	for _, v := range values {
		label := fmt.Sprintf("%g", v)
		if v < 1 && v >= 0.1 {
			label = fmt.Sprintf("%.3g", v)
		}
		t = append(t, plot.Tick{Value: v, Label: label})
	}
	return t
}

// ratioPlot returns a plot with a row per case and a mark per number of threads.
func (r *Run) ratioPlot() (*plot.Plot, vg.Length, vg.Length, error) {
	var names []string
	for _, e := range r.Entries {
		if _, ok := e.Ratio(); ok && e.Set == Listed && !slices.Contains(names, e.Case) {
			names = append(names, e.Case)
		}
	}
	if len(names) == 0 {
		return nil, 0, 0, nil
	}
	p := newPlot("How many times longer the best other library takes")
	p.X.Label.Text = "time of the best other library / time of avoformer"
	p.X.Scale = plot.LogScale{}
	row := func(name string) float64 { return float64(len(names) - 1 - slices.Index(names, name)) }
	low, high := 0.8, 1.5
	for i, t := range r.threads() {
		var xy plotter.XYs
		for _, e := range r.entries(Listed, t) {
			if q, ok := e.Ratio(); ok {
				low, high = min(low, q), max(high, q)
				xy = append(xy, plotter.XY{X: q, Y: row(e.Case)})
			}
		}
		if len(xy) == 0 {
			continue
		}
		if err := scatter(p, i, xy, plural(t)); err != nil {
			return nil, 0, 0, err
		}
	}
	one, err := plotter.NewLine(plotter.XYs{{X: 1, Y: -0.7}, {X: 1, Y: float64(len(names)) - 0.3}})
	if err != nil {
		return nil, 0, 0, err
	}
	one.Width = vg.Points(1.2)
	p.Add(one)
	p.X.Min, p.X.Max = low/1.05, high*1.05
	// Marks are round ratios, the simplest first, unless they would overlap.
	var marks []float64
	for _, v := range []float64{1, 2, 0.5, 4, 0.25, 8, 0.1, 16, 1.5, 0.7, 3, 32, 64, 0.05, 6, 1.25, 0.8, 0.9, 1.1} {
		near := func(m float64) bool { return math.Abs(math.Log(v/m)) < 0.07*math.Log(p.X.Max/p.X.Min) }
		if v >= p.X.Min && v <= p.X.Max && !slices.ContainsFunc(marks, near) {
			marks = append(marks, v)
		}
	}
	p.X.Tick.Marker = ticks(marks)
	var rows plot.ConstantTicks
	for _, n := range names {
		rows = append(rows, plot.Tick{Value: row(n), Label: n})
	}
	p.Y.Tick.Marker = rows
	p.Y.Tick.Label.Font = font.From(sans, 8)
	p.Y.Min, p.Y.Max = -0.7, float64(len(names))-0.3
	return p, 19 * vg.Centimeter, vg.Points(90 + 11*float64(len(names))), nil
}

// roofline draws every kernel at its arithmetic intensity, with a mark per case, on one thread.
func (r *Run) roofline() (*plot.Plot, vg.Length, vg.Length, error) {
	m := r.peak(1)
	points := map[workload.Op]plotter.XYs{}
	var ops []workload.Op
	xmin, xmax, ymin := 0.06, 300.0, 1.0
	for _, e := range r.entries(Listed, 1) {
		own := e.Own()
		if own == nil {
			continue
		}
		c := e.Parsed()
		if points[c.Op] == nil {
			ops = append(ops, c.Op)
		}
		x, y := c.FLOPs()/c.Bytes(), c.FLOPs()/own.Seconds*1e-9
		xmax, ymin = max(xmax, 1.3*x), min(ymin, y/1.3)
		points[c.Op] = append(points[c.Op], plotter.XY{X: x, Y: y})
	}
	if len(ops) == 0 {
		return nil, 0, 0, nil
	}
	p := newPlot(fmt.Sprintf("Roofline, 1 thread, fastest tier; FMA peak %.0f GFLOP/s", m.BestFMA()))
	p.X.Label.Text, p.Y.Label.Text = "floating-point operations per byte that must move", "GFLOP/s"
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	top := m.BestFMA()
	within := func(low, high float64) plot.ConstantTicks {
		steps := []float64{0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000, 3000}
		return ticks(slices.DeleteFunc(steps, func(v float64) bool { return v < low || v > high }))
	}
	p.X.Tick.Marker, p.Y.Tick.Marker = within(xmin, xmax), within(ymin, 1.5*top)
	dashes := [][]vg.Length{nil, {vg.Points(6), vg.Points(3)}, {vg.Points(2), vg.Points(2)}}
	for i, l := range peak.Levels {
		bw := m.Copy[l.Name]
		if bw == 0 {
			continue
		}
		line, err := plotter.NewLine(plotter.XYs{{X: max(xmin, ymin/bw), Y: bw * max(xmin, ymin/bw)}, {X: top / bw, Y: top}, {X: xmax, Y: top}})
		if err != nil {
			return nil, 0, 0, err
		}
		line.Width, line.Dashes = vg.Points(1), dashes[i%len(dashes)]
		p.Add(line)
		p.Legend.Add(fmt.Sprintf("copy, %s: %.0f GB/s", l.Name, bw), line)
	}
	for i, op := range ops {
		if err := scatter(p, i, points[op], string(op)); err != nil {
			return nil, 0, 0, err
		}
	}
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = xmin, xmax, ymin, 1.5*top
	return p, 23 * vg.Centimeter, 15 * vg.Centimeter, nil
}

// decades returns round values for a logarithmic axis, with more values on a short axis.
func decades(series map[string]plotter.XYs) []float64 {
	low, high := math.Inf(1), 0.0
	for _, xy := range series {
		for _, v := range xy {
			low, high = min(low, v.Y), max(high, v.Y)
		}
	}
	steps := []float64{1, 3}
	if high < 100*low {
		steps = []float64{1, 2, 3, 5, 7}
	}
	var out []float64
	for e := range 9 {
		for _, s := range steps {
			if v := s * math.Pow(10, float64(e)); v >= low && v <= high {
				out = append(out, v)
			}
		}
	}
	return out
}

// lengths draws time against sequence length for the cases of an operation that pick selects.
func (r *Run) lengths(op workload.Op, title string, pick func(dims []int) (length int, ok bool)) (*plot.Plot, vg.Length, vg.Length, error) {
	series := map[string]plotter.XYs{}
	var names []string
	var xs []float64
	for _, e := range r.entries(Listed, 1) {
		c := e.Parsed()
		if c.Op != op {
			continue
		}
		length, ok := pick(c.Dims)
		if !ok {
			continue
		}
		xs = append(xs, float64(length))
		for _, x := range e.Results {
			if x.Refused != "" || x.Rounds == 0 {
				continue
			}
			n := x.Name
			if !strings.HasPrefix(n, Ours) {
				n += " " + shortVersion(x.Version)
			}
			if series[n] == nil {
				names = append(names, n)
			}
			series[n] = append(series[n], plotter.XY{X: float64(length), Y: x.Seconds * 1e6})
		}
	}
	if len(xs) < 2 {
		return nil, 0, 0, nil
	}
	p := newPlot(title)
	p.X.Label.Text, p.Y.Label.Text = "sequence length", "µs per call"
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	slices.Sort(xs)
	p.X.Tick.Marker = ticks(slices.Compact(xs))
	p.Y.Tick.Marker = ticks(decades(series))
	for i, n := range names {
		xy := series[n]
		slices.SortFunc(xy, func(a, b plotter.XY) int { return int(a.X - b.X) })
		line, marks, err := plotter.NewLinePoints(xy)
		if err != nil {
			return nil, 0, 0, err
		}
		c, g := style(i)
		line.Color, marks.Color, marks.Shape, marks.Radius = c, c, g, vg.Points(2.6)
		line.Width = vg.Points(0.9)
		if strings.HasPrefix(n, Ours) {
			line.Width = vg.Points(1.8)
		}
		p.Add(line, marks)
		p.Legend.Add(n, line, marks)
	}
	return p, 21 * vg.Centimeter, 13 * vg.Centimeter, nil
}

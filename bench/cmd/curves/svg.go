package main

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// colours are colours of Okabe and Ito that stand out on white and on black. dashes distinguish
// curves without colours.
var (
	colours = []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"}
	dashes  = []string{"", "7 3", "2 3", "9 3 2 3", "12 4", "4 4"}
)

// These are positions in pixels: of the frame of the curves, and of the legend to its right.
const (
	width, height            = 860, 460
	left, top, right, bottom = 64, 68, 500, 400
	legend                   = 530
)

// svg draws both axes with doublings at equal distances, so that ideal speedup is the diagonal.
func (c *chart) svg() string {
	least, last := 1.0, 2.0
	for _, s := range c.series {
		for _, p := range s.points {
			least, last = min(least, p.speedup), max(last, p.threads, p.speedup)
		}
	}
	low, high := math.Floor(math.Log2(least)), math.Ceil(math.Log2(last))
	x := func(threads float64) float64 { return left + (right-left)*math.Log2(threads)/high }
	y := func(speedup float64) float64 { return bottom - (bottom-top)*(math.Log2(speedup)-low)/(high-low) }

	var b strings.Builder
	text := func(class string, x, y float64, s string) {
		fmt.Fprintf(&b, "<text class=%q x=\"%.1f\" y=\"%.1f\">%s</text>\n", class, x, y, html.EscapeString(s))
	}
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img">
<title>%s</title>
<style>
.page { fill: #fff } text { fill: #222; font: 13px Arial, Helvetica, sans-serif } .title { font-size: 17px } .small { font-size: 11px }
.middle { text-anchor: middle } .end { text-anchor: end } .grid { stroke: #ddd } .ideal { stroke: #888; stroke-dasharray: 3 4 } path { fill: none; stroke-width: 2.2 }
@media (prefers-color-scheme: dark) { .page { fill: #0d1117 } text { fill: #e6e6e6 } .grid { stroke: #333b45 } }
</style>
<rect class="page" width="100%%" height="100%%"/>
`, width, height, width, height, html.EscapeString(c.title))
	text("title", left, 28, c.title)
	text("small", left, 48, c.cpu)
	for e := low; e <= high; e++ {
		v := math.Exp2(e)
		fmt.Fprintf(&b, `<line class="grid" x1="%d" y1="%.1f" x2="%d" y2="%.1f"/>`+"\n", left, y(v), right, y(v))
		text("end", left-8, y(v)+4, fmt.Sprintf("%g×", v))
		if e >= 0 {
			fmt.Fprintf(&b, `<line class="grid" x1="%.1f" y1="%d" x2="%.1f" y2="%d"/>`+"\n", x(v), top, x(v), bottom)
			text("middle", x(v), bottom+18, fmt.Sprintf("%g", v))
		}
	}
	text("middle", (left+right)/2, bottom+38, "threads")
	text("small", legend, top+8, "speed over one thread (in brackets)")
	fmt.Fprintf(&b, `<line class="ideal" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`+"\n", x(1), y(1), x(math.Exp2(high)), y(math.Exp2(high)))
	for i, s := range c.series {
		var path strings.Builder
		for j, p := range s.points {
			fmt.Fprintf(&path, "%c%.1f %.1f", "ML"[min(j, 1)], x(p.threads), y(p.speedup))
			fmt.Fprintf(&b, `<circle cx="%.1f" cy="%.1f" r="3.2" fill="%s"/>`+"\n", x(p.threads), y(p.speedup), colours[i])
		}
		at := float64(top + 34 + 24*i)
		for _, d := range []string{path.String(), fmt.Sprintf("M%d %.1fH%d", legend, at-4, legend+30)} {
			fmt.Fprintf(&b, `<path d="%s" stroke="%s" stroke-dasharray="%s"/>`+"\n", d, colours[i], dashes[i])
		}
		text("label", legend+38, at, s.label)
	}
	at := float64(top + 34 + 24*len(c.series))
	fmt.Fprintf(&b, `<line class="ideal" x1="%d" y1="%.1f" x2="%d" y2="%.1f"/>`+"\n", legend, at-4, legend+30, at-4)
	text("label", legend+38, at, "as many times as threads")
	text("small", left, height-8, c.command)
	b.WriteString("</svg>\n")
	return b.String()
}

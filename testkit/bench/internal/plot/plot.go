// Package plot draws bars and lines as SVG, by hand: a few rectangles and texts need
// no library. Pictures have a white ground, so that they are readable on dark pages.
package plot

import (
	"encoding/xml"
	"fmt"
	"math"
	"strings"
)

// Bar is one figure.
type Bar struct {
	Name  string
	Value float64
	Label string // beside the bar
}

// Group is figures that are compared; the longest bar of each takes the whole width.
type Group struct {
	Title string
	Bars  []Bar
}

// Measures of the pictures, in pixels.
const (
	width     = 920
	left      = 270 // of the bars
	right     = 110 // for the label
	barHeight = 18
	gap       = 4
	titleRoom = 30
)

// palette has the colors of the names, in the order of their first use. Text after a comma in a name
// describes a variant and does not change the color.
var palette = []string{"#c2410c", "#4b6cb7", "#6b8f3a", "#9bb86f", "#8a8a8a", "#bdbdbd", "#7a5195"}

type colors map[string]string

func (c colors) of(name string) string {
	name, _, _ = strings.Cut(name, ", ")
	if c[name] == "" {
		c[name] = palette[len(c)%len(palette)]
	}
	return c[name]
}

// Bars draws groups below each other.
func Bars(title string, groups []Group) []byte {
	var b strings.Builder
	paint := colors{}
	y := titleRoom + 10
	for _, g := range groups {
		y += bars(&b, g, y, paint)
	}
	return document(title, y, b.String())
}

func bars(b *strings.Builder, g Group, y int, paint colors) (height int) {
	text(b, 10, y+14, "start", "600", g.Title)
	longest := 0.0
	for _, bar := range g.Bars {
		longest = max(longest, bar.Value)
	}
	at := y + titleRoom - 6
	for _, bar := range g.Bars {
		long := 0.0
		if bar.Value > 0 { // else there is only its label
			long = bar.Value / longest * (width - left - right)
		}
		text(b, left-8, at+13, "end", "400", bar.Name)
		fmt.Fprintf(b, `<rect x="%d" y="%d" width="%.1f" height="%d" fill="%s"/>`+"\n", left, at, math.Max(1, long), barHeight, paint.of(bar.Name))
		text(b, left+int(long)+6, at+13, "start", "400", bar.Label)
		at += barHeight + gap
	}
	return at - y + 12
}

func text(b *strings.Builder, x, y int, anchor, weight, words string) {
	fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="%s" font-weight="%s">%s</text>`+"\n", x, y, anchor, weight, escaped(words))
}

func escaped(words string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(words)) // a Builder takes everything
	return b.String()
}

func document(title string, height int, body string) []byte {
	return fmt.Appendf(nil, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" font-family="sans-serif" font-size="12">
<rect width="100%%" height="100%%" fill="#ffffff"/>
<text x="10" y="22" font-size="15" font-weight="600">%[3]s</text>
%[4]s</svg>
`, width, height, escaped(title), body)
}

// Line is one figure at several numbers.
type Line struct {
	Name string
	X, Y []float64
}

// Measures of a plot of lines.
const (
	plotLeft, plotRight = 80, 250 // the right one for names
	plotTop, plotBottom = 50, 40
	plotHeight          = 330
)

// Lines draws figures against numbers, both on logarithmic axes: what is level does
// not grow, what rises as the diagonal grows as the number does.
func Lines(title, xName string, lines []Line) []byte {
	var b strings.Builder
	x, y := scaleOf(lines, func(l Line) []float64 { return l.X }), scaleOf(lines, func(l Line) []float64 { return l.Y })
	px := func(v float64) float64 { return plotLeft + x.part(v)*(width-plotLeft-plotRight) }
	py := func(v float64) float64 { return plotHeight - plotBottom - y.part(v)*(plotHeight-plotTop-plotBottom) }
	for e := x.low; e <= x.high; e++ {
		at := int(px(math.Pow(10, e)))
		fmt.Fprintf(&b, `<line x1="%d" y1="%d" x2="%[1]d" y2="%[3]d" stroke="#dddddd"/>`+"\n", at, plotTop, plotHeight-plotBottom)
		text(&b, at, plotHeight-plotBottom+16, "middle", "400", power(e))
	}
	for e := y.low; e <= y.high; e++ {
		at := int(py(math.Pow(10, e)))
		fmt.Fprintf(&b, `<line x1="%d" y1="%d" x2="%d" y2="%[2]d" stroke="#dddddd"/>`+"\n", plotLeft, at, width-plotRight)
		text(&b, plotLeft-6, at+4, "end", "400", power(e))
	}
	text(&b, (plotLeft+width-plotRight)/2, plotHeight-6, "middle", "400", xName)
	paint := colors{}
	taken := map[int]bool{}
	for _, l := range lines {
		line(&b, l, px, py, paint.of(l.Name), taken)
	}
	return document(title, plotHeight, b.String())
}

func line(b *strings.Builder, l Line, px, py func(float64) float64, color string, taken map[int]bool) {
	if len(l.X) == 0 {
		return
	}
	var points []string
	for i := range l.X {
		points = append(points, fmt.Sprintf("%.1f,%.1f", px(l.X[i]), py(l.Y[i])))
		fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`+"\n", px(l.X[i]), py(l.Y[i]), color)
	}
	fmt.Fprintf(b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"/>`+"\n", strings.Join(points, " "), color)
	last := len(l.X) - 1
	row := int(py(l.Y[last])) / 14
	for taken[row] {
		row++
	}
	taken[row] = true
	fmt.Fprintf(b, `<text x="%d" y="%d" fill="%s">%s</text>`+"\n", int(px(l.X[last]))+10, row*14+11, color, escaped(l.Name))
}

// scale is powers of ten.
type scale struct{ low, high float64 }

func scaleOf(lines []Line, of func(Line) []float64) scale {
	s := scale{math.Inf(1), math.Inf(-1)}
	for _, l := range lines {
		for _, v := range of(l) {
			if v > 0 {
				s.low, s.high = math.Min(s.low, math.Floor(math.Log10(v))), math.Max(s.high, math.Ceil(math.Log10(v)))
			}
		}
	}
	if s.low > s.high {
		return scale{0, 1}
	}
	if s.low == s.high {
		s.high++
	}
	return s
}

// part is where a value lies between both ends; what is not positive lies at the low one.
func (s scale) part(v float64) float64 {
	if v <= 0 {
		return 0
	}
	return (math.Log10(v) - s.low) / (s.high - s.low)
}

func power(e float64) string {
	if e < 0 {
		return fmt.Sprintf("%.*f", int(-e), math.Pow(10, e))
	}
	digits := fmt.Sprintf("%.0f", math.Pow(10, e))
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

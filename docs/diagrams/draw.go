package main

import (
	"bytes"
	"fmt"
	"html"
	"math"
	"strings"
)

// style is the same in all pictures. Text uses fonts that the reader's system has.
const style = `<style>
svg{--bg:#ffffff;--ink:#1f2328;--dim:#57606a;--line:#6e7781;--box:#f6f8fa;--edge:#afb8c1;--key:#ddf4ff;--keyedge:#0969da;--soft:#eef1f4;font-family:ui-sans-serif,system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans","Liberation Sans",Arial,sans-serif}
@media (prefers-color-scheme:dark){svg{--bg:#16181d;--ink:#e6edf3;--dim:#a0aab5;--line:#8b949e;--box:#22272e;--edge:#57606a;--key:#0d2d4d;--keyedge:#58a6ff;--soft:#2a3038}}
.bg{fill:var(--bg)}
rect{fill:var(--box);stroke:var(--edge);stroke-width:1.2}
.key{fill:var(--key);stroke:var(--keyedge)}
.soft{fill:var(--soft);stroke:var(--edge);stroke-dasharray:4 3}
.group{fill:none;stroke:var(--edge)}
.frame{fill:none;stroke:var(--edge);stroke-dasharray:5 4}
.bar{fill:var(--key);stroke:var(--keyedge)}
path{fill:none;stroke:var(--line);stroke-width:1.5}
.dash{stroke-dasharray:5 4}
.head{fill:var(--line);stroke:none}
text{fill:var(--ink);font-size:14px;text-anchor:middle}
.label{fill:var(--dim);font-size:13px}
.start{text-anchor:start}
.end{text-anchor:end}
.strong{fill:var(--ink);font-size:14px;font-weight:600}
.name{font-weight:600}
</style>`

const (
	lineHeight = 18.0
	headLength = 9.0
	lifeline   = "dash.line"
)

// svg draws the picture.
func (p *picture) svg() []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" width="%g" height="%g" role="img" aria-labelledby="t d">`+"\n", p.w, p.h, p.w, p.h)
	fmt.Fprintf(&out, "<title id=\"t\">%s</title>\n<desc id=\"d\">%s</desc>\n%s\n", html.EscapeString(p.title), html.EscapeString(p.desc), style)
	fmt.Fprintf(&out, `<rect class="bg" width="%g" height="%g" rx="8" stroke="none" style="stroke:none"/>`+"\n", p.w, p.h)
	for _, a := range p.arrows { // lifelines, under the boxes
		if a.style == lifeline {
			a.draw(&out)
		}
	}
	for i := range p.boxes {
		b := &p.boxes[i]
		fmt.Fprintf(&out, `<rect%s x="%g" y="%g" width="%g" height="%g" rx="%g"/>`+"\n", class(b.style), b.x, b.y, b.w, b.h, b.radius())
	}
	for _, a := range p.arrows {
		if a.style != lifeline {
			a.draw(&out)
		}
	}
	for _, w := range p.all() {
		w.draw(&out)
	}
	out.WriteString("</svg>\n")
	return out.Bytes()
}

func class(style string) string {
	if style == "" {
		return ""
	}
	return fmt.Sprintf(" class=%q", style)
}

func (b *box) radius() float64 {
	if b.style == "bar" {
		return 2
	}
	return 6
}

// all returns the words in boxes and beside them. The words of a group are its heading.
func (p *picture) all() []words {
	var all []words
	for i := range p.boxes {
		b := &p.boxes[i]
		switch {
		case b.text == "":
		case b.style == "group" || b.style == "frame":
			all = append(all, words{style: "strong start", text: b.text, x: b.x + 12, y: b.y + 18, in: b})
		default:
			all = append(all, words{style: "box", text: b.text, x: b.x + b.w/2, y: b.y + b.h/2, in: b})
		}
	}
	return append(all, p.words...)
}

func (w words) draw(out *bytes.Buffer) {
	style := "label " + w.style
	if strings.HasPrefix(w.style, "box") {
		style = ""
	}
	lines := strings.Split(w.text, "\n")
	y := w.y - float64(len(lines)-1)*lineHeight/2 + 4.8
	for i, line := range lines {
		own := style
		if own == "" && i > 0 { // the first line is the name, the others explain it
			own = "label"
		} else if own == "" {
			own = "name"
		}
		fmt.Fprintf(out, `<text%s x="%g" y="%g">%s</text>`+"\n", class(strings.TrimSpace(own)), w.x, y+float64(i)*lineHeight, html.EscapeString(line))
	}
}

func (a arrow) draw(out *bytes.Buffer) {
	last := len(a.points) - 1
	points := append([]point(nil), a.points...)
	heads := [][2]point{}
	if !strings.HasSuffix(a.style, "line") {
		heads = append(heads, [2]point{points[last-1], points[last]})
		points[last] = back(points[last-1], points[last])
	}
	if strings.HasSuffix(a.style, "both") {
		heads = append(heads, [2]point{a.points[1], a.points[0]})
		points[0] = back(a.points[1], a.points[0])
	}
	var d strings.Builder
	for i, at := range points {
		fmt.Fprintf(&d, "%c%.5g %.5g", "ML"[min(i, 1)], at.x, at.y)
	}
	dashed := ""
	if strings.HasPrefix(a.style, "dash") {
		dashed = "dash"
	}
	fmt.Fprintf(out, `<path%s d="%s"/>`+"\n", class(dashed), d.String())
	for _, head := range heads {
		tip, base := head[1], back(head[0], head[1])
		nx, ny := (tip.y-base.y)*0.45, (base.x-tip.x)*0.45
		fmt.Fprintf(out, `<path class="head" d="M%.5g %.5gL%.5g %.5gL%.5g %.5gZ"/>`+"\n", tip.x, tip.y, base.x+nx, base.y+ny, base.x-nx, base.y-ny)
	}
}

// back returns the point one head's length before to.
func back(from, to point) point {
	length := math.Hypot(to.x-from.x, to.y-from.y)
	return point{to.x - (to.x-from.x)/length*headLength, to.y - (to.y-from.y)/length*headLength}
}

// label places text beside the longest segment: above a horizontal one, right of a vertical one.
func (a arrow) label(text string) words {
	text, other := strings.CutPrefix(text, ">")
	from, to := a.points[0], a.points[1]
	for i := 2; i < len(a.points); i++ {
		if math.Hypot(to.x-from.x, to.y-from.y) < math.Hypot(a.points[i].x-a.points[i-1].x, a.points[i].y-a.points[i-1].y) {
			from, to = a.points[i-1], a.points[i]
		}
	}
	w := words{text: text, x: (from.x + to.x) / 2, y: (from.y + to.y) / 2}
	half := float64(strings.Count(text, "\n")+1) * lineHeight / 2
	switch {
	case math.Abs(from.x-to.x) > math.Abs(from.y-to.y) && other:
		w.y += half + 3
	case math.Abs(from.x-to.x) > math.Abs(from.y-to.y):
		w.y -= half + 2
	case other:
		w.style, w.x = "end", w.x-9
	default:
		w.style, w.x = "start", w.x+9
	}
	return w
}

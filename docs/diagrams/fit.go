package main

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// misfits returns the words that leave their box or the picture, and those that overlap. Widths are
// estimates for a wide system font.
func (p *picture) misfits() []error {
	var faults []error
	all := p.all()
	areas := make([]box, len(all))
	for i, w := range all {
		areas[i] = w.area()
		around := box{w: p.w, h: p.h}
		if w.in != nil {
			around = box{x: w.in.x + 4, y: w.in.y, w: w.in.w - 8, h: w.in.h}
		}
		if !around.holds(areas[i]) {
			faults = append(faults, fmt.Errorf("%q needs %.0f × %.0f pixels and does not fit", w.text, areas[i].w, areas[i].h))
		}
		for j := range i {
			if areas[i].meets(areas[j]) {
				faults = append(faults, fmt.Errorf("%q overlaps %q", w.text, all[j].text))
			}
		}
	}
	return faults
}

// area returns the rectangle that the words cover.
func (w words) area() box {
	widest := 0.0
	for i, line := range strings.Split(w.text, "\n") {
		each := 6.9
		if strings.Contains(w.style, "strong") || w.style == "box" && i == 0 {
			each = 8.3
		}
		widest = max(widest, each*float64(utf8.RuneCountInString(line)))
	}
	height := float64(strings.Count(w.text, "\n")+1) * lineHeight
	area := box{x: w.x - widest/2, y: w.y - height/2, w: widest, h: height}
	if strings.Contains(w.style, "start") {
		area.x = w.x
	} else if strings.Contains(w.style, "end") {
		area.x = w.x - widest
	}
	return area
}

func (b box) holds(o box) bool {
	return o.x >= b.x && o.y >= b.y && o.x+o.w <= b.x+b.w && o.y+o.h <= b.y+b.h
}

func (b box) meets(o box) bool {
	return b.x < o.x+o.w && o.x < b.x+b.w && b.y < o.y+o.h && o.y < b.y+b.h
}

package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// picture is a parsed source.
type picture struct {
	w, h        float64
	title, desc string
	boxes       []box
	arrows      []arrow
	words       []words
}

type box struct {
	id, style  string
	x, y, w, h float64
	text       string
}

type arrow struct {
	style  string
	points []point
}

type point struct{ x, y float64 }

// words are lines of text. y is the middle of the block.
type words struct {
	style, text string
	x, y        float64
	in          *box // nil: beside the boxes
}

// parse reads a source and checks that its words fit.
func parse(source string) (*picture, error) {
	p := &picture{}
	var faults []error
	for i, line := range strings.Split(source, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if err := p.command(line); err != nil {
			faults = append(faults, fmt.Errorf("line %d: %w", i+1, err))
		}
	}
	if p.w == 0 || p.title == "" || p.desc == "" {
		faults = append(faults, errors.New("size, title or desc is missing"))
	}
	return p, errors.Join(append(faults, p.misfits()...)...)
}

func (p *picture) command(line string) error {
	head, text, _ := strings.Cut(line, " | ")
	text = strings.ReplaceAll(strings.TrimSpace(text), `\n`, "\n")
	name, rest, _ := strings.Cut(head, " ")
	name, style, _ := strings.Cut(name, ".")
	args := strings.Fields(rest)
	switch name {
	case "title":
		p.title = rest
	case "desc":
		p.desc = rest
	case "size":
		n, err := numbers(args, 2)
		if err != nil {
			return err
		}
		p.w, p.h = n[0], n[1]
	case "box":
		return p.box(style, args, text)
	case "arrow":
		return p.arrow(style, args, text)
	case "text":
		n, err := numbers(args, 2)
		if err != nil {
			return err
		}
		p.words = append(p.words, words{style: strings.ReplaceAll(style, ".", " "), text: text, x: n[0], y: n[1]})
	default:
		return fmt.Errorf("unknown command %q", name)
	}
	return nil
}

func (p *picture) box(style string, args []string, text string) error {
	if len(args) == 0 {
		return errors.New("a box needs an ID")
	}
	n, err := numbers(args[1:], 4)
	if err != nil {
		return err
	}
	p.boxes = append(p.boxes, box{id: args[0], style: style, x: n[0], y: n[1], w: n[2], h: n[3], text: text})
	return nil
}

func numbers(args []string, want int) ([]float64, error) {
	if len(args) != want {
		return nil, fmt.Errorf("got %d numbers, want %d", len(args), want)
	}
	all := make([]float64, want)
	for i, arg := range args {
		n, err := strconv.ParseFloat(arg, 64)
		if err != nil {
			return nil, err
		}
		all[i] = n
	}
	return all, nil
}

func (p *picture) arrow(style string, args []string, text string) error {
	a := arrow{style: style}
	for _, arg := range args {
		at, err := p.point(arg)
		if err != nil {
			return err
		}
		a.points = append(a.points, at)
	}
	if len(a.points) < 2 {
		return errors.New("an arrow needs two points")
	}
	p.arrows = append(p.arrows, a)
	if text != "" {
		p.words = append(p.words, a.label(text))
	}
	return nil
}

// point reads X,Y or ID.SIDE with an offset.
func (p *picture) point(arg string) (point, error) {
	if x, y, ok := strings.Cut(arg, ","); ok {
		n, err := numbers([]string{x, y}, 2)
		if err != nil {
			return point{}, err
		}
		return point{n[0], n[1]}, nil
	}
	id, side, ok := strings.Cut(arg, ".")
	if !ok || side == "" {
		return point{}, fmt.Errorf("%q is not a point", arg)
	}
	offset := 0.0
	if len(side) > 1 {
		n, err := strconv.ParseFloat(side[1:], 64)
		if err != nil {
			return point{}, err
		}
		offset = n
	}
	for i := range p.boxes {
		if p.boxes[i].id == id {
			return p.boxes[i].side(side[0], offset)
		}
	}
	return point{}, fmt.Errorf("no box %q above this line", id)
}

func (b *box) side(side byte, offset float64) (point, error) {
	switch side {
	case 'n':
		return point{b.x + b.w/2 + offset, b.y}, nil
	case 's':
		return point{b.x + b.w/2 + offset, b.y + b.h}, nil
	case 'e':
		return point{b.x + b.w, b.y + b.h/2 + offset}, nil
	case 'w':
		return point{b.x, b.y + b.h/2 + offset}, nil
	}
	return point{}, fmt.Errorf("a side is n, e, s or w, got %q", side)
}

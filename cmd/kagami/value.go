package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	maxInline = 76  // longest list on one line, and longest aligned name, in characters
	maxCell   = 120 // longest cell in characters; cells of the last column may be longer
)

// value is a JSON value with its members in the order of the document.
type value struct {
	raw    json.RawMessage
	text   string // a scalar in a form for people
	object bool
	array  bool
	names  []string // names of an object's members
	items  []value  // items of an array, or values of an object's members
}

func parseValue(raw json.RawMessage) (value, error) {
	v := value{raw: bytes.TrimSpace(raw)}
	switch {
	case bytes.HasPrefix(v.raw, []byte("{")), bytes.HasPrefix(v.raw, []byte("[")):
		return v, v.parseItems()
	case bytes.HasPrefix(v.raw, []byte(`"`)):
		return v, json.Unmarshal(v.raw, &v.text)
	}
	v.text = string(v.raw)
	return v, nil
}

func (v *value) parseItems() error {
	v.object, v.array = v.raw[0] == '{', v.raw[0] == '['
	d := json.NewDecoder(bytes.NewReader(v.raw))
	if _, err := d.Token(); err != nil {
		return err
	}
	for d.More() {
		if v.object {
			name, err := d.Token()
			if err != nil {
				return err
			}
			v.names = append(v.names, fmt.Sprint(name))
		}
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return err
		}
		item, err := parseValue(raw)
		if err != nil {
			return err
		}
		v.items = append(v.items, item)
	}
	return nil
}

func (v *value) scalar() bool { return !v.object && !v.array }

// inline returns the value on one line. Only scalars and short lists of scalars have such a form.
func (v *value) inline() (string, bool) {
	if v.scalar() {
		return v.text, !strings.Contains(v.text, "\n")
	}
	if len(v.items) == 0 {
		return "none", true
	}
	if v.object {
		return "", false
	}
	texts := make([]string, len(v.items))
	for i := range v.items {
		if !v.items[i].scalar() || strings.Contains(v.items[i].text, "\n") {
			return "", false
		}
		texts[i] = v.items[i].text
	}
	line := strings.Join(texts, ", ")
	return line, utf8.RuneCountInString(line) <= maxInline
}

// table reports whether the value is a list of objects with the same members that all fit into
// cells. The last cell of a row may be longer, because no column follows it.
func (v *value) table() bool {
	if !v.array || len(v.items) == 0 || !v.items[0].object || len(v.items[0].names) == 0 {
		return false
	}
	head := v.items[0].names
	if slices.ContainsFunc(head, func(name string) bool { return utf8.RuneCountInString(name) > maxCell }) {
		return false
	}
	for i := range v.items {
		row := &v.items[i]
		if !row.object || !slices.Equal(row.names, head) {
			return false
		}
		for j := range row.items {
			line, ok := row.items[j].inline()
			if !ok || j < len(row.items)-1 && utf8.RuneCountInString(line) > maxCell {
				return false
			}
		}
	}
	return true
}

// print writes the value for a person. Objects become aligned names and values, lists of similar
// objects become tables, and lists of scalars have one item per line. All other values are printed
// as JSON.
func (v *value) print(w io.Writer, indent string) {
	switch {
	case v.object && len(v.items) > 0:
		v.printObject(w, indent)
	case v.table():
		v.printTable(w, indent)
	case v.array && v.flat():
		for i := range v.items {
			printIndented(w, indent, v.items[i].text)
		}
	case v.scalar():
		printIndented(w, indent, v.text)
	default:
		var pretty bytes.Buffer
		_ = json.Indent(&pretty, v.raw, "", "  ") // parseValue has checked that it is JSON
		printIndented(w, indent, pretty.String())
	}
}

// flat reports whether an array has items and all of them are scalars.
func (v *value) flat() bool {
	return len(v.items) > 0 && !slices.ContainsFunc(v.items, func(item value) bool { return !item.scalar() })
}

// printObject aligns the members that fit on one line. It prints longer ones below their name.
func (v *value) printObject(w io.Writer, indent string) {
	width := 0
	for i, name := range v.names {
		if _, ok := v.items[i].inline(); ok {
			width = max(width, min(columns.StringWidth(name), maxInline))
		}
	}
	for i, name := range v.names {
		line, ok := v.items[i].inline()
		if !ok {
			_, _ = fmt.Fprintf(w, "%s%s\n", indent, name)
			v.items[i].print(w, indent+"  ")
			continue
		}
		_, _ = fmt.Fprintln(w, strings.TrimRight(indent+columns.FillRight(name, width)+"  "+line, " "))
	}
}

func (v *value) printTable(w io.Writer, indent string) {
	rows := [][]string{v.items[0].names}
	widths := make([]int, len(v.items[0].names))
	for i := range v.items {
		var cells []string
		for j := range v.items[i].items {
			line, _ := v.items[i].items[j].inline()
			cells = append(cells, strings.ReplaceAll(line, "\t", " "))
		}
		rows = append(rows, cells)
	}
	for _, cells := range rows {
		for j, cell := range cells[:len(cells)-1] { // no column follows the last one
			widths[j] = max(widths[j], columns.StringWidth(cell)+2)
		}
	}
	for _, cells := range rows {
		var line strings.Builder
		for j, cell := range cells {
			line.WriteString(columns.FillRight(cell, widths[j]))
		}
		printIndented(w, indent, line.String())
	}
}

// printIndented writes lines with an indent, and without spaces at their end.
func printIndented(w io.Writer, indent, text string) {
	for line := range strings.Lines(strings.TrimRight(text, "\n") + "\n") {
		_, _ = fmt.Fprintln(w, strings.TrimRight(indent+line, " \r\n"))
	}
}

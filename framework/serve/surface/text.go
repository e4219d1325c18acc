package surface

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode"

	"github.com/kagami-mcp/kagami/protocol"
)

// Bounds of a description. Schemas come from unknown servers, and a short schema may describe
// millions of members.
const (
	maxDepth   = 4    // levels of members; deeper ones are printed as "object"
	maxRows    = 1000 // in one list of members
	maxName    = 120  // characters
	maxPattern = 40   // bytes; longer patterns would push the rest out of the row
	maxType    = 240
)

// WriteText writes the surface for people. Each component has its description and, indented below,
// its arguments.
func (s *Surface) WriteText(w io.Writer) error {
	p := &printer{inside: s.Inside.byName(), chains: s.Chains}
	if s.Parts == All {
		p.line("%s %s, at revision %s", s.Server.Name, s.Server.Version, s.Revision)
		if s.Instructions != "" {
			p.line("%s", s.Instructions)
		}
	}
	p.section("Tools", len(s.Tools), func(i int) { p.tool(&s.Tools[i]) })
	p.section("Resources", len(s.Resources), func(i int) {
		r := &s.Resources[i]
		p.entry(r.URI, telling(r.Title, r.Name), r.Description, r.MIME)
		p.origin("resource", r.URI)
	})
	p.section("Resource templates", len(s.Templates), func(i int) {
		t := &s.Templates[i]
		p.entry(t.URITemplate, telling(t.Title, t.Name), t.Description, t.MIME)
		p.origin("template", t.URITemplate)
	})
	p.section("Prompts", len(s.Prompts), func(i int) { p.prompt(&s.Prompts[i]) })
	if s.Inside != nil {
		p.unlisted(s)
	}
	if !p.printed {
		p.line("Nothing is offered.")
	}
	_, err := w.Write(p.out.Bytes())
	return err
}

type printer struct {
	out     bytes.Buffer
	printed bool
	inside  map[[2]string]*Component // by kind and name
	chains  bool
}

func (p *printer) line(format string, args ...any) {
	p.out.WriteString(strings.TrimRight(fmt.Sprintf(format, args...), " ") + "\n")
}

func (p *printer) section(name string, n int, entry func(i int)) {
	if n == 0 {
		return
	}
	if p.out.Len() > 0 {
		p.line("")
	}
	p.printed = true
	p.line("%s", name)
	for i := range n {
		entry(i)
	}
}

// entry prints one component: name, remarks in brackets, description.
func (p *printer) entry(name, title, description string, notes ...string) {
	notes = slices.DeleteFunc(notes, func(n string) bool { return n == "" })
	head := "  " + name
	if title != "" && title != name {
		head += fmt.Sprintf(" %q", title)
	}
	if len(notes) > 0 {
		head += " (" + strings.Join(notes, ", ") + ")"
	}
	p.line("%s", head)
	for text := range strings.Lines(description) {
		p.line("    %s", strings.TrimSpace(text))
	}
}

func (p *printer) tool(t *protocol.Tool) {
	defer p.origin("tool", t.Name)
	p.entry(t.Name, telling(t.Title, t.Name), t.Description, hints(&t.Annotations)...)
	in, err := ParseSchema(t.InputSchema)
	if err != nil {
		p.line("    (%v)", err)
		return
	}
	p.fields("", members(in))
	if out, err := ParseSchema(t.OutputSchema); err == nil && len(t.OutputSchema) > 0 {
		p.fields("returns", results(out))
	}
}

// results returns rows for the members of a result. If there are none, it returns one row for the
// result itself.
func results(out *Schema) [][3]string {
	if r := members(out); len(r) > 0 {
		return r
	}
	out = out.Resolve()
	return [][3]string{{summary(out, true), out.Description}}
}

func hints(a *protocol.ToolAnnotations) []string {
	var notes []string
	add := func(flag *bool, yes, no string) {
		switch {
		case flag == nil:
		case *flag:
			notes = append(notes, yes)
		default:
			notes = append(notes, no)
		}
	}
	add(a.ReadOnly, "read-only", "")
	add(a.Destructive, "destructive", "not destructive")
	add(a.Idempotent, "idempotent", "")
	add(a.OpenWorld, "open world", "closed world")
	return notes
}

func (p *printer) prompt(t *protocol.Prompt) {
	defer p.origin("prompt", t.Name)
	p.entry(t.Name, telling(t.Title, t.Name), t.Description)
	var table [][3]string
	for _, a := range t.Arguments {
		kind := "optional"
		if a.Required {
			kind = "required"
		}
		table = append(table, [3]string{a.Name, kind, a.Description})
	}
	p.fields("", table)
}

// fields prints rows of name, type and description below a component.
func (p *printer) fields(title string, table [][3]string) {
	if len(table) == 0 {
		return
	}
	if title != "" {
		p.line("    %s", title)
	}
	var aligned bytes.Buffer
	tw := tabwriter.NewWriter(&aligned, 0, 0, 2, ' ', 0)
	for _, row := range table {
		_, _ = fmt.Fprintf(tw, "      %s\t%s\t%s\n", clip(row[0], maxName), clip(row[1], maxType), onOneLine(row[2]))
	}
	_ = tw.Flush() // it writes to memory, which does not fail
	for text := range strings.Lines(aligned.String()) {
		p.line("%s", strings.TrimRight(text, " \n"))
	}
}

func onOneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// clip shortens a text, because columns are as wide as their longest text.
func clip(text string, most int) string {
	text = onOneLine(text)
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}

// table is a list of members, with name, type and description.
type table struct{ rows [][3]string }

// members returns rows for the members of an object.
func members(s *Schema) [][3]string {
	t := &table{}
	t.members(s, "", maxDepth)
	return t.rows
}

// add adds a row. If the table is full after it, the last row is "…" instead.
func (t *table) add(row [3]string) {
	if len(t.rows) == maxRows-1 {
		row = [3]string{"…"}
	}
	if !t.full() {
		t.rows = append(t.rows, row)
	}
}

func (t *table) full() bool { return len(t.rows) >= maxRows }

// members adds the members of an object; nested members have dotted names. above has the schemas
// that contain s, because a recursive type is described once.
func (t *table) members(s *Schema, prefix string, depth int, above ...*Schema) {
	s = s.settled()
	for _, property := range s.Properties {
		if t.full() {
			return
		}
		name := prefix + property.Name
		t.add([3]string{
			name, summary(property.Schema.Resolve(), slices.Contains(s.Required, property.Name)), describe(property.Schema),
		})
		if member := property.Schema.settled(); depth > 0 && member != s && !slices.Contains(above, member) {
			t.nested(member, name, depth-1, append(above, s))
		}
	}
}

// nested adds the members, items, names and values of a member.
func (t *table) nested(s *Schema, name string, depth int, above []*Schema) {
	t.members(s, name+".", depth, above...)
	above = append(slices.Clip(above), s)
	for _, variant := range slices.Concat(s.AnyOf, s.OneOf) {
		if v := variant.Resolve(); !slices.Contains(above, v) {
			t.members(v, name+".", depth, above...)
		}
	}
	t.inside(s.Items, name+"[]", depth, above)
	if s.Keys != nil {
		names := *s.Keys.Resolve()
		names.Types = Types{"string"} // names of members are strings, even if the schema does not set the type
		t.remark(&names, name+" (names)")
	}
	if s.Additional != nil && !s.Additional.Never {
		t.inside(s.Additional, name+".*", depth-1, above)
	}
}

// inside adds rows for items or values.
func (t *table) inside(s *Schema, name string, depth int, above []*Schema) {
	inner := s.settled()
	if s == nil || depth < 0 || slices.Contains(above, inner) {
		return
	}
	if len(inner.Properties) == 0 {
		depth-- // lists also count, because lists of lists may be nested without end
	}
	t.remark(s, name)
	t.nested(inner, name, depth, above)
}

// remark adds a row for items or values, which have no name. It adds none if there is nothing but
// the type to print. A rule without a keyword is a sentence in the description.
func (t *table) remark(s *Schema, name string) {
	inner := s.Resolve()
	if text, note := summary(inner, true), describe(s); note != "" || text != typeName(inner, maxDepth) {
		t.add([3]string{name, text, note})
	}
}

// describe returns the description of s. If s has none, it returns the description of the type that
// s refers to.
func describe(s *Schema) string { return cmp.Or(s.Description, s.Resolve().Description) }

// summary returns a type with its constraints, on one line.
func summary(s *Schema, required bool) string {
	parts := []string{typeName(s, maxDepth)}
	if len(s.Enum) > 0 {
		parts[0] = "one of " + joinRaw(s.Enum)
	}
	if len(s.Const) > 0 {
		parts[0] = "only " + joinRaw([]json.RawMessage{s.Const})
	}
	if s.Format != "" {
		parts = append(parts, s.Format)
	}
	parts = append(parts, bounds(s)...)
	if s.Pattern != "" && len(s.Pattern) <= maxPattern {
		parts = append(parts, "matching "+s.Pattern)
	}
	switch {
	case len(s.Default) > 0:
		parts = append(parts, "default "+string(s.Default))
	case !required:
		parts = append(parts, "optional")
	}
	return strings.Join(parts, ", ")
}

func typeName(s *Schema, depth int) string {
	types := slices.DeleteFunc(slices.Clone(s.AllTypes()), func(t string) bool { return t == "null" })
	slices.Sort(types)
	types = slices.Compact(types)
	switch {
	case len(types) == 0:
		return "any"
	case len(types) == 1 && types[0] == "array" && s.Items != nil && depth > 0:
		return "array of " + typeName(s.Items.Resolve(), depth-1)
	}
	return strings.Join(types, " or ")
}

func bounds(s *Schema) []string {
	var parts []string
	between := func(low, high, unit string) {
		if (low == "1" || low == "") && high == "1" || low == "1" && high == "" {
			unit = strings.TrimSuffix(unit, "s")
		}
		switch {
		case low != "" && low == high:
			parts = append(parts, low+unit)
		case low != "" && high != "":
			parts = append(parts, low+" to "+high+unit)
		case low != "":
			parts = append(parts, "at least "+low+unit)
		case high != "":
			parts = append(parts, "at most "+high+unit)
		}
	}
	between(notable(s.Minimum), notable(s.Maximum), "")
	if s.Above != "" {
		parts = append(parts, "above "+s.Above.String())
	}
	if s.Below != "" {
		parts = append(parts, "below "+s.Below.String())
	}
	between(s.MinLength.String(), s.MaxLength.String(), " characters")
	between(s.MinItems.String(), s.MaxItems.String(), " items")
	return parts
}

// notable returns n, or "" for the bounds of 64-bit integers, which only reflect the Go type.
func notable(n json.Number) string {
	switch n {
	case "-9223372036854775808", "9223372036854775807", "18446744073709551615":
		return ""
	}
	return n.String()
}

func joinRaw(values []json.RawMessage) string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = strings.Trim(string(v), `"`)
	}
	return strings.Join(texts, ", ")
}

// telling returns a title, or "" if the title repeats the name next to it.
func telling(title, name string) string {
	letters := func(text string) string {
		return strings.ToLower(strings.Map(func(r rune) rune {
			if unicode.IsLetter(r) || unicode.IsDigit(r) {
				return r
			}
			return -1
		}, text))
	}
	if letters(title) == letters(name) {
		return ""
	}
	return title
}

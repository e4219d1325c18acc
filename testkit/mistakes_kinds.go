package testkit

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kagami-mcp/kagami/framework/serve/surface"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// anywhere is the path of mistakes if the error may name any path.
const anywhere = "*"

// mistake is a wrong call as models make them.
type mistake struct {
	name      string
	arguments json.RawMessage
	path      string // JSON pointer that the error must name, or one below it
	mends     bool   // the tool may repair and accept it
}

// place is a member of a good call.
type place struct {
	steps    []string
	schema   *surface.Schema
	value    any
	required bool
}

func (p place) pointer() string {
	path := ""
	for _, step := range p.steps {
		path = jsontext.Pointer(path, step)
	}
	return path
}

// places returns the members of an object, and the members of objects inside it.
func places(s *surface.Schema, value map[string]any, above []string) []place {
	var all []place
	required := s.Resolve().Required
	for _, name := range slices.Sorted(maps.Keys(value)) {
		member, ok := s.Property(name)
		if !ok {
			continue
		}
		p := place{append(slices.Clip(above), name), member.Resolve(), value[name], slices.Contains(required, name)}
		all = append(all, p)
		all = append(all, placesIn(member, value[name], p.steps)...)
	}
	return all
}

// placesIn returns the places inside a value. For an array, it returns the places of the first
// item.
func placesIn(s *surface.Schema, value any, above []string) []place {
	switch v := value.(type) {
	case map[string]any:
		return places(s, v, above)
	case []any:
		if len(v) > 0 {
			return placesIn(s.Resolve().Items, v[0], append(slices.Clip(above), "0"))
		}
	}
	return nil
}

// mistakes returns all mistakes that can be made with the tool.
func (j *judge) mistakes() []mistake {
	all := j.whole()
	for _, p := range places(j.schema, j.good, nil) {
		all = append(all, j.naming(p)...)
		for _, v := range slices.Concat(misread(p), beyond(p)) {
			all = append(all, mistake{v.name + " " + p.pointer(), j.with(p, v.value), p.pointer(), v.mends})
		}
	}
	return all
}

// with returns the good call with another value at a place.
func (j *judge) with(p place, value any) json.RawMessage {
	return j.edited(p, func(o map[string]any, name string) { o[name] = value })
}

// edited returns the good call after a change of the object that contains a place.
func (j *judge) edited(p place, edit func(o map[string]any, name string)) json.RawMessage {
	call, _ := decoded(encodeValue(j.good)).(map[string]any)
	var at any = call
	for _, step := range p.steps[:len(p.steps)-1] {
		switch v := at.(type) {
		case map[string]any:
			at = v[step]
		case []any:
			at = v[0] // see placesIn
		}
	}
	if o, ok := at.(map[string]any); ok {
		edit(o, p.steps[len(p.steps)-1])
	}
	return encodeValue(call)
}

// whole returns mistakes with the arguments as a whole.
func (j *judge) whole() []mistake {
	good := encodeValue(j.good)
	all := []mistake{
		{"arguments as text", encodeValue(string(good)), anywhere, true},
		{"arguments in a list", encodeValue([]any{j.good}), anywhere, false},
		{"null for arguments", json.RawMessage("null"), anywhere, true},
		{"one argument too many", j.beside("verbose_output", true), "/verbose_output", false},
	}
	for _, wrapper := range []string{"input", "arguments"} {
		if _, declared := j.schema.Property(wrapper); !declared {
			all = append(all, mistake{"all in " + wrapper, encodeValue(map[string]any{wrapper: j.good}), "/", false})
		}
	}
	if len(j.schema.Resolve().Required) > 0 {
		all = append(all, mistake{"no arguments", json.RawMessage("{}"), "/", false})
	}
	return all
}

// beside returns the good call with one more member.
func (j *judge) beside(name string, value any) json.RawMessage {
	call := maps.Clone(j.good)
	if call == nil {
		call = map[string]any{}
	}
	call[name] = value
	return encodeValue(call)
}

// naming returns mistakes with the name of a member.
func (j *judge) naming(p place) []mistake {
	name := p.steps[len(p.steps)-1]
	var all []mistake
	if p.required {
		all = append(all, mistake{"missing " + p.pointer(), j.edited(p, func(o map[string]any, name string) { delete(o, name) }), p.pointer(), false})
	}
	for _, m := range []struct{ kind, wrong string }{{"misspelled", misspelled(name)}, {"in another case", recased(name)}} { // a slice, because fuzz seeds are numbered in this order
		kind, wrong := m.kind, m.wrong
		if wrong == "" {
			continue
		}
		all = append(all, mistake{
			kind + " " + p.pointer(),
			j.edited(p, func(o map[string]any, name string) { delete(o, name); o[wrong] = p.value }),
			place{steps: p.steps[:len(p.steps)-1]}.pointer() + "/", false, // the error may name the missing member or the wrong one
		})
	}
	if len(p.steps) > 1 {
		dotted := strings.Join(p.steps, ".")
		all = append(all, mistake{"dotted " + p.pointer(), j.beside(dotted, p.value), jsontext.Pointer("", dotted), false})
	}
	slices.SortFunc(all, func(a, b mistake) int { return strings.Compare(a.name, b.name) })
	return all
}

// misspelled returns the name with two letters swapped, or one doubled. If the name is too short, it
// returns "".
func misspelled(name string) string {
	if len(name) < 3 {
		return ""
	}
	i := len(name) / 2
	if name[i-1] != name[i] {
		return name[:i-1] + string(name[i]) + string(name[i-1]) + name[i+1:]
	}
	return name[:i] + name[i-1:]
}

// recased returns the name in camel case instead of snake case or the other way round, or with a
// capital. If that changes nothing, it returns "".
func recased(name string) string {
	if head, tail, found := strings.Cut(name, "_"); found && tail != "" {
		return head + strings.ToUpper(tail[:1]) + tail[1:]
	}
	for i := 1; i < len(name); i++ {
		if 'A' <= name[i] && name[i] <= 'Z' {
			return name[:i] + "_" + strings.ToLower(name[i:])
		}
	}
	if upper := strings.ToUpper(name[:min(1, len(name))]) + name[min(1, len(name)):]; upper != name {
		return upper
	}
	return ""
}

// wrong is a value that replaces a good one.
type wrong struct {
	name  string
	value any
	mends bool
}

// misread returns values of another type or form.
func misread(p place) []wrong {
	all := []wrong{{"null for", nil, !p.required}} // null means that no value is given
	switch v := p.value.(type) {
	case string:
		all = append(all, wrong{"number for text", json.Number("12345"), false}, wrong{"object for text", map[string]any{"value": v}, false}, wrong{"list for text", []any{v}, false})
	case json.Number:
		all = append(all, wrong{"number as text", string(v), true}, wrong{"words for number", "a few", false}, wrong{"list for number", []any{v}, false})
		if !p.schema.Allows("number") {
			all = append(all, wrong{"fraction for", json.Number("1.5"), false})
		}
	case bool:
		all = append(all, wrong{"bool as text", fmt.Sprint(v), true}, wrong{"yes for bool", "yes", false}, wrong{"number for bool", json.Number("1"), false})
	case []any:
		all = append(all, wrong{"list as text", string(encodeValue(v)), true}, wrong{"object for list", map[string]any{"items": v}, false})
		if len(v) > 0 {
			all = append(all, wrong{"no list around", v[0], true})
		}
	case map[string]any:
		all = append(all, wrong{"object as text", string(encodeValue(v)), true}, wrong{"list for object", []any{v}, false}, wrong{"text for object", "all of it", false})
	}
	return all
}

// beyond returns values that break a rule of the schema.
func beyond(p place) []wrong {
	var all []wrong
	for _, raw := range p.schema.Enum {
		if text, ok := decoded(raw).(string); ok && text != "" {
			all = append(all, wrong{"case of", swapCase(text), false}, wrong{"no such value for", text + "_x", false})
			break
		}
	}
	for _, bound := range []struct {
		name string
		at   json.Number
		step float64
	}{
		{"too small", p.schema.Minimum, -1}, {"too small", p.schema.Above, -1}, {"too large", p.schema.Maximum, 1}, {"too large", p.schema.Below, 1},
	} {
		if n := next(bound.at, bound.step); n != "" {
			all = append(all, wrong{bound.name, n, false})
		}
	}
	if text, ok := p.value.(string); ok {
		all = append(all, lengths(p, text)...)
	}
	return all
}

func swapCase(text string) string {
	if upper := strings.ToUpper(text); upper != text {
		return upper
	}
	return strings.ToLower(text)
}

func lengths(p place, text string) []wrong {
	var all []wrong
	s := p.schema
	if n, err := s.MinLength.Int64(); err == nil && n > 0 {
		all = append(all, wrong{"too short", "", !p.required})
	}
	if n, err := s.MaxLength.Int64(); err == nil && n < 1<<16 {
		all = append(all, wrong{"too long", text + strings.Repeat("x", int(n)), false})
	}
	if s.Format != "" {
		all = append(all, wrong{"not of the format", "certainly not", false})
	}
	return all
}

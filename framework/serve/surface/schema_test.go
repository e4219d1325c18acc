package surface_test

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/framework/serve/surface"
	"github.com/kagami-mcp/kagami/protocol"
)

func TestParseSchema(t *testing.T) {
	t.Parallel()
	s, err := surface.ParseSchema([]byte(`{"type":"object","properties":{"z":{"type":"integer"},"a":true,"never":false,
		"self":{"$ref":"#"},"old":{"$ref":"#/definitions/o"},"lost":{"$ref":"https://example.com"},"loop":{"$ref":"#/$defs/loop"}},
		"definitions":{"o":{"type":["string","null"]}},"$defs":{"loop":{"$ref":"#/$defs/loop"}},
		"additionalProperties":false}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Names(); !slices.Equal(got, []string{"z", "a", "never", "self", "old", "lost", "loop"}) {
		t.Errorf("Names = %q", got)
	}
	tests := []struct {
		property string
		allows   string
		want     bool
	}{
		{"z", "integer", true},
		{"z", "number", false},
		{"z", "string", false},
		{"a", "array", true},
		{"self", "object", true},
		{"self", "string", false},
		{"old", "string", true},
		{"old", "object", false},
		{"lost", "string", true},
		{"loop", "string", true},
	}
	for _, tt := range tests {
		p, ok := s.Property(tt.property)
		if !ok {
			t.Fatalf("no property %s", tt.property)
		}
		if got := p.Allows(tt.allows); got != tt.want {
			t.Errorf("%s allows %s: %t, want %t", tt.property, tt.allows, got, tt.want)
		}
	}
	if p, ok := s.Property("unknown"); ok {
		t.Errorf("unknown property: %+v", p)
	}
}

func TestAlternatives(t *testing.T) {
	t.Parallel()
	s, err := surface.ParseSchema([]byte(`{"oneOf":[{"type":"integer"},{"anyOf":[{"type":"array"},{"type":"object","properties":{"k":{"type":"boolean"}}}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	for typ, want := range map[string]bool{"integer": true, "array": true, "object": true, "string": false} {
		if got := s.Allows(typ); got != want {
			t.Errorf("allows %s: %t", typ, got)
		}
	}
	open, err := surface.ParseSchema([]byte(`{"anyOf":[{"type":"integer"},{}]}`))
	if err != nil || !open.Allows("string") {
		t.Errorf("an alternative without type allows all: %v", err)
	}
	m, err := surface.ParseSchema([]byte(`{"anyOf":[{"properties":{"k":{"type":"boolean"}}}],"additionalProperties":{"type":"string"}}`))
	if err != nil {
		t.Fatal(err)
	}
	if k, ok := m.Property("k"); !ok || !k.Allows("boolean") || k.Allows("string") {
		t.Error("a member of an alternative is not found")
	}
	if other, ok := m.Property("other"); !ok || !other.Allows("string") || other.Allows("boolean") {
		t.Error("an additional member is not found")
	}
}

// TestOddKeywords: a keyword with a value of another type is left out, and the rest of the schema is read.
func TestOddKeywords(t *testing.T) {
	t.Parallel()
	for _, odd := range []string{
		`"minimum":0,"exclusiveMinimum":true`, `"required":true`, `"type":7`, `"type":null`, `"properties":[]`, `"properties":null`,
		`"enum":"x"`, `"anyOf":[null]`, `"oneOf":[null,{"type":"null"}]`, `"items":7`, `"title":null`, `"description":["x"]`,
	} {
		raw := []byte(`{"type":"object","properties":{"odd":{` + odd + `},"last":{"type":"integer"}},"required":["last"]}`)
		s, err := surface.ParseSchema(raw)
		if err != nil {
			t.Errorf("%s: %v", odd, err)
			continue
		}
		if last, ok := s.Property("last"); !ok || !last.Allows("integer") || last.Allows("string") {
			t.Errorf("%s: the property after it is lost: %+v", odd, last)
		}
		var text strings.Builder
		all := &surface.Surface{Tools: []protocol.Tool{{Name: "t", InputSchema: raw, OutputSchema: raw}}}
		if err := all.WriteText(&text); err != nil || strings.Count(text.String(), "last  integer\n") != 2 {
			t.Errorf("%s: %v\n%s", odd, err, text.String())
		}
	}
}

// FuzzParseSchema checks schemas of unknown servers.
func FuzzParseSchema(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"$ref":"#"}}}`)
	f.Add(`{"anyOf":[{"$ref":"#"},{"$ref":"#"}],"items":{"$ref":"#/$defs/a"},"$defs":{"a":{"items":{"$ref":"#/$defs/a"}}}}`)
	f.Add(`true`)
	f.Add(`{"properties":[],"type":1}`)
	f.Add(`{"anyOf":[null],"properties":{"a":{"oneOf":[null,{"type":"null"}]}}}`)
	f.Fuzz(func(t *testing.T, raw string) {
		s, err := surface.ParseSchema([]byte(raw))
		if err != nil {
			return
		}
		s.AllTypes()
		for _, name := range s.Names() {
			if p, ok := s.Property(name); !ok || p == nil {
				t.Errorf("%s: property %q is listed but not found", raw, name)
			}
		}
		all := &surface.Surface{Tools: []protocol.Tool{{Name: "t", InputSchema: []byte(raw), OutputSchema: []byte(raw)}}}
		if err := all.WriteText(io.Discard); err != nil {
			t.Error(err)
		}
	})
}

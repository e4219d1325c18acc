package framework_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/testkit"
)

type branch struct {
	Name   string   `json:"name"`
	Inside []branch `json:"inside,omitempty"`
}

type profiled struct {
	Tree   branch             `json:"tree"`
	Shape  shape              `json:"shape"`
	Counts []*int             `json:"counts,omitempty" doc:"how many"`
	Ratio  float64            `json:"ratio" validate:"gt=0,lt=1"`
	ByName map[string]float64 `json:"byName,omitempty" validate:"dive,keys,oneof=a b,endkeys"`
}

// TestWithProfile: each profile changes what its clients do not take, in the listed schema only.
func TestWithProfile(t *testing.T) {
	t.Parallel()
	take := func(_ context.Context, in profiled) (string, error) {
		return in.Tree.Inside[0].Inside[0].Inside[0].Inside[0].Name, nil
	}
	for profile, want := range map[string]struct{ has, not []string }{
		"vscode": {has: []string{`"$ref"`, `"anyOf"`, `"exclusiveMinimum"`, `"propertyNames"`}},
		"gemini": {
			has: []string{`"anyOf"`, `"counts":{"type":"array","description":"how many","items":{"type":"integer"}}`, `"ratio":{"type":"number","description":"Greater than 0. Less than 1.","minimum":0,"maximum":1}`, `The names are \"a\", \"b\".`},
			not: []string{`"$ref"`, `"$defs"`, `"exclusiveMinimum"`, `"propertyNames"`},
		},
		"openai": {
			has: []string{
				`"propertyNames"`, `"inside":{"type":"array","items":{"type":"object","properties":{}}}`,
				`"shape":{"type":"object","properties":{"kind":{"type":"string","enum":["circle","square"]},` +
					`"radius":{"type":"number","description":"Only if kind is circle.","exclusiveMinimum":0},` +
					`"side":{"type":"number","description":"Only if kind is square.","exclusiveMinimum":0}},"required":["kind"],"additionalProperties":false}`,
			},
			not: []string{`"anyOf"`, `"$ref"`},
		},
		"all": {
			has: []string{`"required":["kind"]`, `"inside":{"type":"array","items":{"type":"object","properties":{}}}`},
			not: []string{`"$ref"`, `"anyOf"`, `"exclusiveMaximum"`},
		},
	} {
		t.Run(profile, func(t *testing.T) {
			t.Parallel()
			app := framework.New("profiled", "1", shapes(), framework.WithProfile(profile)).
				Add(framework.Tool("take", take, framework.Describe("Take it.")))
			s := testkit.New(t, app)
			schema := string(s.Tools()[0].InputSchema)
			for _, part := range want.has {
				if !strings.Contains(schema, part) {
					t.Errorf("there is no %s in\n%s", part, schema)
				}
			}
			for _, part := range want.not {
				if strings.Contains(schema, part) {
					t.Errorf("there is %s in\n%s", part, schema)
				}
			}
			deep := `{"tree":{"name":"1","inside":[{"name":"2","inside":[{"name":"3","inside":[{"name":"4","inside":[{"name":"5"}]}]}]}]},"shape":{"kind":"circle","radius":1},"counts":[null],"ratio":0.5}`
			if got := s.CallRaw("take", deep).OK().Text(); got != "5" {
				t.Errorf("the call is answered %s", got)
			}
			s.CallRaw("take", strings.Replace(deep, "0.5", "0", 1)).IsError().Mentions("ratio") // though the bound may not be listed
		})
	}
}

// TestWithProfileOfRawSchemas: schemas written by hand are narrowed as well.
func TestWithProfileOfRawSchemas(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ schema, want string }{
		"a root of alternatives": {
			`{"type":"object","properties":{"a":{"type":"string"}},"oneOf":[{"required":["a"]},{"properties":{"b":{"type":"integer"}},"required":["b"]}]}`,
			`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"}}}`,
		},
		"all of": {
			`{"type":"object","allOf":[{"properties":{"a":{"enum":["x"]}},"required":["a"]},{"properties":{"b":{"type":"integer"}},"required":["b"]}]}`,
			`{"type":"object","properties":{"a":{"enum":["x"]},"b":{"type":"integer"}},"required":["a","b"]}`,
		},
		"values of several types": {
			`{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"integer","minimum":1}]},"b":{"oneOf":[{"type":"string","format":"ipv4"},{"type":"string","format":"ipv6"}]}}}`,
			`{"type":"object","properties":{"a":{"type":"string","description":"Give text or a whole number of at least 1."},"b":{"type":"string","description":"Give an IPv4 address or an IPv6 address."}}}`,
		},
		"values of several types without a text": {
			`{"type":"object","properties":{"n":{"anyOf":[{"type":"null"},{"type":"integer"},{"type":"array","items":{"type":"integer"}}]}},"required":["n"]}`,
			`{"type":"object","properties":{"n":{"type":"integer","description":"Give a whole number or a list, each a whole number."}},"required":["n"]}`,
		},
		"numbers and whole numbers": {
			`{"type":"object","properties":{"n":{"anyOf":[{"type":"integer"},{"type":"number"}]},"m":{"anyOf":[{"type":"number"},{"type":"integer"}]}}}`,
			`{"type":"object","properties":{"n":{"type":"number","description":"Give a whole number or a number."},"m":{"type":"number","description":"Give a number or a whole number."}}}`,
		},
		"the same member of two": {
			`{"type":"object","properties":{"u":{"anyOf":[{"type":"object","properties":{"x":{"type":"string"}}},{"type":"object","properties":{"x":{"type":"integer"}}}]}}}`,
			`{"type":"object","properties":{"u":{"type":"object","properties":{"x":{"type":"string","description":"Give text or a whole number."}}}}}`,
		},
		"conditions of an object": {
			`{"type":"object","properties":{"o":{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"oneOf":[{"required":["a"]},{"required":["b"]}]},"n":{"type":"integer","anyOf":[{"minimum":1},{"maximum":-1}]}}}`,
			`{"type":"object","properties":{"o":{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}}},"n":{"type":"integer","description":"Give any value."}}}`,
		},
		"alternatives by reference": {
			`{"type":"object","oneOf":[{"$ref":"#/$defs/A"},{"$ref":"#/$defs/B"}],"$defs":{"A":{"type":"object","properties":{"a":{"type":"string"}}},"B":{"$ref":"#/$defs/C"},"C":{"type":"object","properties":{"b":{"type":"string"}}}}}`,
			`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}}}`,
		},
		"a reference to itself": {
			`{"type":"object","properties":{"a":{"$ref":"#/$defs/A"}},"$defs":{"A":{"$ref":"#/$defs/A","description":"the a"}}}`,
			`{"type":"object","properties":{"a":{"description":"the a"}}}`,
		},
		"a recursive root": {
			`{"type":"object","properties":{"next":{"$ref":"#"}}}`,
			`{"type":"object","properties":{"next":{"type":"object","properties":{"next":{"type":"object","properties":{"next":{"type":"object","properties":{"next":{"type":"object","properties":{}}}}}}}}}}`,
		},
		"definitions": {
			`{"type":"object","properties":{"a":{"$ref":"#/definitions/A","description":"the a"},"l":{"type":"array"},"o":{"type":"object"}},"definitions":{"A":{"type":["string","null"],"enum":["x",null]}}}`,
			`{"type":"object","properties":{"a":{"type":"string","description":"the a","enum":["x"]},"l":{"type":"array","items":{}},"o":{"type":"object","properties":{}}}}`,
		},
		"null or an object": {
			`{"type":"object","properties":{"o":{"description":"the o","oneOf":[{"type":"null"},{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}]}}}`,
			`{"type":"object","properties":{"o":{"type":"object","description":"the o","properties":{"a":{"type":"string"}},"required":["a"]}}}`,
		},
		"null or a list": {
			`{"type":"object","properties":{"l":{"oneOf":[{"type":"null"},{"type":"array","items":{"type":"integer"}}]}}}`,
			`{"type":"object","properties":{"l":{"type":"array","items":{"type":"integer"}}}}`,
		},
		"null or two objects": {
			`{"type":"object","properties":{"o":{"oneOf":[{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]},{"type":"null"},{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}]}}}`,
			`{"type":"object","properties":{"o":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}}}`,
		},
		"objects without a type": {
			`{"type":"object","properties":{"o":{"oneOf":[{"properties":{"a":{"type":"string"}}},{"properties":{"b":{"type":"integer"}}}]}}}`,
			`{"type":"object","properties":{"o":{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"}}}}}`,
		},
		"alternatives of parts": {
			`{"type":"object","properties":{"p":{"oneOf":[{"$ref":"#/$defs/Cat"},{"$ref":"#/$defs/Dog"}]}},"$defs":{"Pet":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]},"Cat":{"allOf":[{"$ref":"#/$defs/Pet"},{"properties":{"lives":{"type":"integer"}}}]},"Dog":{"allOf":[{"$ref":"#/$defs/Pet"},{"properties":{"barks":{"type":"boolean"}}}]}}}`,
			`{"type":"object","properties":{"p":{"type":"object","properties":{"name":{"type":"string"},"lives":{"type":"integer"},"barks":{"type":"boolean"}},"required":["name"]}}}`,
		},
		"parts of parts at the root": {
			`{"type":"object","allOf":[{"allOf":[{"properties":{"a":{"type":"string"}}}]},{"properties":{"b":{"type":"integer"}}}]}`,
			`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"}}}`,
		},
		"a reference to nothing": {
			`{"type":"object","properties":{"a":{"type":"string"}},"$defs":{"A":{"type":"string"}}}`,
			`{"type":"object","properties":{"a":{"type":"string"}},"$defs":{"A":{"type":"string"}}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app := framework.New("raw", "1", framework.WithProfile("all")).
				Add(framework.Tool("t", none, framework.Describe("d"), framework.InputSchema(c.schema)))
			if got := string(testkit.New(t, app).Tools()[0].InputSchema); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestWithProfileNull checks that no alternative of a value is null, in whatever way the alternatives are written.
func TestWithProfileNull(t *testing.T) {
	t.Parallel()
	for alternatives, want := range map[string]string{
		`"anyOf":[{"type":"string"},{"type":"null"}]`:                        `{"type":"string"}`,
		`"oneOf":[{"type":"null"},{"type":"string"}]`:                        `{"type":"string"}`,
		`"anyOf":[{"type":"string"},{"type":"null","title":"nothing"}]`:      `{"type":"string"}`,
		`"oneOf":[{"type":"string"},{"type":"null"},{"type":"integer"}]`:     `{"oneOf":[{"type":"string"},{"type":"integer"}]}`,
		`"anyOf":[{"type":"string"},{"type":"null"}],"default":null`:         `{"type":"string"}`,
		`"anyOf":[{"type":"null"}]`:                                          `{"type":"null"}`,
		`"properties":{"a":{}},"anyOf":[{"required":["a"]},{"type":"null"}]`: `{"properties":{"a":{}},"anyOf":[{"required":["a"]}]}`,
	} {
		app := framework.New("raw", "1", framework.WithProfile("gemini")).Add(framework.Tool("t", none,
			framework.Describe("d"), framework.InputSchema(`{"type":"object","properties":{"v":{`+alternatives+`}}}`)))
		want = `{"type":"object","properties":{"v":` + want + `}}`
		if got := string(testkit.New(t, app).Tools()[0].InputSchema); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", alternatives, got, want)
		}
	}
}

type sized interface{ sized() }

type (
	sizeWhole struct {
		Size  int `json:"size"`
		Shape int `json:"shape,omitempty"`
	}
	sizeRatio struct {
		Size  float64 `json:"size"`
		Shape []int   `json:"shape,omitempty"`
	}
)

func (sizeWhole) sized() {}
func (sizeRatio) sized() {}

// TestWithProfileOfMembers: a member of variants has a type that all of them can be sent as.
func TestWithProfileOfMembers(t *testing.T) {
	t.Parallel()
	type in struct {
		V sized `json:"v"`
	}
	take := func(_ context.Context, in in) (string, error) { return fmt.Sprint(in.V), nil }
	for _, c := range []struct {
		options []framework.AppOption
		want    string
	}{
		{nil, `"shape":{"type":"string"`},
		{[]framework.AppOption{framework.WithoutRepair()}, `"shape":{"type":"integer"`},
	} {
		options := append(c.options, framework.WithProfile("openai"), framework.OneOf("kind", map[string]sized{"a": sizeWhole{}, "b": sizeRatio{}}))
		s := testkit.New(t, framework.New("sized", "1", options...).Add(framework.Tool("take", take, framework.Describe("Take it."))))
		listed := string(s.Tools()[0].InputSchema)
		if !strings.Contains(listed, `"size":{"type":"number"`) || !strings.Contains(listed, c.want) {
			t.Errorf("schema %s", listed)
		}
		if c.options == nil {
			s.CallRaw("take", `{"v":{"kind":"b","size":1.5,"shape":"[1]"}}`).OK().Mentions("{1.5 [1]}")
		}
	}
}

// TestWithProfileWide: a type with many references to itself is not written out without bound.
func TestWithProfileWide(t *testing.T) {
	t.Parallel()
	type wide struct {
		A, B, C, D, E, F, G, H, I, J, K, L, M, N, O, P *wide
	}
	app := framework.New("wide", "1", framework.WithProfile("gemini")).
		Add(framework.Tool("t", func(context.Context, wide) (string, error) { return "", nil }, framework.Describe("d")))
	if got := len(testkit.New(t, app).Tools()[0].InputSchema); got > 64<<10 {
		t.Errorf("%d bytes", got)
	}
}

// TestWithProfileMistakes: names that an API refuses are faults, and so are unknown profiles.
func TestWithProfileMistakes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		option framework.AppOption
		want   string
	}{
		"a name":  {framework.WithProfile("all"), "refuse its name"},
		"unknown": {framework.WithProfile("netscape"), `unknown profile "netscape", want one of all, chatgpt,`},
		"none":    {framework.WithProfile(), `give it a profile, such as "all"`},
	} {
		_, err := framework.New("shop", "1", c.option).Add(framework.Tool("a.b", none, framework.Describe("d"))).Build()
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

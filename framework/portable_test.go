package framework_test

import (
	"context"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/framework"
)

// TestNamesThatModelAPIsRefuse: Build warns of a name that would make the API of a model refuse a
// whole request, and says whose it is.
func TestNamesThatModelAPIsRefuse(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("n", 70)
	raw := func(schema string) framework.Component {
		return framework.Tool("t", none, framework.Describe("d"), framework.InputSchema(schema))
	}
	for name, c := range map[string]struct {
		component framework.Component
		want      string // "": no warning
	}{
		"plain":       {framework.Tool("read_tool-2", none, framework.Describe("d")), ""},
		"48 letters":  {framework.Tool(long[:48], none, framework.Describe("d")), ""},
		"a dot":       {framework.Tool("a.b", none, framework.Describe("d")), "the APIs of Anthropic and OpenAI refuse its name"},
		"a digit":     {framework.Tool("2read", none, framework.Describe("d")), "Gemini's API refuses its name"},
		"long":        {framework.Tool(long[:60], none, framework.Describe("d")), "clients call it mcp__shop__" + long[:60] + ", of 71 characters: the APIs of OpenAI and Gemini take 64"},
		"plain field": {raw(`{"type":"object","properties":{"a_b-c.d":{"type":"string","default":{"x y":1}}}}`), ""},
		"a space": {framework.Tool("t", func(_ context.Context, _ struct {
			A int `json:"x y"`
		},
		) (string, error) {
			return "", nil
		}, framework.Describe("d")), `refuses the name of the argument "x y"`},
		"a dollar":       {raw(`{"type":"object","properties":{"$filter":{"type":"string"}}}`), `"$filter"`},
		"an umlaut":      {raw(`{"type":"object","properties":{"größe":{"type":"string"}}}`), `"größe"`},
		"long field":     {raw(`{"type":"object","properties":{"` + long + `":{"type":"string"}}}`), long},
		"deep":           {raw(`{"type":"object","properties":{"l":{"type":"array","items":{"type":"object","properties":{"a b":{}}}}}}`), `"a b"`},
		"in anyOf":       {raw(`{"type":"object","properties":{"u":{"anyOf":[{"type":"object","properties":{"c d":{"type":"null"}}}]}}}`), `"c d"`},
		"in $defs":       {raw(`{"type":"object","properties":{"r":{"$ref":"#/$defs/R"}},"$defs":{"R":{"type":"object","properties":{"e f":{"type":"null"}}}}}`), `"e f"`},
		"properties":     {raw(`{"type":"object","properties":{"properties":{"type":"object","properties":{"g h":{"type":"null"}}}}}`), `"g h"`},
		"by their names": {raw(`{"type":"object","properties":{"r":{"$ref":"#/$defs/properties"}},"$defs":{"properties":{"type":"object","properties":{"i j":{"type":"null"}}}}}`), `"i j"`},
		"a default":      {raw(`{"type":"object","properties":{"r":{"$ref":"#/$defs/default"}},"$defs":{"default":{"type":"object","properties":{"k l":{"type":"null"}}}}}`), `"k l"`},
		"of definitions": {raw(`{"type":"object","properties":{"r":{"$ref":"#/$defs/x y"}},"$defs":{"x y":{"type":"string"}}}`), ""},
		"of a prompt":    {framework.Prompt("a.b", func(context.Context, struct{}) (framework.Messages, error) { return nil, nil }, framework.Describe("d")), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := framework.New("shop", "1", framework.WithStrict()).Add(c.component).Build()
			switch {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("Build: %v, want %s", err, c.want)
			}
			if _, err := framework.New("shop", "1").Add(c.component).Build(); err != nil {
				t.Errorf("without WithStrict: %v", err)
			}
		})
	}
}

// TestEmptyAppWarns: an app that offers nothing is most likely a mistake, unless something is added at the
// start.
func TestEmptyAppWarns(t *testing.T) {
	t.Parallel()
	if _, err := framework.New("shop", "1", framework.WithStrict()).Build(); err == nil || !strings.Contains(err.Error(), "no tool, resource or prompt") {
		t.Errorf("Build: %v", err)
	}
	later := framework.New("shop", "1", framework.WithStrict()).OnStart(func(context.Context, *framework.Server) error { return nil })
	if _, err := later.Build(); err != nil {
		t.Error(err)
	}
}

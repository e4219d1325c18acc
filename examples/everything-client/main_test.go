package main

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/kagami-mcp/kagami/examples/everything/app"
	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
	"github.com/kagami-mcp/kagami/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// play runs one scenario against an app in this process.
func play(t *testing.T, scenario string, app *framework.App, rev protocol.Revision) error {
	t.Helper()
	return run(t.Context(), scenario, client.InMemory(testkit.New(t, app).Server()), client.Revisions(rev))
}

// The client can use everything that the server of examples/everything offers.
func TestEverything(t *testing.T) {
	t.Parallel()
	for _, rev := range protocol.Revisions() {
		for _, scenario := range []string{"initialize", "sse-retry", "http-standard-headers"} {
			t.Run(rev.String()+"/"+scenario, func(t *testing.T) {
				t.Parallel()
				if err := play(t, scenario, app.New(), rev); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// seen is what the server of a test has received.
type seen struct {
	sum    float64
	asked  form
	schema json.RawMessage
	region []string
}

type form struct {
	Name      string  `json:"name" default:"John Doe"`
	Age       int     `json:"age" default:"30"`
	Score     float64 `json:"score" default:"95.5"`
	Confirmed bool    `json:"confirmed" doc:"has no default"`
}

type sumIn struct {
	A float64 `json:"a"`
	B float64 `json:"b"`
}

type regionIn struct {
	Region string `json:"region" header:"Region"`
}

const oddSchema = `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"x":{"$ref":"#/$defs/x"}},"$defs":{"x":{"$anchor":"y","type":"string"}}}`

// suiteServer is a server like the servers of the suite.
func suiteServer(s *seen) *framework.App {
	return framework.New("suite", "1").Add(
		framework.Tool("add_numbers", func(_ context.Context, in sumIn) (float64, error) {
			s.sum = in.A + in.B
			return s.sum, nil
		}),
		framework.Tool("test_client_elicitation_defaults", func(ctx context.Context, _ struct{}) (string, error) {
			var err error
			s.asked, err = framework.Elicit[form](ctx, "Fill this in.")
			return "Thank you.", err
		}),
		framework.Tool("json_schema_2020_12_tool", func(context.Context, json.RawMessage) (string, error) { return "", nil },
			framework.InputSchema(oddSchema)),
		framework.Tool("json_schema_echo", func(_ context.Context, in struct {
			Schema json.RawMessage `json:"schema"`
		},
		) (string, error) {
			s.schema = in.Schema
			return "Seen.", nil
		}),
	)
}

func TestSuiteServer(t *testing.T) {
	t.Parallel()
	tests := []struct {
		scenario string
		want     func(*seen) bool
		revs     []protocol.Revision
	}{
		{"tools_call", func(s *seen) bool { return s.sum == 8 }, protocol.Revisions()},
		{
			"elicitation-sep1034-client-defaults", func(s *seen) bool { return s.asked == form{"John Doe", 30, 95.5, true} },
			[]protocol.Revision{protocol.Rev20250618, protocol.Rev20251125},
		},
		{
			"json-schema-2020-12-preservation", func(s *seen) bool { return strings.Contains(string(s.schema), `"$anchor":"y"`) },
			protocol.Revisions(),
		},
	}
	for _, tt := range tests {
		for _, rev := range tt.revs {
			t.Run(rev.String()+"/"+tt.scenario, func(t *testing.T) {
				t.Parallel()
				var s seen
				if err := play(t, tt.scenario, suiteServer(&s), rev); err != nil || !tt.want(&s) {
					t.Errorf("%v; the server saw %+v", err, s)
				}
			})
		}
	}
}

func TestCallAll(t *testing.T) {
	t.Parallel()
	var s seen
	region := func(_ context.Context, in regionIn) (string, error) {
		s.region = append(s.region, in.Region)
		return "", nil
	}
	app := framework.New("suite", "1").Add(framework.Tool("one", region), framework.Tool("two", region))
	if err := play(t, "http-invalid-tool-headers", app, protocol.Rev20260728); err != nil || strings.Join(s.region, " ") != "us-west1 us-west1" {
		t.Errorf("%v; %q", err, s.region)
	}
}

func TestPrescribed(t *testing.T) {
	var s seen
	t.Setenv("MCP_CONFORMANCE_CONTEXT", `{"name":"x","toolCalls":[{"name":"add_numbers","arguments":{"a":1,"b":2}},{"name":"add_numbers","arguments":{"a":1.5,"b":2}}]}`)
	if err := play(t, "http-custom-headers", suiteServer(&s), protocol.Rev20260728); err != nil || s.sum != 3.5 {
		t.Errorf("%v; %+v", err, s)
	}
	t.Setenv("MCP_CONFORMANCE_CONTEXT", "")
	if err := play(t, "http-custom-headers", suiteServer(&s), protocol.Rev20260728); err == nil {
		t.Error("no context, no error")
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	empty := func() *framework.App {
		return framework.New("suite", "1").Add(framework.Tool("sour", func(context.Context, struct{}) (string, error) {
			return "", framework.UserErrorf("not today")
		}))
	}
	for scenario, want := range map[string]string{
		"tools_call":                       "add_numbers",
		"http-standard-headers":            "not today",
		"json-schema-2020-12-preservation": "no tool json_schema_2020_12_tool",
		"elsewhere":                        "unknown scenario",
	} {
		if err := play(t, scenario, empty(), protocol.Rev20251125); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", scenario, err)
		}
	}
}

// The error for a start by hand shows how the suite starts the program.
func TestUsage(t *testing.T) {
	for name, tt := range map[string]struct {
		scenario string
		args     []string
	}{
		"nothing":     {"", nil},
		"help":        {"", []string{"--help"}},
		"no scenario": {"", []string{"http://127.0.0.1:1/mcp"}},
		"a flag":      {"initialize", []string{"-h"}},
	} {
		t.Setenv("MCP_CONFORMANCE_SCENARIO", tt.scenario)
		if err := fromSuite(t.Context(), tt.args); err == nil || !strings.HasPrefix(err.Error(), "usage: MCP_CONFORMANCE_SCENARIO=") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

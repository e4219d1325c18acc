package testkit_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/testkit"
)

func FuzzOrder(f *testing.F) { testkit.FuzzTool(f, orderTool()) }

func FuzzRaw(f *testing.F) { testkit.FuzzTool(f, rawTool()) }

func FuzzOrderAgreement(f *testing.F) { testkit.FuzzAgreement(f, orderTool()) }

func FuzzWaitAgreement(f *testing.F) { testkit.FuzzAgreement(f, newHandles().wait) }

// A handler that asks, and tools that no call passes, can be fuzzed too.
func FuzzAsking(f *testing.F) {
	testkit.FuzzTool(f, framework.Tool("ask", func(ctx context.Context, _ struct{}) (string, error) {
		return framework.Elicit[string](ctx, "Which city?")
	}))
}

func FuzzOdd(f *testing.F) {
	testkit.FuzzTool(f, framework.Tool("odd", func(context.Context, oddIn) (string, error) { return "", nil }))
}

// What fuzzing is to find.
func TestFuzzFindsFaults(t *testing.T) {
	t.Parallel()
	crash := framework.Tool("crash", func(_ context.Context, in struct {
		Names []string `json:"names"`
	},
	) (string, error) {
		return in.Names[len(in.Names)-1], nil // of an empty list
	})
	broken := framework.Tool("broken", func(context.Context, struct{}) (string, error) {
		return "", &protocol.Error{Code: 7, Message: "no"}
	})
	crashTask := framework.Tool("crash", func(_ context.Context, in struct {
		Names []string `json:"names"`
	},
	) (string, error) {
		return in.Names[len(in.Names)-1], nil
	}, framework.Task(framework.TaskRequired))
	brokenTask := framework.Tool("broken", func(context.Context, struct{}) (string, error) {
		return "", &protocol.Error{Code: protocol.CodeInvalidParams, Message: "no"}
	}, framework.Task(framework.TaskRequired))
	for name, tt := range map[string]struct {
		got  string
		want string
	}{
		"a panic of a task":         {testkit.TryTool(t, crashTask, `{"names":[]}`), "the handler panics: runtime error: index out of range"},
		"no panic of a task":        {testkit.TryTool(t, crashTask, `{"names":["a"]}`), ""},
		"a refusal by a task":       {testkit.TryTool(t, crashTask, `{"names":1}`), ""},
		"an error of a task":        {testkit.TryTool(t, brokenTask, `{}`), "an error of the protocol instead of a result"},
		"a panic":                   {testkit.TryTool(t, crash, `{"names":[]}`), "the handler panics: runtime error: index out of range"},
		"no panic":                  {testkit.TryTool(t, crash, `{"names":["a"]}`), ""},
		"a refusal":                 {testkit.TryTool(t, crash, `{"names":1}`), ""},
		"an error of the protocol":  {testkit.TryTool(t, broken, `{}`), "an error of the protocol instead of a result"},
		"an error for a text":       {testkit.TryTool(t, broken, `"{}"`), "an error of the protocol instead of a result"},
		"no object":                 {testkit.TryTool(t, broken, `7`), ""},
		"a schema that is stricter": {testkit.Disagreement(t, rawTool(), pass, `{"city":"Paris"}`), "accepts what its schema refuses"},
		"a tool that is stricter": {
			testkit.Disagreement(t, rawTool(), rawTool().Check, `{"city":"Oslo","days":1}`), "",
		},
		"a tool that refuses all": {
			testkit.Disagreement(t, rawTool(), framework.Tool("t", func(context.Context, struct{}) (string, error) { return "", nil }).Check, `{"city":"Oslo","days":1}`),
			"refuses what its schema allows",
		},
	} {
		if tt.want == "" && tt.got != "" || !strings.Contains(tt.got, tt.want) {
			t.Errorf("%s: %q, want %q", name, tt.got, tt.want)
		}
	}
}

// The same seed makes the same call, most of them another than the good one.
func TestNearMisses(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	near := testkit.Near(t, orderTool())
	for seed := range uint64(500) {
		call := near("no JSON", seed)
		if again := near("no JSON", seed); string(again) != string(call) || !json.Valid(call) {
			t.Fatalf("seed %d: %s, then %s", seed, call, again)
		}
		seen[string(call)] = true
	}
	if len(seen) < 300 {
		t.Errorf("500 seeds made %d calls", len(seen))
	}
}

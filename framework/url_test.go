package framework_test

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
)

type linkIn struct {
	Page framework.URL  `json:"page"`
	More *framework.URL `json:"more"`
}

func TestURL(t *testing.T) {
	t.Parallel()
	tool := framework.Tool("link", func(_ context.Context, in linkIn) (linkIn, error) {
		in.Page.Path += "b"
		return in, nil
	})
	if got := string(tool.InputSchema()); !strings.Contains(got, `"page":{"type":"string","description":"An absolute URL such as https://example.com/a.","format":"uri"}`) {
		t.Errorf("schema %s", got)
	}
	s := dial(t, build(t, quiet().Add(tool)), protocol.Rev20260728)
	got := s.tool("link", `{"page":"https://example.com/a?x=1&y"}`).tool()
	if string(got.StructuredContent) != `{"page":"https://example.com/ab?x=1&y","more":null}` {
		t.Errorf("result %s", got.StructuredContent)
	}
	if out := string(tool.OutputSchema()); strings.Contains(out, `"uri"`) || !strings.Contains(out, "or empty") {
		t.Errorf("the schema of results does not admit the zero value: %s", out)
	}
	for _, bad := range []string{`"/a"`, `""`, `"http://[x"`, `7`, `{}`} {
		err := tool.Check([]byte(`{"page":` + bad + `}`))
		if err == nil || !strings.Contains(err.Error(), "/page") {
			t.Errorf("%s: %v", bad, err)
		}
	}
	if text := fmt.Sprintf("no %s", framework.URL{URL: url.URL{Scheme: "a", Host: "b"}}); text != "no a://b" {
		t.Errorf("in a text it is %q", text)
	}
	type raw struct{ U url.URL }
	report := faultsOf(t, quiet().Add(framework.Tool("raw", func(context.Context, raw) (string, error) { return "", nil }))).Error()
	if !strings.Contains(report, "framework.URL") {
		t.Errorf("the report does not name the type to use:\n%s", report)
	}
}

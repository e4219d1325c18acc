package main

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/transport/nethttp"
)

// TestSuggestAnswers covers servers that cannot ask: because nothing here can answer, or because of the
// revision.
func TestSuggestAnswers(t *testing.T) {
	t.Parallel()
	const revision, answers, root = "try --revision 2025-11-25.", "give --answers", "give --root DIR."
	server, err := framework.New("asks", "1").Add(framework.Tool("fail", func(_ context.Context, in struct {
		Text string `json:"text"`
	},
	) (string, error) {
		return "", framework.UserErrorf("%s", in.Text)
	})).Build()
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(nethttp.Handler(server))
	t.Cleanup(s.Close)
	for _, tt := range []struct {
		text  string
		flags []string
		want  string // "": no suggestion
	}{
		{"calling \"elicitation/create\": not supported by this client", []string{"--answers", "[true]"}, revision},
		{"Cannot ask: no session", []string{"--answers", "[true]"}, revision},
		{"sampling is unavailable", []string{"--sample", "x"}, revision},
		{"the client does not list roots: unsupported", []string{"--root", "."}, revision},
		{"the client does not list roots: unsupported", []string{"--answers", "[true]"}, root},
		{"elicitation is not supported", []string{"--sample", "x"}, answers},
		{"asking the user is not possible with this client", []string{"--revision", "2025-11-25"}, answers},
		{"asking the user is not possible with this client", []string{"--revision", "2024-11-05", "--answers", "[true]"}, revision},
		{"asking the client's model is not possible with this client", []string{"--revision", "2024-11-05", "--sample", "x"}, ""},
		{"elicitation is not supported", []string{"--answers", "[true]", "--revision", "2025-11-25"}, ""},
		{"elicitation is not supported", nil, answers},
		{"elicitation is not supported", []string{"--revision", "2025-11-25"}, answers},
		{"the elicitation was declined", nil, ""},
		{"this task is not supported", nil, ""},
	} {
		_, errs, code := kagami(t, append([]string{"call", s.URL + "/mcp", "fail", "text=" + tt.text}, tt.flags...)...)
		for _, one := range []string{revision, answers, root} {
			if suggested := strings.Contains(errs, one); code != 5 || suggested != (one == tt.want) || !strings.Contains(errs, tt.text) {
				t.Errorf("%q %q: exit code %d\n%s", tt.text, tt.flags, code, errs)
			}
		}
	}
	if _, errs, code := kagami(t, "call", everything, "test_elicitation", "message=x"); code != 1 || strings.Count(errs, "Run it in a terminal to answer") != 1 {
		t.Errorf("a question without an answer: exit code %d\n%s", code, errs)
	}
}

// TestWrongServers: a server that is wrong in one place can still be used in all others.
func TestWrongServers(t *testing.T) {
	t.Parallel()
	const initialize = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"wrong","version":"1"}}`
	wrong := scripted(t, map[string]string{
		"initialize": initialize,
		"tools/list": `{"tools":[{"name":"bad"},{"name":"good","inputSchema":{"type":"object","properties":{"zip":{"type":"string"}}}}]}`,
		"tools/call": `{"content":"text"}`,
	}).URL
	silent := scripted(t, map[string]string{"initialize": strings.Replace(initialize, `"tools":{}`, "", 1), "tools/list": `{"tools":[{"name":"a","inputSchema":{}}]}`}).URL
	empty := scripted(t, map[string]string{"initialize": initialize, "tools/list": `{"tools":[]}`}).URL
	for name, tt := range map[string]struct {
		args []string
		code int
		want string // in stdout and stderr
	}{
		"result":            {[]string{"call", wrong, "good", "zip=12"}, 1, "invalid result of tools/call: result.content must be an array"},
		"tool with a fault": {[]string{"call", wrong, "bad"}, 1, "result.tools[0].inputSchema is missing"},
		"nothing":           {[]string{"list", empty}, 0, "Nothing is offered.\n"},
		"nothing declared":  {[]string{"list", silent}, 0, "Nothing is offered.\nkagami: the capabilities of the server declare no tools, resources or prompts, so nothing is listed\n"},
		"no tools declared": {[]string{"tools", silent}, 0, "Nothing is offered.\nkagami: the capabilities of the server declare no tools, "},
	} {
		out, errs, code := kagami(t, tt.args...)
		if code != tt.code || !strings.Contains(out+errs, tt.want) {
			t.Errorf("%s: exit code %d, want %q\n%s%s", name, code, tt.want, out, errs)
		}
	}
}

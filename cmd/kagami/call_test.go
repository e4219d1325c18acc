package main

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/transport/nethttp"
)

// TestSuggestEarlierRevision covers servers that cannot ask at the newest revision. They may be
// able to at an earlier one.
func TestSuggestEarlierRevision(t *testing.T) {
	t.Parallel()
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
		text, revision string
		want           bool
	}{
		{"calling \"elicitation/create\": not supported by this client", "", true},
		{"Cannot ask: no session", "", true},
		{"sampling is unavailable", "", true},
		{"the client does not list roots: unsupported", "", true},
		{"elicitation is not supported", "2025-11-25", false},
		{"the elicitation was declined", "", false},
		{"this task is not supported", "", false},
	} {
		args := []string{"call", s.URL + "/mcp", "fail", "text=" + tt.text}
		if tt.revision != "" {
			args = append(args, "--revision", tt.revision)
		}
		_, errs, code := kagami(t, args...)
		if suggested := strings.Contains(errs, "try --revision 2025-11-25."); code != 5 || suggested != tt.want || !strings.Contains(errs, tt.text) {
			t.Errorf("%q: exit code %d\n%s", tt.text, code, errs)
		}
	}
}

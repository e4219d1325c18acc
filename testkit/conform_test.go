package testkit_test

import (
	"context"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/testkit"
	"github.com/kagami-mcp/kagami/transport"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	empty := func() *framework.App { return framework.New("empty", "1") }
	for _, rev := range protocol.Revisions() {
		t.Run(rev.String(), func(t *testing.T) {
			t.Parallel()
			testkit.Conformance(t, newHandles().app(), rev.String())
		})
		t.Run(rev.String()+"/empty", func(t *testing.T) {
			t.Parallel()
			testkit.Conformance(t, empty, rev.String())
		})
	}
}

// A rule of each subject is broken on purpose, by a middleware that rewrites frames.
func TestConformanceFindsFaults(t *testing.T) {
	t.Parallel()
	tests := []struct {
		rule, revision, old, now string
		want                     string
	}{
		{"base-1", "2026-07-28", `"id":7`, `"id":"7"`, "want id 7"},
		{"base-2", "2025-11-25", `"jsonrpc":"2.0"`, `"jsonrpc":"2.1"`, "want one of result and error"},
		{"base-5", "2026-07-28", `-32601`, `-32603`, "want error [-32601]"},
		{"base-9", "2026-07-28", `"complete"`, `"done"`, `want resultType "complete"`},
		{"base-10", "2026-07-28", `"version"`, `"revision"`, "serverInfo"},
		{"version-1", "2025-06-18", `"protocolVersion":"2025-06-18"`, `"protocolVersion":"2025-03-26"`, "another protocolVersion"},
		{"version-5", "2026-07-28", `"requested"`, `"asked"`, "supported and requested"},
		{"list-1", "2025-11-25", `-32602`, `-32603`, "want error [-32602]"},
		{"list-3", "2026-07-28", `"ttlMs"`, `"ttl"`, "want ttlMs"},
		{"resource-1", "2025-11-25", `tea://menu`, `menu`, "no scheme"},
		{"tool-1", "2025-11-25", `"name":"fail"`, `"name":"fail!"`, `the name "fail!"`},
		{"tool-2", "2025-11-25", `"type":"object"`, `"type":"array"`, "the schema"},
		{"tool-7", "2025-11-25", `"isError":true`, `"isError":false`, "want isError"},
		{"resource-4", "2026-07-28", `-32602`, `-32002`, "want error [-32602]"},
		{"subscription-1", "2026-07-28", `"seven"`, `7`, "want the acknowledgement"},
	}
	for _, tt := range tests {
		t.Run(tt.rule, func(t *testing.T) {
			t.Parallel()
			app := newHandles().app().UseFrames(rewriting(tt.old, tt.now))
			got := testkit.Broken(t, app, tt.revision, tt.rule)
			if !strings.Contains(got, tt.want) || !strings.Contains(got, "sent: ") || !strings.Contains(got, "got:  ") {
				t.Errorf("%q, want %q", got, tt.want)
			}
			if got := testkit.Broken(t, newHandles().app(), tt.revision, tt.rule); got != "" {
				t.Errorf("the rule is not broken, and yet: %s", got)
			}
		})
	}
}

// rewriting changes what the server says.
func rewriting(old, now string) transport.Middleware {
	return func(next transport.Next) transport.Next {
		return func(ctx context.Context, frame []byte, out transport.Outbound) error {
			return next(ctx, frame, transport.OutboundFunc(func(ctx context.Context, frame []byte) error {
				return out.Send(ctx, []byte(strings.ReplaceAll(string(frame), old, now)))
			}))
		}
	}
}

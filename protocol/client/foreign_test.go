package client_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
)

// The tests of this file are about servers of other SDKs that do not quite follow the
// specification.

// declining has handlers for questions, and so declares capabilities.
func declining() []client.Option {
	return []client.Option{
		client.OnElicit(func(context.Context, *client.ElicitRequest) (*client.ElicitAnswer, error) { return nil, nil }),
		client.OnSample(func(context.Context, *client.SampleRequest) (*client.SampleAnswer, error) { return nil, nil }),
	}
}

// TestUnknownCapabilitiesAreRefused: Java servers of 2025 refuse capabilities with members that
// they do not know. The client offers an older revision, once.
func TestUnknownCapabilitiesAreRefused(t *testing.T) {
	t.Parallel()
	t.Run("stdio", func(t *testing.T) {
		t.Parallel()
		c, wait := connect(t, func(f *fake) {
			f.refuse(f.expect(protocol.MethodDiscover), -32601, "Method not found", "")
			f.refuse(f.expect(protocol.MethodInitialize), -32603, `Unrecognized field "form"`, "")
			m := f.initialized("2025-06-18")
			if m.at("protocolVersion") != `"2025-06-18"` || m.at("capabilities", "elicitation") != "{}" || m.at("capabilities", "sampling") != "{}" {
				f.t.Errorf("frame %s", m.text)
			}
		}, declining()...)
		wait()
		if c.Revision() != "2025-06-18" {
			t.Errorf("revision %s", c.Revision())
		}
	})
	t.Run("stdio, for another reason", func(t *testing.T) {
		t.Parallel()
		target, wait := dial(t, func(f *fake) {
			f.refuse(f.expect(protocol.MethodDiscover), -32601, "Method not found", "")
			f.refuse(f.expect(protocol.MethodInitialize), -32603, "no license", "")
			f.refuse(f.expect(protocol.MethodInitialize), -32603, "still no license", "")
		})
		_, err := client.Connect(t.Context(), target, declining()...)
		if err == nil || !strings.Contains(err.Error(), "initialize: no license") {
			t.Errorf("error %v", err)
		}
		wait()
	})
	t.Run("stdio, without handlers", func(t *testing.T) {
		t.Parallel()
		target, wait := dial(t, func(f *fake) {
			f.refuse(f.expect(protocol.MethodDiscover), -32601, "Method not found", "")
			f.refuse(f.expect(protocol.MethodInitialize), -32603, "no license", "")
		})
		if _, err := client.Connect(t.Context(), target); err == nil || !strings.Contains(err.Error(), "no license") {
			t.Errorf("error %v", err)
		}
		wait()
	})
	for _, status := range []int{400, 500} {
		t.Run(fmt.Sprint("HTTP ", status), func(t *testing.T) {
			t.Parallel()
			s := open(t, "2025-06-18", func(v *visit) bool {
				if v.Method != protocol.MethodInitialize || !strings.Contains(v.text, `"form"`) {
					return false
				}
				v.say(status, "application/json", `{"cause":null,"message":"Unrecognized field \"form\""}`)
				return true
			})
			if c := visitor(t, s, nil, declining()...); c.Revision() != "2025-06-18" {
				t.Errorf("revision %s", c.Revision())
			}
			if n := s.count("GET "); n != 1 { // for messages that the client did not ask for
				t.Errorf("steps %v", s.steps())
			}
		})
	}
}

// TestListWithAnEmptyCursor: some servers write "" for no cursor, and read it as none.
func TestListWithAnEmptyCursor(t *testing.T) {
	t.Parallel()
	for _, cursors := range [][]string{{"", ""}, {"p2", "", "p2"}} { // the first page comes again at the end
		c, wait := connect(t, func(f *fake) {
			f.legacy("2025-06-18")
			for i, next := range cursors {
				f.result(f.expect(protocol.MethodListTools), fmt.Sprintf(`{"tools":[{"name":"t%d","inputSchema":{"type":"object"}}],"nextCursor":%q}`, i, next))
			}
		})
		n := 0
		for tool, err := range c.Tools(t.Context()) {
			if err != nil || tool.Name != fmt.Sprintf("t%d", n) {
				t.Fatal(tool.Name, err)
			}
			n++
		}
		if n != len(cursors)-1 {
			t.Errorf("%d tools of %d pages", n, len(cursors)-1)
		}
		wait()
	}
}

// TestAnswerWithItsIDAsText: some servers write the id of the request as a string, or with a fraction.
func TestAnswerWithItsIDAsText(t *testing.T) {
	t.Parallel()
	for _, era := range eras() {
		for _, id := range []string{`"%s"`, `%s.0`} {
			c, wait := connect(t, func(f *fake) {
				f.era(era)
				f.send(`{"jsonrpc":"2.0","id":`+id+`,"result":{"resultType":"complete","content":[]}}`, f.expect(protocol.MethodCallTool).ID)
			})
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			if _, err := c.CallTool(ctx, "x", nil); err != nil {
				t.Errorf("%s, %s: %v", era, id, err)
			}
			cancel()
			wait()
		}
	}
}

// TestProgressWithItsTokenAsText: some servers write the token of the request as a string.
func TestProgressWithItsTokenAsText(t *testing.T) {
	t.Parallel()
	c, _ := connect(t, func(f *fake) {
		f.legacy("2025-06-18")
		m := f.expect(protocol.MethodCallTool)
		f.notify(protocol.NotificationProgress, `{"progressToken":"`+string(m.ID)+`","progress":1}`)
		f.result(m, `{"content":[]}`)
	})
	reports := 0
	_, err := c.CallTool(t.Context(), "x", nil, client.OnProgress(func(protocol.Progress) { reports++ }))
	if err != nil || reports != 1 {
		t.Errorf("%d reports, %v", reports, err)
	}
}

// TestNotificationIsRefused: some servers answer notifications/initialized, with an error without an id. It
// is not the answer to the call that follows. Later errors without an id are.
func TestNotificationIsRefused(t *testing.T) {
	t.Parallel()
	c, wait := connect(t, func(f *fake) {
		f.legacy("2025-06-18")
		m := f.expect(protocol.MethodCallTool)
		f.send(`{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"Method not found: notifications/initialized"}}`)
		f.result(m, `{"content":[]}`)
		f.expect(protocol.MethodCallTool)
		f.send(`{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"Method not found: tools/call"}}`)
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := c.CallTool(ctx, "x", nil); err != nil {
		t.Error(err)
	}
	if _, err := c.CallTool(ctx, "x", nil); err == nil || !strings.Contains(err.Error(), "tools/call") {
		t.Errorf("a call that is refused without an id: %v", err)
	}
	wait()
}

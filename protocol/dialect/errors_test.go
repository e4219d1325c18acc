package dialect_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
)

func TestFaultsOnTheWire(t *testing.T) {
	t.Parallel()
	url := protocol.ElicitParams{Message: "m", URL: "https://a", ID: "1"}
	for _, c := range []struct {
		fault *protocol.Fault
		codes [5]int
		data  [5]string
	}{
		{protocol.Faultf(protocol.FaultInternal, "x"), all5(-32603), all5("")},
		{protocol.Faultf(protocol.FaultInvalidRequest, "x"), all5(-32600), all5("")},
		{protocol.Faultf(protocol.FaultMethodNotFound, "x"), all5(-32601), all5("")},
		{protocol.Faultf(protocol.FaultInvalidParams, "x"), all5(-32602), all5("")},
		{protocol.Faultf(protocol.FaultInvalidArguments, "x"), all5(-32602), all5("")},
		{&protocol.Fault{Kind: protocol.FaultInvalidParams, Data: map[string]any{"a": 1}}, all5(-32602), all5(`{"a":1}`)},
		{protocol.Faultf(protocol.FaultRejected, "x"), all5(-1), all5("")},
		{
			&protocol.Fault{Kind: protocol.FaultResourceNotFound, URI: "file:///a"},
			[5]int{-32002, -32002, -32002, -32002, -32602},
			all5(`{"uri":"file:///a"}`),
		},
		{
			&protocol.Fault{Kind: protocol.FaultHeaderMismatch, Message: "x"},
			[5]int{-32600, -32600, -32600, -32600, -32020},
			all5(""),
		},
		{
			&protocol.Fault{Kind: protocol.FaultUnsupportedVersion, Supported: []string{"2026-07-28"}, Requested: "v999"},
			[5]int{-32602, -32602, -32602, -32602, -32022},
			all5(`{"supported":["2026-07-28"],"requested":"v999"}`),
		},
		{
			&protocol.Fault{Kind: protocol.FaultMissingCapability, Required: &protocol.ClientCapabilities{
				Elicitation: true, Tasks: true,
			}},
			[5]int{-32602, -32602, -32602, -32602, -32021},
			[5]string{
				`{"requiredCapabilities":{}}`, `{"requiredCapabilities":{}}`, `{"requiredCapabilities":{"elicitation":{}}}`,
				`{"requiredCapabilities":{"elicitation":{"form":{}},"tasks":{"requests":{}}}}`,
				`{"requiredCapabilities":{"elicitation":{"form":{}},"extensions":{"io.modelcontextprotocol/tasks":{}}}}`,
			},
		},
		{
			&protocol.Fault{Kind: protocol.FaultURLRequired, Elicitations: []protocol.ElicitParams{url}},
			[5]int{-32602, -32602, -32602, -32042, -32602},
			[5]string{"", "", "", `{"elicitations":[{"mode":"url","message":"m","elicitationId":"1","url":"https://a"}]}`, ""},
		},
	} {
		for i, d := range dialect.All() {
			e := d.Error(fmt.Errorf("wrapped: %w", c.fault))
			if e == nil {
				t.Fatalf("%s: fault of kind %d has no wire form", d, c.fault.Kind)
			}
			if e.Code != c.codes[i] || string(e.Data) != c.data[i] || e.Message == "" {
				t.Errorf("%s kind %d: %d %q %s, want %d %s", d, c.fault.Kind, e.Code, e.Message, e.Data, c.codes[i], c.data[i])
			}
		}
	}
}

func TestFaultsWithoutMessageGetOne(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for kind := protocol.FaultInternal; kind <= protocol.FaultRejected; kind++ {
		for _, d := range dialect.All() {
			if e := d.Error(&protocol.Fault{Kind: kind}); e == nil || e.Message == "" {
				t.Errorf("%s kind %d: %+v", d, kind, e)
			} else {
				seen[e.Message] = true
			}
		}
	}
	if want := int(protocol.FaultRejected) + 1; len(seen) != want {
		t.Errorf("%d messages for %d kinds: %v", len(seen), want, seen)
	}
}

func all5[T any](v T) [5]T { return [5]T{v, v, v, v, v} }

func TestOtherErrorsOnTheWire(t *testing.T) {
	t.Parallel()
	for _, d := range dialect.All() {
		e := d.Error(fmt.Errorf("wrapped: %w", &protocol.Error{Code: 7, Message: "m", Data: []any{"<", 1.5, nil}}))
		if e == nil || e.Code != 7 || e.Message != "m" || string(e.Data) != `["<",1.5,null]` {
			t.Errorf("%s: %+v", d, e)
		}
		if e := d.Error(errors.New("secret")); e != nil {
			t.Errorf("%s: a plain error became %+v", d, e)
		}
		if e := d.Error(nil); e != nil {
			t.Errorf("%s: nil became %+v", d, e)
		}
		e = d.Error(&protocol.Error{Code: 7, Data: func() {}})
		if e == nil || e.Data != nil {
			t.Errorf("%s: data without JSON form: %+v", d, e)
		}
	}
}

// A handler of its own error serves clients of all revisions: 2026-07-28 must not see two
// codes of earlier ones (basic "Error Codes").
func TestCodesOfEarlierRevisions(t *testing.T) {
	t.Parallel()
	for _, d := range dialect.All() {
		for _, code := range []int{-32002, -32042} {
			want := code
			if d.Revision() == protocol.Rev20260728 {
				want = jsonrpc.CodeInvalidParams
			}
			if e := d.Error(&protocol.Error{Code: code, Message: "m"}); e.Code != want || e.Message != "m" {
				t.Errorf("%s: %d became %+v", d, code, e)
			}
		}
	}
}

func TestPeerErrorsAreUnderstood(t *testing.T) {
	t.Parallel()
	const none = protocol.FaultKind(255)
	for _, c := range []struct {
		code  int
		data  string
		kinds [5]protocol.FaultKind
	}{
		{-32603, "", all5(none)},
		{-32602, "", all5(none)},
		{-32601, "", all5(none)},
		{-32002, "", all5(protocol.FaultResourceNotFound)},
		{-32002, `{"uri":"a:b"}`, all5(protocol.FaultResourceNotFound)},
		{-32602, `{"uri":"a:b"}`, all5(protocol.FaultResourceNotFound)},
		{-32602, `{"supported":["x"],"requested":"y"}`, [5]protocol.FaultKind{
			protocol.FaultUnsupportedVersion, protocol.FaultUnsupportedVersion,
			protocol.FaultUnsupportedVersion, protocol.FaultUnsupportedVersion, none,
		}},
		{-32022, `{"supported":["x"],"requested":"y"}`, all5(protocol.FaultUnsupportedVersion)},
		{-32022, `{"supported":"x"}`, all5(none)},
		{-32021, `{"requiredCapabilities":{"sampling":{}}}`, [5]protocol.FaultKind{
			none, none, none, none, protocol.FaultMissingCapability,
		}},
		{-32021, `{"requiredCapabilities":["sampling"]}`, all5(none)},
		{-32020, ``, [5]protocol.FaultKind{none, none, none, none, protocol.FaultHeaderMismatch}},
		{-32042, `{"elicitations":[{"mode":"url","message":"m","elicitationId":"1","url":"https://a"}]}`, [5]protocol.FaultKind{
			none, none, none, protocol.FaultURLRequired, none,
		}},
		{-32042, `{"elicitations":7}`, all5(none)},
		{-1, "", all5(protocol.FaultRejected)},
	} {
		for i, d := range dialect.All() {
			var data []byte
			if c.data != "" {
				data = []byte(c.data)
			}
			err := d.DecodeError(&jsonrpc.Error{Code: c.code, Message: "m", Data: data})
			if want := (&protocol.Error{Code: c.code, Message: "m"}).Error(); err.Error() != want {
				t.Errorf("%s %d: %q, want %q", d, c.code, err, want)
			}
			var plain *protocol.Error
			if !errors.As(err, &plain) || plain.Code != c.code || plain.Message != "m" {
				t.Errorf("%s %d: %v holds no protocol.Error", d, c.code, err)
			}
			if got, _ := plain.Data.(json.RawMessage); string(got) != c.data {
				t.Errorf("%s %d: data %s", d, c.code, got)
			}
			var fault *protocol.Fault
			if !errors.As(err, &fault) {
				fault = &protocol.Fault{Kind: none}
			}
			if fault.Kind != c.kinds[i] {
				t.Errorf("%s %d %s: fault kind %d, want %d", d, c.code, c.data, fault.Kind, c.kinds[i])
			}
		}
	}
}

// A proxy that hands on an error speaks its own client's revision.
func TestErrorsTranslateBetweenRevisions(t *testing.T) {
	t.Parallel()
	for _, from := range dialect.All() {
		for _, to := range dialect.All() {
			fault := &protocol.Fault{Kind: protocol.FaultResourceNotFound, Message: "gone", URI: "a:b"}
			got := to.Error(from.DecodeError(from.Error(fault)))
			if want := to.Error(fault); !reflect.DeepEqual(got, want) {
				t.Errorf("%s to %s: %+v, want %+v", from, to, got, want)
			}
		}
	}
}

// TestErrorBeforeHandshake: an unknown method is refused before a revision is agreed.
func TestErrorBeforeHandshake(t *testing.T) {
	t.Parallel()
	var none *dialect.Dialect
	if e := none.Error(protocol.Faultf(protocol.FaultMethodNotFound, "no")); e == nil || e.Code != -32601 {
		t.Errorf("got %v", e)
	}
}

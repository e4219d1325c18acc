package dialect_test

import (
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
)

func TestPeek(t *testing.T) {
	t.Parallel()
	for params, want := range map[string]struct {
		version string
		claimed bool
	}{
		`{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}`:            {"2026-07-28", true},
		`{"name":"x","_meta":{"a":1,"io.modelcontextprotocol/protocolVersion":"v999"}}`: {"v999", true},
		`{"_meta":{"io.modelcontextprotocol/protocolVersion":""}}`:                      {"", true},
		`{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026\u002d07-28"}}`:       {"2026-07-28", true},
		`{"_meta":{"io.modelcontextprotocol/protocolVersion":20260728}}`:                {"", false},
		`{"_meta":{"io.modelcontextprotocol/protocolVersion":null}}`:                    {"", false},
		`{"_meta":{"io.modelcontextprotocol/protocolversion":"2026-07-28"}}`:            {"", false},
		`{"arguments":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07"}}}`: {"", false},
		`{"_meta":"io.modelcontextprotocol/protocolVersion"}`:                           {"", false},
		`{}`: {"", false},
		`[]`: {"", false},
		``:   {"", false},
	} {
		version, claimed := dialect.Peek([]byte(params))
		if version != want.version || claimed != want.claimed {
			t.Errorf("Peek(%s) = %q, %v", params, version, claimed)
		}
	}
}

const modernMeta = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}`

func TestDecodeMetaRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		revs   []protocol.Revision
		params string
		want   string
	}{
		{[]protocol.Revision{revE}, `{}`, `params._meta["io.modelcontextprotocol/protocolVersion"] is missing`},
		{[]protocol.Revision{revE}, ``, `params._meta["io.modelcontextprotocol/protocolVersion"] is missing`},
		{
			[]protocol.Revision{revE},
			`{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}`,
			`params._meta["io.modelcontextprotocol/clientCapabilities"] is missing`,
		},
		{
			[]protocol.Revision{revE},
			`{"_meta":{"io.modelcontextprotocol/clientCapabilities":{}}}`,
			`params._meta["io.modelcontextprotocol/protocolVersion"] is missing`,
		},
		{
			[]protocol.Revision{revE},
			`{"_meta":{"io.modelcontextprotocol/protocolVersion":1,"io.modelcontextprotocol/clientCapabilities":{}}}`,
			`protocolVersion"] must be a string`,
		},
		{
			[]protocol.Revision{revE},
			`{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":[1]}}`,
			`clientCapabilities"] must be an object`,
		},
		{
			[]protocol.Revision{revE},
			`{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":null}}`,
			`clientCapabilities"] must be an object`,
		},
		{
			[]protocol.Revision{revE},
			`{"_meta":{"io.modelcontextprotocol/protocolVersion":null,"io.modelcontextprotocol/clientCapabilities":{}}}`,
			`protocolVersion"] must be a string`,
		},
		{
			[]protocol.Revision{revE},
			`{"_meta":{` + modernMeta + `,"io.modelcontextprotocol/logLevel":"loud"}}`,
			`logLevel"] must be one of "debug"`,
		},
		{
			[]protocol.Revision{revE},
			`{"_meta":{` + modernMeta + `,"io.modelcontextprotocol/clientInfo":{"name":"x"}}}`,
			`clientInfo"].version is missing`,
		},
		{
			[]protocol.Revision{revE}, `{"_meta":{` + modernMeta + `,` + modernMeta + `}}`, `protocolVersion"] is repeated`,
		},
		{protocol.Revisions(), `{"_meta":{` + modernMeta + `,"progressToken":1.5}}`, "progressToken must be a string or an integer"},
		{protocol.Revisions(), `{"_meta":{` + modernMeta + `,"progressToken":{}}}`, "progressToken must be a string or an integer"},
		{protocol.Revisions(), `{"_meta":{` + modernMeta + `,"a/b":1,"a/b":2}}`, `params._meta["a/b"] is repeated`},
		{protocol.Revisions(), `{"_meta":{` + modernMeta + `,"progressToken":1,"progressToken":1}}`, "progressToken is repeated"},
		{protocol.Revisions(), `{"_meta":[1]}`, "params._meta must be an object"},
		{protocol.Revisions(), `{"_meta":true}`, "params._meta must be an object"},
	} {
		for _, rev := range c.revs {
			m, fault := dialect.Of(rev).DecodeMeta([]byte(c.params))
			switch {
			case fault == nil:
				t.Errorf("%s: %s was accepted as %+v", rev, c.params, m)
			case fault.Kind != protocol.FaultInvalidParams || !strings.Contains(fault.Message, c.want):
				t.Errorf("%s: %s: fault %q, want %q", rev, c.params, fault.Message, c.want)
			}
		}
	}
}

func TestDecodeMetaReads(t *testing.T) {
	t.Parallel()
	params := []byte(`{"_meta":{` + modernMeta + `,"progressToken":7,"io.modelcontextprotocol/logLevel":"warning",` +
		`"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},` +
		`"io.modelcontextprotocol/related-task":{"taskId":"t1"},"traceparent":"00-1"}}`)
	for _, d := range dialect.All() {
		m, fault := d.DecodeMeta(params)
		if fault != nil {
			t.Fatalf("%s: %v", d, fault)
		}
		modern := d.Revision() == revE
		if m.ProgressToken.String() != "7" {
			t.Errorf("%s: token %s", d, m.ProgressToken)
		}
		if (m.Revision == "2026-07-28") != modern || (m.Capabilities != nil) != modern ||
			(m.Client != nil && m.Client.Name == "c") != modern || (m.LogLevel == protocol.LevelWarning) != modern {
			t.Errorf("%s: %+v", d, m)
		}
		if (m.RelatedTask == "t1") != (d.Revision() == revD) {
			t.Errorf("%s: related task %q", d, m.RelatedTask)
		}
	}
}

func TestNotificationMetaNeedsNothing(t *testing.T) {
	t.Parallel()
	for _, d := range dialect.All() {
		if m, fault := d.DecodeNotificationMeta(nil); fault != nil || m != dialect.NoMeta {
			t.Errorf("%s: %+v, %v", d, m, fault)
		}
		m, fault := d.DecodeNotificationMeta([]byte(`{"_meta":{"io.modelcontextprotocol/subscriptionId":0}}`))
		if fault != nil {
			t.Fatalf("%s: %v", d, fault)
		}
		if (m.SubscriptionID.String() == "0") != d.ListenStream() {
			t.Errorf("%s: subscription %q", d, m.SubscriptionID)
		}
	}
}

// The user's members come along; the specification's own are not overruled.
func TestAppendParamsMeta(t *testing.T) {
	t.Parallel()
	m := &protocol.RequestMeta{Extra: protocol.Meta{
		"traceparent": "00-1", "io.modelcontextprotocol/protocolVersion": "forged",
	}}
	for _, d := range dialect.All() {
		got, err := d.AppendParams(nil, &protocol.ListParams{Kind: protocol.ListTools}, m)
		if err != nil {
			t.Fatalf("%s: %v", d, err)
		}
		want := `{"_meta":{"traceparent":"00-1","io.modelcontextprotocol/protocolVersion":"forged"}}`
		if !d.Handshake() {
			want = `{"_meta":{"traceparent":"00-1",` + modernMeta + `}}`
		}
		sameJSON(t, got, []byte(want))
	}
}

func TestRequestsWithoutMetaStillSpeakForThemselves(t *testing.T) {
	t.Parallel()
	got, err := dialect.Of(revE).AppendParams(nil, &protocol.CustomParams{
		Name: "vendor/run", Raw: []byte(`{"_meta":{"a":1,"io.modelcontextprotocol/protocolVersion":"x"},"n":2}`),
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	sameJSON(t, got, []byte(`{"n":2,"_meta":{"a":1,`+modernMeta+`}}`))
}

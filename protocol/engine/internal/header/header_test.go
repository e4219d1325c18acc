package header_test

import (
	"net/http"
	"testing"

	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/header"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
	"github.com/kagami-mcp/kagami/transport"
)

func request(fields ...string) *transport.Request {
	h := http.Header{}
	for i := 0; i < len(fields); i += 2 {
		h.Add(fields[i], fields[i+1])
	}
	return &transport.Request{Fields: transport.HeaderFields(h)}
}

// TestName: both fields must be there once, and repeat the body.
func TestName(t *testing.T) {
	t.Parallel()
	params := jsontext.Bare([]byte(`{"name":"add"}`))
	name, fault := header.Name(request("Mcp-Method", "tools/call", "Mcp-Name", " add "), "tools/call", params)
	if fault != nil || name != "add" {
		t.Errorf("got %q and %v", name, fault)
	}
	for _, fields := range [][]string{
		{},
		{"Mcp-Method", "tools/call"},
		{"Mcp-Name", "add"},
		{"Mcp-Method", "tools/list", "Mcp-Name", "add"},
		{"Mcp-Method", "tools/call", "Mcp-Name", "sub"},
		{"Mcp-Method", "tools/call", "Mcp-Name", "add", "Mcp-Name", "add"},
	} {
		if _, fault := header.Name(request(fields...), "tools/call", params); fault == nil {
			t.Errorf("%q is accepted", fields)
		}
	}
}

// TestArguments: a field is there exactly if the argument is, and repeats it.
func TestArguments(t *testing.T) {
	t.Parallel()
	mirrors := []dialect.Mirror{{Header: "Mcp-Param-City", Path: []string{"city"}}}
	for _, tt := range []struct {
		arguments string
		fields    []string
		ok        bool
	}{
		{`{"city":"Rom"}`, []string{"Mcp-Param-City", "Rom"}, true},
		{`{"city":"Rom"}`, []string{"Mcp-Param-City", "Oslo"}, false},
		{`{"city":"Rom"}`, nil, false},
		{`{"city":"Rom"}`, []string{"Mcp-Param-City", "Rom", "Mcp-Param-City", "Rom"}, false},
		{`{}`, nil, true},
		{`{}`, []string{"Mcp-Param-City", "Rom"}, false},
	} {
		fault := header.Arguments(request(tt.fields...), mirrors, jsontext.Bare([]byte(`{"arguments":`+tt.arguments+`}`)))
		if (fault == nil) != tt.ok {
			t.Errorf("%s and %q: %v", tt.arguments, tt.fields, fault)
		}
	}
}

// TestVersion: the field may name any revision with a handshake, once.
func TestVersion(t *testing.T) {
	t.Parallel()
	modern := dialect.PerRequestVersions()[0]
	for _, tt := range []struct {
		fields     []string
		modern, ok bool
	}{
		{nil, false, true},
		{[]string{header.Version, "2025-06-18"}, false, true},
		{[]string{header.Version, ""}, false, false},
		{[]string{header.Version, "2025-06-18", header.Version, "2025-06-18"}, false, false},
		{[]string{header.Version, "1999-01-01"}, false, false},
		{[]string{header.Version, modern}, true, false},
	} {
		f := header.ReadVersion(request(tt.fields...))
		if (f.Modern != nil) != tt.modern || (f.Handshake() == nil) != tt.ok {
			t.Errorf("%q: %+v, %v", tt.fields, f, f.Handshake())
		}
	}
}

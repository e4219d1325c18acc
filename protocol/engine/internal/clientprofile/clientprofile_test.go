package clientprofile_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/clientprofile"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// TestProfiles: equal texts share a profile, unless it has maps, which handlers could change.
func TestProfiles(t *testing.T) {
	t.Parallel()
	var all clientprofile.Profiles
	p := &protocol.InitializeParams{Client: protocol.Implementation{Name: "c"}}
	if a, b := all.Of(p, []byte("1")), all.Of(p, []byte("1")); a != b || a.Client.Name != "c" || a == all.Of(p, []byte("2")) {
		t.Error("equal texts have different profiles, or different texts the same")
	}
	p.Capabilities.Extensions = map[string]json.RawMessage{}
	if a, b := all.Of(p, []byte("3")), all.Of(p, []byte("3")); a == b {
		t.Error("a profile with a map is shared")
	}
}

// TestMetas: a text is shared from the second time on.
func TestMetas(t *testing.T) {
	t.Parallel()
	d, _ := dialect.PerRequest(dialect.PerRequestVersions()[0])
	m := clientprofile.NewMetas()
	decode := func(capabilities string) *protocol.RequestMeta {
		params := fmt.Sprintf(`{"_meta":{"io.modelcontextprotocol/protocolVersion":"%s","io.modelcontextprotocol/clientCapabilities":%s,
			"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"}}}`, dialect.PerRequestVersions()[0], capabilities)
		meta, fault := m.Decode(d, dialect.MetaOf(jsontext.Bare([]byte(params))))
		if fault != nil {
			t.Fatal(fault)
		}
		return meta
	}
	first, second, third := decode(`{}`), decode(`{}`), decode(`{}`)
	if first == second || second != third {
		t.Error("a text is not shared from the second time on")
	}
	if decode(`{"roots":{}}`) == third {
		t.Error("different texts are shared")
	}
	for range 3 {
		if a, b := decode(`{"extensions":{}}`), decode(`{"extensions":{}}`); a == b {
			t.Error("a value with a map is shared")
		}
	}
}

package auth

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/kagami-mcp/kagami/middleware/internal/proof"
)

// wellKnown is where metadata of protected resources is (RFC 9728 §3).
const wellKnown = "/.well-known/oauth-protected-resource"

// metadata tells clients which authorization servers issue tokens for this server. Immutable.
type metadata struct {
	url      string // of the metadata (RFC 9728 §3.1)
	path     string // of url
	document []byte
}

// newMetadata is nil if the resource or its authorization servers are not known: the rest would
// be of no use to a client.
func newMetadata(c *config) *metadata {
	u := httpURL(c.resource)
	if u == nil || len(c.servers) == 0 {
		return nil
	}
	document, err := json.Marshal(struct {
		Resource   string   `json:"resource"`
		Servers    []string `json:"authorization_servers"`
		Scopes     []string `json:"scopes_supported,omitempty"`
		Methods    []string `json:"bearer_methods_supported"`
		Algorithms []string `json:"dpop_signing_alg_values_supported,omitempty"`
		Bound      bool     `json:"dpop_bound_access_tokens_required,omitempty"`
	}{
		Resource: c.resource, Servers: c.servers, Scopes: c.scopes(), Methods: []string{"header"},
		Algorithms: c.algorithms(), Bound: c.proofs != nil,
	})
	if err != nil {
		return nil // it cannot fail: these are strings and a bool
	}
	path := wellKnown
	if u.EscapedPath() != "/" {
		path += u.EscapedPath()
	}
	m := &metadata{path: path, document: document}
	m.url = u.Scheme + "://" + u.Host + path
	if u.RawQuery != "" {
		m.url += "?" + u.RawQuery
	}
	return m
}

// scopes are those that a client may ask for.
func (c *config) scopes() []string {
	all := appendNew(slices.Clone(c.required), c.supported)
	return slices.DeleteFunc(all, func(s string) bool { return s == "offline_access" })
}

func (c *config) algorithms() []string {
	if c.proofs == nil {
		return nil
	}
	return proof.Algorithms()
}

// ServeMetadata answers a request for a path below the root of the host: the metadata at
// both well-known places, with the path of the endpoint and without (2025-11-25
// basic/authorization "Protected Resource Metadata Discovery Requirements"). Any page
// may read it, and caches may keep it: it is the same for everyone. Without a body the
// carrier writes its own error.
func (b *bearer) ServeMetadata(method, path string) (status int, header http.Header, body []byte) {
	m := b.metadata
	if m == nil || path != wellKnown && strings.TrimSuffix(path, "/") != strings.TrimSuffix(m.path, "/") {
		return http.StatusNotFound, nil, nil
	}
	header = http.Header{"Access-Control-Allow-Origin": {"*"}}
	switch method {
	case http.MethodGet, http.MethodHead:
		header.Set("Content-Type", "application/json")
		header.Set("Cache-Control", "public, max-age=3600")
		return http.StatusOK, header, m.document
	case http.MethodOptions: // browsers send the revision header, too
		header.Set("Access-Control-Allow-Methods", "GET, HEAD")
		header.Set("Access-Control-Allow-Headers", "Mcp-Protocol-Version")
		header.Set("Access-Control-Max-Age", "7200")
		return http.StatusNoContent, header, nil
	}
	header.Set("Allow", "GET, HEAD, OPTIONS")
	return http.StatusMethodNotAllowed, header, nil
}

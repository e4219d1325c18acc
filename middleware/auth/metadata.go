package auth

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/kagami-mcp/kagami/middleware/internal/proof"
)

// wellKnown is the path of metadata of protected resources (RFC 9728 §3).
const wellKnown = "/.well-known/oauth-protected-resource"

// metadata is the document that lists the authorization servers that issue tokens for this server.
// It is immutable.
type metadata struct {
	url      string // of the metadata (RFC 9728 §3.1)
	path     string // of url
	document []byte
}

// newMetadata returns the metadata. If the resource or its authorization servers are unknown, it
// returns nil, because the rest would not help a client.
func newMetadata(c *config) *metadata {
	u := httpURL(c.resource)
	if u == nil || len(c.servers) == 0 {
		return nil
	}
	var algorithms []string
	if c.proofs != nil {
		algorithms = proof.Algorithms()
	}
	document, _ := json.Marshal(struct { // strings and a bool always marshal
		Resource   string   `json:"resource"`
		Servers    []string `json:"authorization_servers"`
		Scopes     []string `json:"scopes_supported,omitempty"`
		Methods    []string `json:"bearer_methods_supported"`
		Algorithms []string `json:"dpop_signing_alg_values_supported,omitempty"`
		Bound      bool     `json:"dpop_bound_access_tokens_required,omitempty"`
	}{
		Resource: c.resource, Servers: c.servers, Scopes: c.scopes(), Methods: []string{"header"},
		Algorithms: algorithms, Bound: c.proofs != nil,
	})
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

// scopes returns the scopes that a client may request.
func (c *config) scopes() []string {
	all := appendNew(slices.Clone(c.required), c.supported)
	return slices.DeleteFunc(all, func(s string) bool { return s == "offline_access" })
}

// ServeMetadata answers a request for a path below the root of the host. It serves the metadata at
// both well-known URLs, with and without the path of the endpoint (2025-11-25 basic/authorization
// "Protected Resource Metadata Discovery Requirements").
//
// Any web page may read the metadata, and caches may keep it, because it is the same for all
// clients. If body is nil, the carrier writes its own error.
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
	case http.MethodOptions: // browsers also send the revision header
		header.Set("Access-Control-Allow-Methods", "GET, HEAD")
		header.Set("Access-Control-Allow-Headers", "Mcp-Protocol-Version")
		header.Set("Access-Control-Max-Age", "7200")
		return http.StatusNoContent, header, nil
	}
	header.Set("Allow", "GET, HEAD, OPTIONS")
	return http.StatusMethodNotAllowed, header, nil
}

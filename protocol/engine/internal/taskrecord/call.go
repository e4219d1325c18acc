package taskrecord

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
	"github.com/kagami-mcp/kagami/protocol/task"
	"github.com/kagami-mcp/kagami/transport"
)

// Call is the Call of a record: the request as received, and the state that another process
// needs to run it.
type Call struct {
	Revision  string          `json:"revision"`
	Scopes    []string        `json:"scopes,omitempty"` // of the tool; before params, which are long
	Method    string          `json:"method"`
	ID        json.RawMessage `json:"id,omitempty"` // of the request
	Session   string          `json:"session,omitempty"`
	Init      json.RawMessage `json:"init,omitempty"` // the parameters of the session's initialize
	Level     protocol.Level  `json:"level,omitempty"`
	Principal *Principal      `json:"principal,omitempty"`
	Address   string          `json:"address,omitempty"` // of the client
	Params    json.RawMessage `json:"params"`
}

// Principal is an authenticated caller. The numbers of claims are restored with the same value:
// as json.Number, as in tokens, or as float64, if the program has put one into the claims.
type Principal struct {
	Subject string          `json:"subject"`
	Issuer  string          `json:"issuer,omitempty"`
	Scopes  []string        `json:"scopes,omitempty"`
	Claims  json.RawMessage `json:"claims,omitempty"`
	Floats  bool            `json:"floats,omitempty"` // there is a float64 in the claims
	Expires time.Time       `json:"expires,omitzero"`
}

// RecordPrincipal returns p as it is recorded. It returns an error if a claim has no JSON form.
func RecordPrincipal(p *transport.Principal) (*Principal, error) {
	r := &Principal{Subject: p.Subject, Issuer: p.Issuer, Scopes: p.Scopes, Expires: p.Expires}
	if p.Claims == nil {
		return r, nil
	}
	raw, err := json.Marshal(p.Claims)
	if err != nil {
		return nil, fmt.Errorf("the claims of the principal: %w", err)
	}
	r.Claims, r.Floats = raw, holdsFloat(p.Claims)
	return r, nil
}

// Restore returns the caller that RecordPrincipal has recorded.
func (r *Principal) Restore() (*transport.Principal, error) {
	p := &transport.Principal{Subject: r.Subject, Issuer: r.Issuer, Scopes: r.Scopes, Expires: r.Expires}
	if r.Claims == nil {
		return p, nil
	}
	d := json.NewDecoder(bytes.NewReader(r.Claims))
	d.UseNumber()
	if err := d.Decode(&p.Claims); err != nil {
		return nil, fmt.Errorf("engine: reading the claims of a task's principal: %w", err)
	}
	if r.Floats {
		restoreFloats(p.Claims)
	}
	return p, nil
}

// holdsFloat reports whether a claim contains a float64.
func holdsFloat(claim any) bool {
	switch claim := claim.(type) {
	case float64:
		return true
	case []any:
		return slices.ContainsFunc(claim, holdsFloat)
	case map[string]any:
		return slices.ContainsFunc(slices.Collect(maps.Values(claim)), holdsFloat)
	}
	return false
}

// restoreFloats returns claim with each number that a float64 is written as made a float64. Other
// numbers would change their value, for example the name of a tenant.
func restoreFloats(claim any) any {
	switch claim := claim.(type) {
	case json.Number:
		f, err := claim.Float64()
		if err != nil {
			return claim
		}
		if text, _ := json.Marshal(f); string(text) == claim.String() {
			return f
		}
	case []any:
		for i := range claim {
			claim[i] = restoreFloats(claim[i])
		}
	case map[string]any:
		for name := range claim {
			claim[name] = restoreFloats(claim[name])
		}
	}
	return claim
}

// ReadCall returns the Call of a record.
func ReadCall(r *task.Record) (*Call, error) {
	call := new(Call)
	if err := json.Unmarshal(r.Call, call); err != nil {
		return call, fmt.Errorf("engine: reading the call of a task: %w", err)
	}
	return call, nil
}

// Decode decodes the request in the dialect d. meta is its _meta, and rawMeta the text of that.
func (c *Call) Decode(d *dialect.Dialect) (params protocol.Params, meta *protocol.RequestMeta, rawMeta []byte, err error) {
	text := dialect.MetaOf(jsontext.Bare(c.Params))
	rawMeta = text.Raw()
	meta, fault := d.DecodeMetaObject(text)
	if fault != nil {
		return nil, meta, rawMeta, fault
	}
	params, fault = d.DecodeParams(c.Method, c.Params)
	if fault != nil {
		return nil, meta, rawMeta, fault
	}
	return params, meta, rawMeta, nil
}

// Dialect returns the dialect of the call, or nil if this program does not know the revision.
func (c *Call) Dialect() *dialect.Dialect {
	revision, _ := protocol.ParseRevision(c.Revision)
	return dialect.Of(revision)
}

// RequestID returns the id of the request that created the task.
func (c *Call) RequestID() jsonrpc.ID {
	id, _ := jsonrpc.ParseID(c.ID)
	return id
}

// HasScopes reports whether the caller has the scopes that the tool had when the task was created.
// A token with fewer scopes must not give access to the results of a call.
func HasScopes(ctx context.Context, r *task.Record) bool {
	scopes, _ := jsontext.Member(r.Call, "scopes")
	for item := range jsontext.Elements(scopes) {
		if scope, ok := jsontext.String(item); !ok || !transport.PrincipalFrom(ctx).Has(scope) {
			return false
		}
	}
	return true
}

// Tool returns the name of the tool that the call of a task named.
func Tool(r *task.Record) string {
	params, _ := jsontext.Member(r.Call, "params")
	name, _ := jsontext.Member(params, "name")
	tool, _ := jsontext.String(name)
	return tool
}

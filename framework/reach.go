package framework

import (
	"context"
	"encoding/json"
	"errors"

	"go.uber.org/zap"

	"github.com/kagami-mcp/kagami/framework/internal/binding"
	"github.com/kagami-mcp/kagami/framework/internal/secretname"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/claim"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
	"github.com/kagami-mcp/kagami/transport"
)

// What middleware can use for every call at little cost. Caller parses _meta each time; nothing
// here does.

// Logger returns the app's own logger, that of WithLogger: unlike Log, it sends nothing to
// clients. It is never nil.
func (s *Server) Logger() *zap.Logger {
	if s.cfg.logger == nil {
		return zap.NewNop()
	}
	return s.cfg.logger
}

// Claims returns those of the store of WithStore; nil if it has none, or there is no store:
// then whatever is counted is counted by this process alone.
func (s *Server) Claims() claim.Store {
	if !s.shared {
		return nil
	}
	return s.claims
}

// Brief is the part of CallInfo that costs nothing to get.
type Brief struct {
	Principal  *Principal
	Session    string // see CallInfo
	Revision   string // for logs only
	RemoteAddr string
	Task       string
	Probe      bool            // set in the check of WithReplayCheck: nothing of this execution counts
	Meta       json.RawMessage // as received, read-only; nil: none
}

// BriefOf returns what is known of the caller of ctx; outside a call that is the principal
// at most.
func BriefOf(ctx context.Context) (b Brief) {
	b.Principal = transport.PrincipalFrom(ctx)
	h := handlingFrom(ctx)
	if h == nil || h.call == nil {
		return b
	}
	c := h.call
	b.Session, b.RemoteAddr, b.Task, b.Meta = c.Session(), c.RemoteAddr(), c.Task(), c.Meta.Raw
	b.Revision, b.Probe = c.Dialect.String(), c.Probes()
	return b
}

// RevisionOf is BriefOf's Revision by itself.
func RevisionOf(ctx context.Context) string {
	if h := handlingFrom(ctx); h != nil && h.call != nil {
		return h.call.Dialect.String()
	}
	return ""
}

// Probing is BriefOf's Probe by itself.
func Probing(ctx context.Context) bool {
	h := handlingFrom(ctx)
	return h != nil && h.call != nil && h.call.Probes()
}

// Asked reports whether the call has asked the client for anything so far, or was answered
// by a model: its result then depends on more than its arguments.
func Asked(ctx context.Context) bool {
	h := handlingFrom(ctx)
	if h == nil || h.call == nil {
		return false
	}
	top := h.top()
	return top.asks.Load() || top.roots.Load() != nil || h.call.Round > 0
}

// Masked returns the arguments of ctx's call as they may be logged: without what the tag
// secret hides. hidden are the texts that were hidden, so that they can be looked for in
// the text of an error; for a template these are its secret variables, and the URI.
func Masked(ctx context.Context, arguments json.RawMessage) (masked json.RawMessage, hidden []string) {
	m := maskOf(ctx)
	if m == nil {
		return arguments, nil
	}
	found := func(value []byte) { hidden = jsontext.AppendTexts(hidden, value) }
	if h := handlingFrom(ctx); h.vars != nil {
		hidden = append(hidden, h.uri) // it has the variables with escapes
		if vars, err := json.Marshal(h.vars); err == nil {
			m.Append(nil, vars, hiddenText, found)
		}
	}
	if len(arguments) == 0 {
		return arguments, hidden
	}
	return m.Append(nil, arguments, hiddenText, found), hidden
}

// MaskedName returns the call's Name as it may be logged: the URI template instead of the
// URI if a variable has the tag secret.
func MaskedName(ctx context.Context, call *Call) string {
	if call.Component.Kind == kindTemplate.String() && maskOf(ctx) != nil {
		return call.Component.Name
	}
	return call.Name
}

func maskOf(ctx context.Context) *binding.Mask {
	if h := handlingFrom(ctx); h != nil && h.bound != nil {
		return h.bound.mask
	}
	return nil
}

const hiddenText = "[hidden]"

// SecretName reports whether Log hides a member or field of this name from clients:
// password, token, api_key and the like.
func SecretName(name string) bool { return secretname.Is(name) }

// OutputChecker returns a function that checks results of the tool that ctx calls against its
// output schema. Both the result and the schema are those of the call's revision: some revisions
// wrap lists and scalars in an object. OutputChecker compiles the schema, so middleware should
// keep the function, one for each component and RevisionOf. If the revision lists no output
// schema, the function is nil.
func OutputChecker(ctx context.Context) (check func(structured json.RawMessage) error, err error) {
	h := handlingFrom(ctx)
	if h == nil || h.bound == nil || h.bound.tool == nil || h.bound.tool.OutputSchema == nil {
		return nil, nil //nolint:nilnil // there is nothing to check it by
	}
	d := h.call.Dialect
	listed, err := d.AppendTool(nil, h.bound.tool)
	if err != nil {
		return nil, err
	}
	schema, has := jsontext.Member(listed, "outputSchema")
	if !has {
		return nil, nil //nolint:nilnil // as above
	}
	raw, err := binding.CompileRaw(schema)
	if err != nil {
		return nil, err
	}
	return func(structured json.RawMessage) error {
		result, err := d.AppendResult(nil, &protocol.CallToolResult{Structured: structured}, nil)
		if err != nil {
			return err
		}
		sent, _ := jsontext.Member(result, "structuredContent")
		if err := raw.Check(sent); err != nil {
			return errors.New(err.Error()) // an *Invalid would be blamed on the arguments
		}
		return nil
	}, nil
}

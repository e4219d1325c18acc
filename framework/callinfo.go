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
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
	"github.com/kagami-mcp/kagami/transport"
)

// The functions in this file are cheap enough for middleware to use on every call. Unlike Caller, they
// do not parse _meta.

// Logger returns the logger set with WithLogger. Unlike Log, it sends nothing to clients. It is
// never nil.
func (s *Server) Logger() *zap.Logger {
	if s == nil || s.cfg.logger == nil {
		return zap.NewNop()
	}
	return s.cfg.logger
}

// Claims returns the claim store of the store set with WithStore. If there is no store, or it
// has no claims, Claims returns nil; counters then apply to this process only.
func (s *Server) Claims() claim.Store {
	if s == nil || !s.shared {
		return nil
	}
	return s.claims
}

// CallInfoLite is the part of CallInfo that costs nothing to get.
type CallInfoLite struct {
	Principal  *Principal
	Session    string          // see CallInfo
	Revision   string          // for logs only
	RemoteAddr string          // see CallInfo
	Task       string          // see CallInfo
	Meta       json.RawMessage // as received, read-only; may be nil

	// ReplayCheck is set if this execution only checks that the previous one can be replayed
	// (WithReplayCheck). The result and the effects of such an execution are discarded.
	ReplayCheck bool
	// Asked is set if the call has asked the client for anything so far, or got an answer from a
	// model. The result of such a call depends on more than its arguments.
	Asked bool
}

// CallerLite returns the part of the caller's information that costs nothing to get. Outside a
// call, at most the principal is set.
func CallerLite(ctx context.Context) (b CallInfoLite) {
	b.Principal = transport.PrincipalFrom(ctx)
	h := callCtxFrom(ctx)
	if h == nil || h.call == nil {
		return b
	}
	c := h.call
	b.Session, b.RemoteAddr, b.Task, b.Meta = c.Session(), c.RemoteAddr(), c.Task(), c.Meta.Raw
	b.Revision, b.ReplayCheck, b.Asked = c.Dialect.String(), c.InReplayCheck(), h.hasAsked()
	return b
}

// hasAsked reports whether the call has asked the client for anything so far, or got an answer from
// a model.
func (h *callCtx) hasAsked() bool {
	return h.top().asks.Load() || h.call.Round > 0
}

// RedactArguments returns the arguments of ctx's call for a log, without the values of fields that
// have the tag secret. It also returns the redacted texts, for RedactText. For a template, these
// are the URI and its secret variables.
func RedactArguments(ctx context.Context, arguments json.RawMessage) (redacted json.RawMessage, hidden []string) {
	m := maskOf(ctx)
	if m == nil {
		return arguments, nil
	}
	found := func(value []byte) { hidden = jsontext.AppendTexts(hidden, value) }
	if h := callCtxFrom(ctx); h.vars != nil {
		hidden = append(hidden, h.uri) // it contains the variables in escaped form
		if name := h.top().seen.Name; name != "" && name != h.uri {
			hidden = append(hidden, name)
		}
		if vars, err := json.Marshal(h.vars); err == nil {
			m.Append(nil, vars, hiddenText, found)
		}
	}
	if len(arguments) == 0 {
		return arguments, hidden
	}
	return m.Append(nil, arguments, hiddenText, found), hidden
}

// RedactName returns the call's Name for a log. If a variable of a URI template has the tag secret,
// it returns the template instead of the URI.
func RedactName(ctx context.Context, call *Call) string {
	if call.Component.Kind == kindTemplate.String() && maskOf(ctx) != nil {
		return call.Component.Name
	}
	return call.Name
}

func maskOf(ctx context.Context) *binding.Mask {
	if h := callCtxFrom(ctx); h != nil && h.component != nil {
		return h.component.mask
	}
	return nil
}

const hiddenText = "[hidden]"

// IsSecretName reports whether Log hides members and fields of this name from clients, such as
// password, token and api_key.
func IsSecretName(name string) bool { return secretname.Is(name) }

// OutputChecker returns a function that checks results of the tool that ctx calls against its
// output schema. It takes both in the form of the call's revision, because some revisions wrap
// lists and scalars in an object. OutputChecker compiles the schema, so middleware should keep
// the function, one for each component and revision. If the revision does not list an output
// schema, the function is nil.
func OutputChecker(ctx context.Context) (check func(structured json.RawMessage) error, err error) {
	h := callCtxFrom(ctx)
	if h == nil || h.component == nil || h.component.tool == nil || h.component.tool.OutputSchema == nil {
		return nil, nil //nolint:nilnil // there is nothing to check it by
	}
	d := h.call.Dialect
	listed, err := d.AppendTool(nil, h.component.tool)
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
	wrapped := dialect.WrapsOutput(h.component.tool.OutputSchema)
	return func(structured json.RawMessage) error {
		result, err := d.AppendResult(nil, &protocol.CallToolResult{Structured: structured, Wrapped: wrapped}, nil)
		if err != nil {
			return err
		}
		sent, _ := jsontext.Member(result, "structuredContent")
		if err := raw.Check(sent); err != nil {
			return errors.New(err.Error()) // an *Invalid would count as an error of the arguments
		}
		return nil
	}, nil
}

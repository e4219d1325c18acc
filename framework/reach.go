package framework

import (
	"context"
	"encoding/json"
	"errors"

	"go.uber.org/zap"

	"github.com/kagami-mcp/kagami/framework/internal/binding"
	"github.com/kagami-mcp/kagami/protocol/claim"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
	"github.com/kagami-mcp/kagami/transport"
)

// What middleware that every call goes through can reach, at little cost. Caller
// reads _meta for each call; nothing here does.

// Logger is the app's own, of WithLogger: unlike Log it tells clients nothing. Never
// nil.
func (s *Server) Logger() *zap.Logger {
	if s.cfg.logger == nil {
		return zap.NewNop()
	}
	return s.cfg.logger
}

// Claims are those of the store of WithStore; nil where it has none, or there is no
// store: what is counted then is this process's.
func (s *Server) Claims() claim.Store {
	if !s.shared {
		return nil
	}
	return s.claims
}

// Brief is the part of CallInfo that is at hand.
type Brief struct {
	Principal  *Principal
	Session    string // see CallInfo
	Revision   string // for logs only
	RemoteAddr string
	Task       string
	Probe      bool            // of WithReplayCheck: nothing of this execution counts
	Meta       json.RawMessage // as received, read-only; nil: none
}

// BriefOf is what is known of the caller of ctx; outside of a call the principal at
// most.
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

// RevisionOf is the Revision of BriefOf alone.
func RevisionOf(ctx context.Context) string {
	if h := handlingFrom(ctx); h != nil && h.call != nil {
		return h.call.Dialect.String()
	}
	return ""
}

// Probing is the Probe of BriefOf alone.
func Probing(ctx context.Context) bool {
	h := handlingFrom(ctx)
	return h != nil && h.call != nil && h.call.Probes()
}

// Asked says whether the call has asked the client for anything so far, or was
// answered by a model: its result is then not that of its arguments alone.
func Asked(ctx context.Context) bool {
	h := handlingFrom(ctx)
	if h == nil || h.call == nil {
		return false
	}
	top := h.top()
	return top.asks.Load() || top.roots.Load() != nil || h.call.Round > 0
}

// Masked is what may be logged of the arguments that ctx's call has: without what the
// tag secret hides. hidden are the texts of what was hidden, for whoever looks for
// them in the text of an error; of a template these are secret variables, and the URI.
func Masked(ctx context.Context, arguments json.RawMessage) (masked json.RawMessage, hidden []string) {
	m := maskOf(ctx)
	if m == nil {
		return arguments, nil
	}
	found := func(value []byte) { hidden = jsontext.AppendTexts(hidden, value) }
	if h := handlingFrom(ctx); h.vars != nil {
		hidden = append(hidden, h.uri) // which has them with escapes
		if vars, err := json.Marshal(h.vars); err == nil {
			m.Append(nil, vars, hiddenText, found)
		}
	}
	if len(arguments) == 0 {
		return arguments, hidden
	}
	return m.Append(nil, arguments, hiddenText, found), hidden
}

// MaskedName is what may be logged of the call's Name: the URI template instead of the
// URI where a variable has the tag secret.
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

// SecretName says whether a member or field of this name is hidden from clients by
// Log: password, token, api_key and the like.
func SecretName(name string) bool { return secretName(name) }

// OutputChecker judges results of the tool that ctx calls by its output schema, which
// it compiles: a step keeps it for the component that it is in front of. Nil where
// the component has no output schema.
func OutputChecker(ctx context.Context) (check func(structured json.RawMessage) error, err error) {
	h := handlingFrom(ctx)
	if h == nil || h.bound == nil || h.bound.tool == nil || h.bound.tool.OutputSchema == nil {
		return nil, nil //nolint:nilnil // there is nothing to judge by
	}
	raw, err := binding.CompileRaw(h.bound.tool.OutputSchema)
	if err != nil {
		return nil, err
	}
	return func(structured json.RawMessage) error {
		if err := raw.Check(structured); err != nil {
			return errors.New(err.Error()) // as an *Invalid it would be blamed on the arguments
		}
		return nil
	}, nil
}

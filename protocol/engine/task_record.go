package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
	"github.com/kagami-mcp/kagami/protocol/task"
	"github.com/kagami-mcp/kagami/transport"
)

// recordedCall is the Call of a record: the request as received, and the state that another process
// needs to run it.
type recordedCall struct {
	Revision  string             `json:"revision"`
	Scopes    []string           `json:"scopes,omitempty"` // of the tool; before params, which are long
	Method    string             `json:"method"`
	ID        json.RawMessage    `json:"id,omitempty"` // of the request
	Session   string             `json:"session,omitempty"`
	Init      json.RawMessage    `json:"init,omitempty"` // the parameters of the session's initialize
	Level     protocol.Level     `json:"level,omitempty"`
	Principal *recordedPrincipal `json:"principal,omitempty"`
	Params    json.RawMessage    `json:"params"`
}

// recordedPrincipal is the authenticated caller. The numbers of claims are restored with the same
// type: json.Number, as in tokens, or float64, if the program made the claims that way.
type recordedPrincipal struct {
	Subject string          `json:"subject"`
	Issuer  string          `json:"issuer,omitempty"`
	Scopes  []string        `json:"scopes,omitempty"`
	Claims  json.RawMessage `json:"claims,omitempty"`
	Floats  bool            `json:"floats,omitempty"` // the numbers in the claims are float64
	Expires time.Time       `json:"expires,omitzero"`
}

func recordPrincipal(p *transport.Principal) (*recordedPrincipal, error) {
	r := &recordedPrincipal{Subject: p.Subject, Issuer: p.Issuer, Scopes: p.Scopes, Expires: p.Expires}
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

func (r *recordedPrincipal) principal() (*transport.Principal, error) {
	p := &transport.Principal{Subject: r.Subject, Issuer: r.Issuer, Scopes: r.Scopes, Expires: r.Expires}
	if r.Claims == nil {
		return p, nil
	}
	d := json.NewDecoder(bytes.NewReader(r.Claims))
	if !r.Floats {
		d.UseNumber()
	}
	if err := d.Decode(&p.Claims); err != nil {
		return nil, fmt.Errorf("engine: reading the claims of a task's principal: %w", err)
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
		for _, each := range claim {
			if holdsFloat(each) {
				return true
			}
		}
	}
	return false
}

// recorded returns this call as Record.Call. Without a queue no other process can run the task, and
// recorded leaves out what only another process needs.
func (x *exchange) recorded(ctx context.Context, scopes []string) ([]byte, error) {
	msg, fault := jsonrpc.Decode(x.frame)
	if fault != nil {
		return nil, fmt.Errorf("engine: recording a task: %s", fault.Reason)
	}
	var err error
	call := recordedCall{
		Revision: x.dialect.String(), Scopes: scopes, Method: x.method, Session: x.call.Session(), Params: msg.Params,
	}
	if x.conn.e.cfg.Queue != nil {
		call.ID = x.id.Append(nil)
		if p := transport.PrincipalFrom(ctx); p != nil {
			if call.Principal, err = recordPrincipal(p); err != nil {
				return nil, fmt.Errorf("engine: recording a task: %w", err)
			}
		}
		if s := x.session; s != nil {
			call.Init, call.Level = json.RawMessage(s.init), s.logLevel()
		}
	}
	text, err := json.Marshal(call)
	if err != nil {
		return nil, fmt.Errorf("engine: recording a task: %w", err)
	}
	return text, nil
}

// read decodes the request again for each run, because a waiting task keeps only its text.
func (j *job) read(r *task.Record) (protocol.Params, Meta, error) {
	call, err := readCall(r)
	if err != nil {
		return nil, noMeta, err
	}
	text := dialect.MetaOf(jsontext.Bare(call.Params))
	read, fault := j.dialect.DecodeMetaObject(text)
	meta := Meta{read, text.Raw()}
	if fault != nil {
		return nil, meta, fault
	}
	params, fault := j.dialect.DecodeParams(call.Method, call.Params)
	if fault != nil {
		return nil, meta, fault
	}
	return params, meta, nil
}

func readCall(r *task.Record) (*recordedCall, error) {
	call := new(recordedCall)
	if err := json.Unmarshal(r.Call, call); err != nil {
		return call, fmt.Errorf("engine: reading the call of a task: %w", err)
	}
	return call, nil
}

// hasScopesOf reports whether the caller has the scopes that the tool had when the task was created.
// A token with fewer scopes must not give access to the results of a call.
func hasScopesOf(ctx context.Context, r *task.Record) bool {
	scopes, _ := jsontext.Member(r.Call, "scopes")
	for item := range jsontext.Elements(scopes) {
		if scope, ok := jsontext.String(item); !ok || !transport.PrincipalFrom(ctx).Has(scope) {
			return false
		}
	}
	return true
}

// lacksScopes returns the answer for the owner of a task who lacks its scopes. If a call of the tool
// would be refused with the scopes to request, it is that refusal. Otherwise it is noTask.
func (x *exchange) lacksScopes(ctx context.Context, r *task.Record) error {
	params, _ := jsontext.Member(r.Call, "params")
	name, _ := jsontext.Member(params, "name")
	tool, _ := jsontext.String(name)
	_, err := x.snapshot.Find(ctx, x.call, &protocol.CallToolParams{Name: tool})
	if refused, ok := errors.AsType[*transport.AuthError](err); ok {
		return refused
	}
	return noTask()
}

// dialectNamed returns the dialect whose String is revision, or nil.
func dialectNamed(revision string) *dialect.Dialect {
	for _, d := range dialect.All() {
		if d.String() == revision {
			return d
		}
	}
	return nil
}

// jobOf makes a job from a record of any node. Of the request's context, only the principal is
// restored. If jobOf returns an error, the job can only fail.
func (e *Engine) jobOf(ctx context.Context, r *task.Record) (*job, error) {
	call, err := readCall(r)
	j := &job{
		e: e, id: r.ID, dialect: dialectNamed(call.Revision), policy: &TaskPolicy{},
		snapshot: e.cfg.Catalog.Snapshot(), request: idOf(call.ID),
	}
	var who *transport.Principal // nil hides a principal in the context of Start
	if call.Principal != nil {
		var unreadable error
		who, unreadable = call.Principal.principal()
		err = errors.Join(err, unreadable)
	}
	ctx = transport.WithPrincipal(ctx, who)
	j.ctx, j.cancel = context.WithCancelCause(ctx)
	if err == nil && j.dialect == nil {
		err = fmt.Errorf("engine: a task of the unknown revision %q", call.Revision)
	}
	if err != nil {
		j.dialect = dialect.Handshake("")
		return j, err
	}
	if call.Session != "" {
		if j.session, err = e.restored(&keptSession{ID: call.Session, Init: call.Init, Level: call.Level}); err != nil {
			return j, err
		}
		if call.Level != "" {
			j.session.level.Store(&call.Level)
		}
	}
	return j, j.find(ctx, r)
}

// find looks up the handler as the original caller. A tool that this caller cannot see any more is
// not run.
func (j *job) find(ctx context.Context, r *task.Record) error {
	params, meta, err := j.read(r)
	if err != nil {
		return err
	}
	x := &exchange{conn: j.connection(), id: j.request, method: params.Method(), dialect: j.dialect, session: j.session, snapshot: j.snapshot}
	x.call = x.newCall(params, meta)
	if j.h, err = j.snapshot.Find(context.WithValue(ctx, callKey{}, x.call), x.call, params); err != nil {
		return err
	}
	rule := policy(j.h)
	if rule == nil {
		return protocol.Faultf(protocol.FaultInternal, "the tool does not run as a task any more")
	}
	j.policy = rule
	return nil
}

// idOf decodes the id of a request.
func idOf(text []byte) jsonrpc.ID {
	msg, fault := jsonrpc.Decode(append(append([]byte(`{"jsonrpc":"2.0","method":"ping","id":`), text...), '}'))
	if fault != nil {
		return jsonrpc.ID{}
	}
	return msg.ID
}

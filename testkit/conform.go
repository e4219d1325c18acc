package testkit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/inmem"
)

// Conformance checks an app against the rules of one revision ("2026-07-28") that the app itself
// can break: by its components, options, schemas, middleware or frame steps. Each rule is a subtest
// named by its number.
//
// The rules are about the form of answers and errors, initialize and discovery, the lists and their
// entries, and pages and caching hints. They also cover calls of unknown components, and malformed
// or incomplete calls. They are checked frame by frame, in memory.
//
// No handler of the app runs, unless a resource template matches every URI: tools and prompts are
// called only without arguments that they require. The rules about results add two tools,
// "testkit-steps" and "testkit-fail". They call the tools through the app's middleware, and remove
// them.
//
// Conformance does not check calls while they run (progress, cancellation, questions),
// subscriptions, tasks and HTTP. Kagami's own tests check them.
//
// The caller has the subject "testkit", all scopes, and another issuer in each rule. A limit per
// caller therefore counts each rule alone; it must allow some thirty calls. If the app has nothing
// that a rule is about, the rule is skipped. A failure shows the rule, its place in the
// specification, the frame that was sent and the answer.
func Conformance[A AppSource](t *testing.T, app A, revision string) {
	t.Helper()
	conform(t, app, revision, rules())
}

// conform checks the rules that hold at the revision.
func conform[A AppSource](t *testing.T, app A, revision string, all []rule) {
	t.Helper()
	d, ok := dialectOfName(revision)
	if !ok {
		t.Fatalf("testkit: Conformance: %q is not a published revision", revision)
	}
	a, _ := appOf(t, app)
	b, patience := newBare(t, a), rulePatience
	for _, r := range all {
		if !r.holds(d) {
			continue
		}
		t.Run(r.number, func(t *testing.T) {
			t.Helper()
			switch err := r.judge(b, d, &patience); {
			case errors.Is(err, errNoSubject):
				t.Skip(err)
			case err != nil:
				t.Errorf("testkit: %s (%s): %s\n%v", r.number, r.source, r.text, err)
			}
		})
	}
}

// errNoSubject means that the app has nothing that the rule is about.
var errNoSubject = errors.New("the app has nothing that this rule is about")

// rule is one sentence of the specification.
type rule struct {
	number string
	source string // page of the specification
	text   string
	at     func(*dialect.Dialect) bool // nil: at every revision
	check  func(*probe) error          // returns how the server breaks the rule, or errNoSubject
	fresh  bool                        // the check calls open itself, or initialize
}

func (r rule) holds(d *dialect.Dialect) bool { return r.at == nil || r.at(d) }

// rules returns the rules that an app can break, by subject.
func rules() []rule {
	return slices.Concat(baseRules(), versionRules(), listRules(), entryRules(), refusalRules(), callRules())
}

// rulePatience is how long a rule may take. Each rule that times out halves the patience with
// the rules after it, because a test may take only ten minutes by default.
const rulePatience = 30 * time.Second

// judge checks the rule on a connection of its own and with a caller of its own. A rate limit per
// caller then does not count all rules together.
func (r rule) judge(b *bare, d *dialect.Dialect, patience *time.Duration) error {
	caller := *transport.PrincipalFrom(b.ctx)
	caller.Issuer = "testkit " + r.number
	ctx, cancel := context.WithTimeout(transport.WithPrincipal(b.ctx, &caller), *patience)
	defer cancel()
	w := &probe{ctx: ctx, dialect: d, server: b.server, conn: inmem.Dial(ctx, b.server), caps: "{}"}
	var err error
	if !r.fresh {
		err = w.open()
	}
	if err == nil {
		err = r.check(w)
	}
	if ctx.Err() != nil {
		*patience = max(*patience/2, time.Second/2)
	}
	if err = errors.Join(err, w.conn.Close()); err == nil || errors.Is(err, errNoSubject) {
		return err
	}
	return fmt.Errorf("%w\nsent: %s\ngot:  %s", err, w.sent, w.got)
}

// probe is a connection to the server that a rule uses frame by frame.
type probe struct {
	ctx       context.Context //nolint:containedctx // of the check
	dialect   *dialect.Dialect
	server    *framework.Server
	conn      transport.Conn
	caps      string                     // of the client
	extra     string                     // more members for the _meta of requests
	has       map[string]json.RawMessage // capabilities of the server
	heard     []*response                // notifications and requests of the server so far
	sent, got []byte                     // the latest frames
	id        int
}

// response is a frame of the server.
type response struct {
	JSONRPC, Method    string
	ID, Params, Result json.RawMessage
	Error              *struct {
		Code    int
		Message *string
		Data    json.RawMessage
	}
}

// open asks for the capabilities of the server, by initialize or server/discover.
func (w *probe) open() error {
	hello := func() (*response, error) { return w.ask("server/discover", "{}") }
	if w.dialect.Handshake() {
		hello = func() (*response, error) { return w.initialize(w.dialect.String()) }
	}
	r, err := hello()
	if err != nil {
		return err
	}
	raw, _ := jsontext.Member(r.Result, "capabilities")
	if err := json.Unmarshal(raw, &w.has); err != nil {
		return errors.New("want capabilities")
	}
	if w.dialect.Handshake() {
		return w.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	}
	return nil
}

func (w *probe) initialize(version string) (*response, error) {
	return w.ask("initialize", fmt.Sprintf(
		`{"protocolVersion":%q,"capabilities":%s,"clientInfo":{"name":"testkit","version":"1"}}`, version, w.caps))
}

func (w *probe) send(frame string) error {
	w.sent, w.got = []byte(frame), nil
	return w.conn.Write(w.ctx, w.sent)
}

// exchange sends a frame and reads the next response.
func (w *probe) exchange(frame string) (*response, error) {
	if err := w.send(frame); err != nil {
		return nil, err
	}
	return w.answer()
}

// answer reads the next response. It appends notifications and requests before it to heard.
func (w *probe) answer() (*response, error) {
	for {
		r, err := w.read()
		if err != nil || r.Method == "" {
			return r, err
		}
		w.heard = append(w.heard, r)
	}
}

func (w *probe) read() (*response, error) {
	got, err := w.conn.Read(w.ctx)
	if err != nil {
		return nil, fmt.Errorf("no answer: %w", err)
	}
	r := &response{}
	if w.got = got; json.Unmarshal(got, r) != nil {
		return nil, errors.New("the answer is not JSON-RPC")
	}
	return r, nil
}

// ask sends a request. params is an object, and ask adds the _meta of the revision to it.
func (w *probe) ask(method, params string) (*response, error) {
	return w.exchange(w.request(method, params))
}

// request returns the frame of a request.
func (w *probe) request(method, params string) string {
	w.id++
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, w.id, method, w.withMeta(params))
}

func (w *probe) withMeta(params string) string {
	meta := "{" + w.extra + "}"
	if !w.dialect.Handshake() {
		meta = joined(w.meta(w.dialect.String()), meta)
	}
	if meta == "{}" {
		return params
	}
	return joined(params, `{"_meta":`+meta+"}")
}

func (w *probe) meta(version string) string {
	return fmt.Sprintf(`{"io.modelcontextprotocol/protocolVersion":%q,"io.modelcontextprotocol/clientCapabilities":%s}`, version, w.caps)
}

// joined returns an object with the members of two.
func joined(a, b string) string {
	if a == "{}" {
		return b
	}
	if b == "{}" {
		return a
	}
	return a[:len(a)-1] + "," + b[1:]
}

// refused sends a request, which must be answered with the error code.
func (w *probe) refused(method, params string, code int) error {
	return w.refusedFrame(w.request(method, params), code)
}

func (w *probe) refusedFrame(frame string, code int) error {
	r, err := w.exchange(frame)
	if err != nil {
		return err
	}
	return oneOf(r, code)
}

func oneOf(r *response, codes ...int) error {
	if r.Error == nil || !slices.Contains(codes, r.Error.Code) {
		return fmt.Errorf("want error %v", codes)
	}
	return nil
}

// served sends a request, which must be answered with a result.
func (w *probe) served(method, params string) (*response, error) {
	r, err := w.ask(method, params)
	if err == nil && r.Result == nil {
		err = errors.New("want a result")
	}
	return r, err
}

// declared reports whether the server has a capability.
func (w *probe) declared(name string) bool {
	_, ok := w.has[name]
	return ok
}

package testkit

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/inmem"
)

// Conformance checks a server against the rules of one revision ("2026-07-28"), frame by
// frame, each rule in a subtest named by its number: JSON-RPC, versions, discovery, the
// lists and their entries, what is unknown or malformed, pages, caching; then calls that
// run: progress, logs, cancellation, questions, subscriptions, tasks; and over HTTP
// statuses, headers and sessions. A failure names the rule and its place in the
// specification, what was sent and what came back.
//
// No handler of the app runs: its tools are called only with arguments that they must
// refuse. For calls that run tools and a resource of the testkit's own, whose names
// begin with "testkit", are added to the server when the rules of the app's own are
// done; the app's middleware and options hold for them, too. Who calls has the subject
// "testkit" and all scopes, and is somebody else in each rule: a rate limit has to let a
// caller make some thirty calls. A rule whose subject the app does not have is skipped.
func Conformance[A AppSource](t *testing.T, app A, revision string) {
	t.Helper()
	d, ok := dialectOfName(revision)
	if !ok {
		t.Fatalf("testkit: Conformance: %q is no published revision", revision)
	}
	a, _ := appOf(t, app)
	b := newBare(t, a)
	for _, r := range rules() {
		if !r.holds(d) {
			continue
		}
		t.Run(r.number, func(t *testing.T) {
			t.Helper()
			complaint, err := r.judge(b, d)
			switch {
			case errors.Is(err, errNoSubject):
				t.Skip(err)
			case err != nil:
				complaint = err.Error()
			}
			if complaint != "" {
				t.Errorf("testkit: %s (%s): %s\n%s", r.number, r.source, r.text, complaint)
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
	fresh  bool                        // the check opens the connection itself
	guests bool                        // the rule needs the testkit's own components
	http   bool                        // the rule is about requests over HTTP
	caps   string                      // capabilities of the client, as JSON; "": none
}

func (r rule) holds(d *dialect.Dialect) bool { return r.at == nil || r.at(d) }

// rules returns all rules, by subject. Those with guests come last, because the guests stay.
func rules() []rule {
	own := slices.Concat(baseRules(), versionRules(), listRules(), toolRules(), otherRules(), webRules())
	guests := slices.Concat(callRules(), progressRules(), logRules(), inputRules(), roundRules(), newsRules(),
		subscriptionRules(), coreTaskRules(), taskRules(), webCallRules())
	for i := range guests {
		guests[i].guests = true
	}
	return append(own, guests...)
}

// rulePatience is how long a rule may take. After each rule that has timed out it is halved, down
// to leastPatience.
const (
	rulePatience  = 30 * time.Second
	leastPatience = 500 * time.Millisecond
)

// judge checks the rule on a connection of its own and as a caller of its own, so that a rate
// limit per caller does not count all rules together.
func (r rule) judge(b *bare, d *dialect.Dialect) (complaint string, err error) {
	who := *transport.PrincipalFrom(b.ctx)
	who.Issuer = "testkit " + r.number
	ctx, cancel := context.WithTimeout(transport.WithPrincipal(b.ctx, &who), b.patience)
	defer cancel()
	w := &probe{ctx: ctx, dialect: d, caps: cmp.Or(r.caps, "{}"), server: b.server, guest: &b.guest}
	if r.guests {
		if err := b.guest.enter(b.server); err != nil {
			return "", err
		}
	}
	hangUp := w.connect(b, r.http)
	defer func() {
		b.guest.goHome()
		err = errors.Join(err, hangUp())
	}()
	if err = w.open(r.fresh); err == nil {
		err = r.check(w)
	}
	if err == nil || errors.Is(err, errNoSubject) {
		return "", err
	}
	if ctx.Err() != nil { // there are many rules, and by default a test may take ten minutes
		b.patience = max(b.patience/2, leastPatience)
	}
	return fmt.Sprintf("%v\nsent: %s\ngot:  %s", err, w.sent, w.got), nil
}

// probe is a connection to the server that a rule uses frame by frame.
type probe struct {
	ctx       context.Context //nolint:containedctx // of the check
	dialect   *dialect.Dialect
	server    *framework.Server
	guest     *guest
	conn      transport.Conn             // in memory
	web       *webProbe                  // over HTTP, in place of conn
	caps      string                     // of the client
	extra     string                     // more members for the _meta of requests
	has       map[string]json.RawMessage // capabilities of the server
	heard     []*response                // notifications and requests of the server so far
	sent, got []byte                     // the latest frames
	id        int
}

// connect opens it, in memory or over HTTP.
func (w *probe) connect(b *bare, http bool) (hangUp func() error) {
	if http {
		w.web, hangUp = newWebProbe(w.ctx, b)
		return hangUp
	}
	w.conn = inmem.Dial(w.ctx, b.server)
	if b.bend != nil {
		w.conn = b.bend(w.conn)
	}
	return w.conn.Close
}

// response is a frame of the server.
type response struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   *struct {
		Code    int             `json:"code"`
		Message *string         `json:"message"`
		Data    json.RawMessage `json:"data"`
	} `json:"error"`
}

func (r *response) code() int {
	if r.Error == nil {
		return 0
	}
	return r.Error.Code
}

// open asks for the capabilities of the server, as the revision does it.
func (w *probe) open(fresh bool) error {
	if fresh {
		return nil
	}
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
		return fmt.Errorf("no capabilities\nsent: %s\ngot:  %s", w.sent, w.got)
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
	if w.web != nil {
		a, err := w.post(frame)
		if err == nil && a.status >= http.StatusBadRequest {
			err = errors.New("want the frame to be accepted")
		}
		return err
	}
	return w.conn.Write(w.ctx, w.sent)
}

// exchange sends a frame and reads the next one that is neither a notification nor a
// request of the server.
func (w *probe) exchange(frame string) (*response, error) {
	if w.web != nil {
		a, err := w.post(frame)
		switch {
		case err != nil:
			return nil, err
		case a.frame == nil:
			return nil, errors.New("want a response")
		}
		return a.frame, nil
	}
	if err := w.send(frame); err != nil {
		return nil, err
	}
	return w.answer()
}

// answer reads the next response.
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
	return w.parse(got)
}

func (w *probe) parse(got []byte) (*response, error) {
	w.got = got
	r := &response{}
	if err := json.Unmarshal(got, r); err != nil {
		return nil, fmt.Errorf("the answer is no JSON-RPC: %w", err)
	}
	return r, nil
}

// ask sends a request. params are an object, which gets the _meta of the revision.
func (w *probe) ask(method, params string) (*response, error) {
	return w.exchange(w.request(method, params))
}

// request returns the frame of a request.
func (w *probe) request(method, params string) string {
	w.id++
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, w.id, method, w.withMeta(params))
}

func (w *probe) withMeta(params string) string {
	meta := "{}"
	if !w.dialect.Handshake() {
		meta = w.meta(w.dialect.String())
	}
	if w.extra != "" {
		meta = joined(meta, "{"+w.extra+"}")
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
	if jsontext.Len([]byte(a)) == 0 {
		return b
	}
	return a[:len(a)-1] + "," + b[1:]
}

// refused sends a request, which must be answered with one of the codes.
func (w *probe) refused(method, params string, codes ...int) error {
	r, err := w.ask(method, params)
	if err != nil {
		return err
	}
	return oneOf(r, codes...)
}

func oneOf(r *response, codes ...int) error {
	for _, code := range codes {
		if r.code() == code {
			return nil
		}
	}
	return fmt.Errorf("want error %v", codes)
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

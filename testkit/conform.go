package testkit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/inmem"
)

// Conformance holds a server against the rules of one revision ("2026-07-28"), each in
// a subtest with the number of the rule, in memory and frame by frame: JSON-RPC,
// versions, discovery, the lists and their entries, what is unknown or malformed,
// pages, caching, subscriptions. A failure names the rule and where the specification
// has it, what was sent and what came back.
//
// No handler of the app runs: tools are called only with arguments that they must
// refuse. What needs HTTP, a client that answers, or a running call is not tested here.
// A rule whose subject the app does not have is skipped.
func Conformance[A AppSource](t *testing.T, app A, revision string) {
	t.Helper()
	d, ok := dialectOfName(revision)
	if !ok {
		t.Fatalf("testkit: Conformance: %q is no published revision", revision)
	}
	a, _ := appOf(t, app)
	b := newBare(t, a)
	for _, r := range rules() {
		if r.holds != nil && !r.holds(d) {
			continue
		}
		t.Run(r.number, func(t *testing.T) {
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

// errNoSubject says that the app has nothing that a rule is about.
var errNoSubject = errors.New("the app has nothing that this rule is about")

// rule is one sentence of the specification.
type rule struct {
	number string
	source string // page of the specification
	text   string
	holds  func(*dialect.Dialect) bool // nil: at every revision
	check  func(*probe) error          // a refutation, or errNoSubject
	fresh  bool                        // the connection is not opened yet
}

// rules of servers, by subject.
func rules() []rule {
	var all []rule
	for _, group := range [][]rule{baseRules(), versionRules(), listRules(), toolRules(), otherRules()} {
		all = append(all, group...)
	}
	return all
}

// judge tries the rule on a connection of its own.
func (r rule) judge(b *bare, d *dialect.Dialect) (complaint string, err error) {
	ctx, cancel := context.WithTimeout(b.ctx, fuzzPatience)
	defer cancel()
	w := &probe{ctx: ctx, dialect: d, conn: inmem.Dial(ctx, b.server)}
	defer func() { err = errors.Join(err, w.conn.Close()) }()
	if err := w.open(r.fresh); err != nil {
		return "", err
	}
	err = r.check(w)
	if err == nil || errors.Is(err, errNoSubject) {
		return "", err
	}
	return fmt.Sprintf("%v\nsent: %s\ngot:  %s", err, w.sent, w.got), nil
}

// probe is a connection, frame by frame.
type probe struct {
	ctx       context.Context //nolint:containedctx // of the check
	dialect   *dialect.Dialect
	conn      transport.Conn
	has       map[string]json.RawMessage // capabilities
	sent, got []byte                     // the latest frames
	id        int
}

// response is a frame that came.
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

// open asks for the capabilities, in the way of the revision.
func (w *probe) open(fresh bool) error {
	if fresh {
		return nil
	}
	r, err := w.ask("server/discover", "{}")
	if w.dialect.Handshake() {
		r, err = w.initialize(w.dialect.String())
	}
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
		`{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"testkit","version":"1"}}`, version))
}

func (w *probe) send(frame string) error {
	w.sent, w.got = []byte(frame), nil
	return w.conn.Write(w.ctx, w.sent)
}

// exchange sends a frame and reads the next one that is no notification.
func (w *probe) exchange(frame string) (*response, error) {
	if err := w.send(frame); err != nil {
		return nil, err
	}
	for {
		r, err := w.read()
		if err != nil || r.Method == "" {
			return r, err
		}
	}
}

func (w *probe) read() (*response, error) {
	got, err := w.conn.Read(w.ctx)
	if err != nil {
		return nil, fmt.Errorf("no answer: %w", err)
	}
	w.got = got
	r := &response{}
	if err := json.Unmarshal(got, r); err != nil {
		return nil, fmt.Errorf("the answer is no JSON-RPC: %w", err)
	}
	return r, nil
}

// ask sends a request. params are an object, which gets the _meta of the revision.
func (w *probe) ask(method, params string) (*response, error) {
	w.id++
	return w.exchange(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, w.id, method, w.withMeta(params)))
}

func (w *probe) withMeta(params string) string {
	if w.dialect.Handshake() {
		return params
	}
	out := appendMember([]byte(params[:len(params)-1]), "_meta", []byte(w.meta(w.dialect.String())))
	return string(out) + "}"
}

func (*probe) meta(version string) string {
	return fmt.Sprintf(`{"io.modelcontextprotocol/protocolVersion":%q,"io.modelcontextprotocol/clientCapabilities":{}}`, version)
}

// refused says that a request must be answered with one of the codes.
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

// served says that a request must be answered with a result.
func (w *probe) served(method, params string) (*response, error) {
	r, err := w.ask(method, params)
	if err == nil && r.Result == nil {
		err = errors.New("want a result")
	}
	return r, err
}

// declared says that the server has a capability.
func (w *probe) declared(name string) bool {
	_, ok := w.has[name]
	return ok
}

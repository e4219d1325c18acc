package oauth

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"sync/atomic"

	"github.com/kagami-mcp/kagami/protocol/client"
)

// connection is the Authorizer of a Flow.
type connection struct {
	flow *Flow
	last atomic.Pointer[reached]
}

// reached is the state of a server, found by the URL of its connection. All requests of a
// connection have the same URL.
type reached struct {
	url  *url.URL
	site *site
	met  atomic.Bool // the server has answered successfully
}

// reach returns the state of a connection's server.
func (k *connection) reach(server *url.URL) (*reached, error) {
	if r := k.last.Load(); r != nil && r.url == server {
		return r, nil
	}
	name, err := canonical(server.String())
	if err != nil {
		return nil, err
	}
	r := &reached{url: server, site: k.flow.site(name)}
	k.last.Store(r)
	return r, nil
}

var _ client.Extender = (*connection)(nil)

// Extensions returns the name of the extension that provides the tokens, if any.
func (k *connection) Extensions() []string {
	if m := k.flow.config.machine; m != nil && m.extension != "" {
		return []string{m.extension}
	}
	return nil
}

// maxAttempts limits how often one request is sent: with a stored token, a renewed token, the token
// of a login, and the token of a step-up. It may be sent once more with a nonce.
const maxAttempts = 5

// attempts counts the attempts for one request.
type attempts struct {
	met     *atomic.Bool // reached.met of the connection
	sent    int
	refused int    // number of 401 answers that led to another token
	stepUps int    // number of 403 answers that led to a step-up
	nonce   bool   // sent again with a nonce
	proven  string // nonce of the last proof; another request may have learned a newer one meanwhile
	clock   bool   // sent again with a proof dated by the server's clock
}

// Do sends a request with the token for the server. After a challenge, it obtains another token and
// sends the request again. Without a token it sends the request unchanged, because the answer shows
// whether a token is needed.
func (k *connection) Do(c *http.Client, server *url.URL, r *http.Request) (*http.Response, error) {
	at, err := k.reach(server)
	if err != nil {
		return nil, err
	}
	s := at.site
	w := newWeb(k.flow, c, s.server)
	g, err := s.ready(r.Context(), w)
	if err != nil && !errors.Is(err, ErrStore) { // if a token is needed, a challenge will show the store's error; most servers do not need one
		return nil, s.located(err)
	}
	for tried := (attempts{met: &at.met}); ; {
		tried.proven = s.nonces.of(r.URL.String())
		resp, err := s.send(w.watch(r.Context()), c, r, g, tried.proven)
		if err != nil {
			return nil, err
		}
		tried.sent++
		next, again, err := s.answered(w, r, resp, g, &tried)
		if err == nil && !again {
			return resp, nil
		}
		_ = resp.Body.Close()
		if err != nil {
			return nil, s.located(err)
		}
		g = next
	}
}

// located sets the server in an *Error that does not have one.
func (s *site) located(err error) error {
	if e, ok := errors.AsType[*Error](err); ok && e.Server == "" {
		e.Server = s.server
	}
	return err
}

// send sends a clone of the request with ctx, and with the token of g if g is not nil. nonce is for the
// proof.
func (s *site) send(ctx context.Context, c *http.Client, r *http.Request, g *live, nonce string) (*http.Response, error) {
	sent := r.Clone(ctx)
	if r.GetBody != nil {
		body, err := r.GetBody()
		if err != nil {
			return nil, err
		}
		sent.Body = body
	}
	if g != nil {
		sent.Header.Set("Authorization", g.Scheme+" "+g.Access)
		if g.Scheme == "DPoP" && g.bound != nil {
			text, err := proof(g.bound, r.Method, r.URL, g.Access, nonce, s.nonces.now())
			if err != nil {
				return nil, err
			}
			sent.Header.Set("DPoP", text)
		}
	}
	return c.Do(sent)
}

// answered handles an answer. If again is true, the request must be sent once more, with next.
func (s *site) answered(w *web, r *http.Request, resp *http.Response, g *live, tried *attempts) (next *live, again bool, err error) {
	ctx := r.Context()
	fresh := false // there is a newer nonce than the one of the proof
	if g != nil && g.bound != nil {
		s.nonces.learn(r.URL.String(), resp.Header)
		fresh = s.nonces.of(r.URL.String()) != tried.proven
	}
	if resp.StatusCode/100 == 2 {
		tried.met.Store(true)
		return nil, false, nil
	}
	sent := ""
	if g != nil {
		sent = g.Scheme
	}
	c, challenged := wanted(resp.Header, sent)
	if r.Method == http.MethodDelete || tried.sent >= maxAttempts {
		return nil, false, nil // ending a session is not worth a login
	}
	d := demandOf(c)
	d.silent = r.Method == http.MethodGet && tried.met.Load() // a stream may end while the user does something else
	switch {
	case resp.StatusCode == http.StatusUnauthorized && fresh && !tried.nonce && c.Params["error"] == "use_dpop_nonce":
		tried.nonce = true
		return g, true, nil
	case resp.StatusCode == http.StatusUnauthorized && g != nil && g.bound != nil && !tried.clock && c.Params["error"] == "invalid_dpop_proof" && s.nonces.learnClock(resp.Header):
		tried.clock = true
		return g, true, nil
	case resp.StatusCode == http.StatusUnauthorized:
		if tried.refused > 0 && (g == nil || g.login) {
			return nil, false, s.rejected(g)
		}
		d.renewed = tried.refused > 0
		tried.refused++
		next, err = s.replace(ctx, w, g, d)
		return next, true, err
	case resp.StatusCode == http.StatusForbidden && challenged && g != nil && c.Params["error"] == "insufficient_scope" && len(d.scopes) > 0:
		if tried.stepUps >= s.flow.config.stepUps || d.silent {
			return nil, false, nil
		}
		tried.stepUps++
		next, err = s.stepUp(ctx, w, g, d)
		return next, true, err
	}
	return nil, false, nil
}

// rejected returns the error of a server that refuses a token that its authorization server has
// just issued. g may be nil.
func (s *site) rejected(g *live) error {
	e := &Error{Step: stepToken, Server: s.server, Err: ErrDenied, Text: "the server refuses the token that was just made for it"}
	if g != nil {
		e.Issuer = g.Issuer.Issuer
		e.Hint = "Its operator must check what the server requires of a token"
		if s.flow.sendsResource(e.Issuer) {
			e.Hint += ": the audience is " + g.Resource
		}
		e.Hint += "."
	}
	return e
}

// knock sends a request without credentials, to get the server's challenge. If the server does not
// require a token, the demand is empty.
func (w *web) knock(ctx context.Context) (demand, error) {
	step := Step{Name: stepChallenge, URL: w.server, Rule: "RFC 9110 §11.6.1"}
	if _, err := w.check(w.server); err != nil {
		return demand{}, &Error{Step: stepChallenge, Server: w.server, Err: err}
	}
	header := http.Header{"Content-Type": {"application/json"}}
	a, err := w.do(ctx, http.MethodPost, w.server, header, []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
	defer func() { w.note(step) }()
	if err != nil {
		return demand{}, &Error{Step: stepChallenge, Server: w.server, Err: step.fail(err)}
	}
	step.Status, step.Took = a.status, a.took
	c, challenged := wanted(a.header, "")
	d := demandOf(c)
	switch {
	case a.status != http.StatusUnauthorized && a.status != http.StatusForbidden:
		step.Verdict = "the server answers without credentials"
		step.Warning = true
	case !challenged:
		step.Verdict, step.Warning = "there is no challenge for a Bearer or DPoP token", true
	default:
		step.Verdict = "a challenge of the scheme " + c.Scheme
		for _, name := range []string{"error", "resource_metadata", "scope"} {
			if value := c.Params[name]; value != "" {
				step.Verdict += ", " + name + " " + cleaned(value)
			}
		}
	}
	return d, nil
}

package authserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kagami-mcp/kagami/middleware/internal/proof"
	"github.com/kagami-mcp/kagami/protocol/session"
)

// refusal is an error response (RFC 6749 §5.2).
type refusal struct {
	status int
	code   string
	text   string
	err    error // for the operator; not sent
}

func (e *refusal) Error() string {
	if e.err == nil {
		return e.code + ": " + e.text
	}
	return e.code + ": " + e.err.Error()
}

func (e *refusal) Unwrap() error { return e.err }

func refuse(code, text string) error { return refusedBy(code, text, nil) }

func refusedBy(code, text string, err error) error {
	return refusedAs(http.StatusBadRequest, code, text, err)
}

func refusedAs(status int, code, text string, err error) error {
	return &refusal{status, code, text, err}
}

// refusalOf returns the response for any error. It does not send the text of an internal error.
func refusalOf(err error) *refusal {
	if r, ok := errors.AsType[*refusal](err); ok {
		return r
	}
	passing := []error{errBusy, errNewer, session.ErrFull, context.DeadlineExceeded, context.Canceled}
	if slices.ContainsFunc(passing, func(target error) bool { return errors.Is(err, target) }) {
		return &refusal{http.StatusServiceUnavailable, "temporarily_unavailable", "Try again later.", err}
	}
	return &refusal{http.StatusInternalServerError, "server_error", "The authorization server failed.", err}
}

// Handler serves all endpoints, and the metadata at the root of the host. On Fiber, wrap it with
// Fiber's adaptor, or give it to fiberhttp.Route.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	s.public(mux, "GET /.well-known/oauth-authorization-server"+s.base.Path, s.handleMetadata)
	s.public(mux, "GET /.well-known/openid-configuration"+s.base.Path, s.handleMetadata)
	if s.base.Path != "" {
		s.public(mux, "GET "+s.base.Path+"/.well-known/openid-configuration", s.handleMetadata)
	}
	s.public(mux, "GET "+s.path("/jwks"), s.handleJWKS)
	s.public(mux, "POST "+s.path("/token"), s.perMinute(atToken, s.handleToken))
	s.public(mux, "POST "+s.path("/revoke"), s.perMinute(atToken, s.handleRevoke))
	s.public(mux, "POST "+s.path("/introspect"), s.handleIntrospect) // for clients that authenticate, and ask for each call
	if !s.policy.NoRegistration {
		s.public(mux, "POST "+s.path("/register"), s.perMinute(atRegister, s.handleRegister))
	}
	pages := http.NewServeMux()
	pages.HandleFunc("GET "+s.path("/authorize"), s.page(s.handleAuthorize))
	pages.HandleFunc("GET "+s.path("/consent"), s.page(s.handleVisit))
	pages.HandleFunc("POST "+s.path("/consent"), s.page(s.handleConsent))
	s.mode.routes(pages)
	shown := http.Handler(pages)
	if s.protect != nil {
		shown = s.protect(shown)
	}
	mux.Handle("/", shown)
	return s.caught(mux)
}

// caught answers if a part of the program panics in a handler. It also puts the address of the
// request into its context; see documents.allowed.
func (s *Server) caught(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			p := recover()
			if p == nil || p == http.ErrAbortHandler { //nolint:errorlint // net/http compares it in the same way
				return
			}
			// Not the panic value itself, because it may contain a secret.
			s.writeRefusal(w, r, refusalOf(fmt.Errorf("authserver: a handler panicked with a %T\n%s", p, debug.Stack())))
		}()
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), remoteKey{}, s.remote(r))))
	})
}

const maxForm = 64 << 10

// handler answers a request, or returns an error.
type handler func(w http.ResponseWriter, r *http.Request) error

// public adds an endpoint that any origin may use, because it reads no cookie.
func (s *Server) public(mux *http.ServeMux, pattern string, h handler) {
	_, path, _ := strings.Cut(pattern, " ")
	mux.HandleFunc("OPTIONS "+path, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Access-Control-Allow-Origin", "*")
		w.Header().Set("Access-Control-Allow-Methods", "GET, POST")
		w.Header().Set("Access-Control-Allow-Headers", "Authorization, Content-Type, DPoP, MCP-Protocol-Version")
		w.Header().Set("Access-Control-Max-Age", "600")
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		head := w.Header()
		head.Set("Access-Control-Allow-Origin", "*")
		head.Set("Access-Control-Expose-Headers", "DPoP-Nonce, Retry-After, WWW-Authenticate")
		head.Set("Cache-Control", "no-store")
		head.Set("X-Content-Type-Options", "nosniff")
		if err := h(w, r); err != nil {
			s.writeRefusal(w, r, refusalOf(err))
		}
	})
}

// perMinute limits the requests of one address.
func (s *Server) perMinute(at place, h handler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if wait := s.limited(at, r); wait > 0 {
			w.Header().Set("Retry-After", seconds(wait))
			return refusedAs(http.StatusTooManyRequests, "temporarily_unavailable", "Too many requests. Try again later.", nil)
		}
		return h(w, r)
	}
}

// seconds returns a duration in seconds, rounded up.
func seconds(d time.Duration) string { return strconv.Itoa(int((d + time.Second - 1) / time.Second)) }

// writeRefusal answers in the format of RFC 6749 §5.2 and RFC 7591 §3.2.2.
func (s *Server) writeRefusal(w http.ResponseWriter, r *http.Request, e *refusal) {
	kind := TokenRefused
	if strings.HasSuffix(r.URL.Path, "/register") {
		kind = ClientRefused
	}
	s.emit(r, Event{Kind: kind, Reason: e.Error()})
	w.Header().Set("Cache-Control", "no-store")
	if e.status == http.StatusUnauthorized && w.Header().Get("WWW-Authenticate") == "" {
		w.Header().Set("WWW-Authenticate", `Basic realm="token endpoint"`)
	}
	_ = writeJSON(w, e.status, map[string]string{"error": e.code, "error_description": e.text}) // a client that is gone does not matter
}

func writeJSON(w http.ResponseWriter, status int, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(text) // as above
	return nil
}

// form reads the parameters of a POST. Each must occur at most once (RFC 6749 §3.1, §3.2), except
// the names in several.
func form(w http.ResponseWriter, r *http.Request, several ...string) (url.Values, error) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); !strings.EqualFold(strings.TrimSpace(kind), "application/x-www-form-urlencoded") {
		return nil, refuse("invalid_request", "The body must be application/x-www-form-urlencoded.")
	}
	if err := r.ParseForm(); err != nil {
		return nil, refuse("invalid_request", "The body cannot be read, or is longer than 64 KiB.")
	}
	f := withValues(r.PostForm)
	return f, single(f, several...)
}

// withValues returns the parameters that have a value. The others count as omitted (RFC 6749 §3.1,
// §3.2).
func withValues(q url.Values) url.Values {
	given := url.Values{}
	for name, values := range q {
		for _, value := range values {
			if value != "" {
				given.Add(name, value)
			}
		}
	}
	return given
}

// single returns an error if a parameter is repeated.
func single(q url.Values, several ...string) error {
	for name, values := range q {
		if len(values) > 1 && !slices.Contains(several, name) {
			return refuse("invalid_request", "A parameter is repeated.")
		}
	}
	return nil
}

// handleMetadata serves the metadata (RFC 8414 §3). The same document is also served at the path of
// OpenID Connect, for clients that look only there.
func (s *Server) handleMetadata(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Cache-Control", "max-age=300")
	return writeJSON(w, http.StatusOK, s.metadata())
}

func (s *Server) metadata() map[string]any {
	all := slices.Clone(s.scopes)
	for _, r := range s.allResources() {
		all = append(all, r.scopes...)
	}
	var scopes []string
	for _, scope := range all {
		if !slices.Contains(scopes, scope.Name) {
			scopes = append(scopes, scope.Name)
		}
	}
	document := map[string]any{
		"issuer":                           s.issuer,
		"authorization_endpoint":           s.at("/authorize"),
		"token_endpoint":                   s.at("/token"),
		"revocation_endpoint":              s.at("/revoke"),
		"introspection_endpoint":           s.at("/introspect"),
		"jwks_uri":                         s.at("/jwks"),
		"response_types_supported":         []string{"code"},
		"response_modes_supported":         []string{"query"},
		"grant_types_supported":            s.grantTypes(),
		"code_challenge_methods_supported": []string{"S256"},

		"token_endpoint_auth_methods_supported":                    []string{methodNone, methodBasic, methodPost, methodKey},
		"token_endpoint_auth_signing_alg_values_supported":         proof.Algorithms(),
		"revocation_endpoint_auth_methods_supported":               []string{methodNone, methodBasic, methodPost, methodKey},
		"revocation_endpoint_auth_signing_alg_values_supported":    proof.Algorithms(),
		"introspection_endpoint_auth_methods_supported":            []string{methodBasic, methodPost, methodKey},
		"introspection_endpoint_auth_signing_alg_values_supported": proof.Algorithms(),
		"authorization_response_iss_parameter_supported":           true,
	}
	if len(scopes) > 0 {
		document["scopes_supported"] = scopes
	}
	if !s.policy.NoRegistration {
		document["registration_endpoint"] = s.at("/register")
	}
	if !s.policy.NoDocuments {
		document["client_id_metadata_document_supported"] = true
	}
	if s.dpop {
		document["dpop_signing_alg_values_supported"] = proof.Algorithms()
	}
	if len(s.assertions) > 0 {
		document["authorization_grant_profiles_supported"] = []string{"urn:ietf:params:oauth:grant-profile:id-jag"}
	}
	return document
}

func (s *Server) handleJWKS(w http.ResponseWriter, r *http.Request) error {
	text, err := s.jwks(r.Context())
	if err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "max-age=300")
	return writeJSON(w, http.StatusOK, json.RawMessage(text))
}

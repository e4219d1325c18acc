package authserver

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/kagami-mcp/kagami/protocol/session"
)

// handleRevoke revokes a token (RFC 7009). Either kind of token ends the grant. The answer for an
// unknown token is the same. A token that a client got for itself has no grant, and is refused
// (§2.2.1).
func (s *Server) handleRevoke(w http.ResponseWriter, r *http.Request) error {
	f, c, err := s.asked(w, r)
	if err != nil {
		return err
	}
	t, err := s.sent(r.Context(), f.Get("token"))
	switch {
	case err != nil:
		return err
	case t.claims != nil && t.reference == "" && t.claims["client_id"] == c.ID:
		return refuse("unsupported_token_type", "The token has no grant, and stays valid until it expires.")
	case t.grant != nil && t.grant.Client == c.ID:
		was, err := s.end(r.Context(), t.reference)
		if err != nil {
			return err
		}
		if was {
			s.emit(r, Event{Kind: Revoked, Subject: t.grant.User.Subject, ClientID: c.ID, Grant: t.reference, Resource: t.grant.Resource, Reason: "by the client"})
		}
	}
	w.WriteHeader(http.StatusOK)
	return nil
}

// tokenInfo describes a token that a client has sent.
type tokenInfo struct {
	claims    map[string]any // of a valid access token of this server; nil for any other text
	reference string         // of the grant
	grant     *grant         // of a valid access token or a refresh token; nil without one
}

// sent finds the claims and the grant of a token.
func (s *Server) sent(ctx context.Context, token string) (t tokenInfo, err error) {
	access := strings.Contains(token, ".")
	if access {
		p, err := s.verifyOwn(ctx, token)
		if err != nil || p == nil {
			return t, err
		}
		t.claims = p.Claims
		t.reference, _ = p.Claims["gid"].(string)
	} else if handle := handleOf(token); handle != nil {
		t.reference = referenceOf(handle)
	}
	if t.reference == "" {
		return t, nil
	}
	g, err := s.grants.get(ctx, t.reference)
	if errors.Is(err, session.ErrNotFound) {
		return t, nil
	}
	if err == nil && (access || sameDigest(g.Current, token) || sameDigest(g.Previous, token)) {
		t.grant = g
	}
	return t, err
}

// handleIntrospect answers introspection requests (RFC 7662) of resource servers in other processes.
// They are registered by hand, with Introspects. An answer has the user's claims, so a client that
// only acts for users gets none.
func (s *Server) handleIntrospect(w http.ResponseWriter, r *http.Request) error {
	f, c, err := s.asked(w, r)
	if err != nil {
		return err
	}
	switch {
	case c.Known != ByHand || c.Method == methodNone:
		return errClient(errors.New("only clients that are registered by hand, with a secret or a key, may introspect"))
	case !c.Introspects:
		return refusedAs(http.StatusForbidden, "unauthorized_client", "The client may not introspect.", errors.New("the client "+c.ID+" is registered without Introspects"))
	}
	answer, err := s.introspect(r.Context(), f.Get("token"))
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, answer)
}

func (s *Server) introspect(ctx context.Context, token string) (map[string]any, error) {
	inactive := map[string]any{"active": false}
	t, err := s.sent(ctx, token)
	if err != nil {
		return nil, err
	}
	if t.claims == nil { // not an access token
		if t.grant == nil || t.grant.Dead || !sameDigest(t.grant.Current, token) {
			return inactive, nil
		}
		claims := s.claimsOf(t.reference, t.grant, t.grant.Scopes, t.grant.Rotated)
		delete(claims, "jti")
		delete(claims, "aud") // a resource server must not accept a refresh token as an access token
		claims["active"], claims["exp"] = true, t.grant.expires(s.lives.Refresh).Unix()
		return claims, nil
	}
	if t.reference != "" {
		if state, err := s.state(ctx, t.reference, time.Now()); err != nil || state.dead {
			return inactive, err
		}
	}
	answer := maps.Clone(t.claims)
	answer["active"], answer["token_type"] = true, "Bearer" // a claim of the user cannot replace them
	if _, bound := answer["cnf"]; bound {
		answer["token_type"] = "DPoP"
	}
	return answer, nil
}

package authserver

import (
	"cmp"
	"errors"
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/kagami-mcp/kagami/protocol/session"
)

// handleRevoke revokes a token (RFC 7009). Either kind of token ends the grant. The answer for an
// unknown token is the same. A client's token for itself has no grant, and is refused.
func (s *Server) handleRevoke(w http.ResponseWriter, r *http.Request) error {
	f, c, err := s.asked(w, r)
	if err != nil {
		return err
	}
	reference, g, err := s.grantOf(r, f.Get("token"))
	if err != nil {
		return err
	}
	if own, err := s.hasNoGrant(r, c, f.Get("token"), g); own || err != nil {
		return cmp.Or(err, refuse("unsupported_token_type", "The token has no grant, and stays valid until it expires."))
	}
	if g != nil && g.Client == c.ID {
		was, err := s.end(r.Context(), reference)
		if err != nil {
			return err
		}
		if was {
			s.emit(r, Event{Kind: Revoked, Subject: g.User.Subject, ClientID: c.ID, Grant: reference, Resource: g.Resource, Reason: "by the client"})
		}
	}
	w.WriteHeader(http.StatusOK)
	return nil
}

// hasNoGrant reports whether a token is a valid one that the client has for itself (RFC 7009 §2.2.1).
func (s *Server) hasNoGrant(r *http.Request, c *Client, token string, g *grant) (bool, error) {
	if g != nil || !strings.Contains(token, ".") {
		return false, nil
	}
	p, err := s.verifyOwn(r.Context(), token)
	if err != nil || p == nil {
		return false, err
	}
	return p.Claims["gid"] == nil && p.Claims["client_id"] == c.ID, nil
}

// grantOf returns the grant of an access token or refresh token that this server issued. For any
// other token, it returns nil.
func (s *Server) grantOf(r *http.Request, token string) (reference string, g *grant, err error) {
	if strings.Contains(token, ".") {
		p, err := s.verifyOwn(r.Context(), token)
		if err != nil || p == nil {
			return "", nil, err
		}
		reference, _ = p.Claims["gid"].(string)
	} else if handle := handleOf(token); handle != nil {
		reference = referenceOf(handle)
	}
	if reference == "" {
		return "", nil, nil
	}
	g, err = s.grants.get(r.Context(), reference)
	if errors.Is(err, session.ErrNotFound) {
		return "", nil, nil
	}
	if err == nil && !strings.Contains(token, ".") && !sameDigest(g.Current, token) && !sameDigest(g.Previous, token) {
		g = nil
	}
	return reference, g, err
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
	answer, err := s.introspect(r, f.Get("token"))
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, answer)
}

func (s *Server) introspect(r *http.Request, token string) (map[string]any, error) {
	inactive := map[string]any{"active": false}
	reference, g, err := s.grantOf(r, token)
	if err != nil {
		return nil, err
	}
	if !strings.Contains(token, ".") {
		if g == nil || g.Dead || !sameDigest(g.Current, token) {
			return inactive, nil
		}
		claims := s.claimsOf(reference, g, g.Rotated)
		delete(claims, "jti")
		claims["active"], claims["exp"] = true, g.expires(s.lives.Refresh).Unix()
		return claims, nil
	}
	p, err := s.verifyOwn(r.Context(), token)
	if err != nil || p == nil {
		return inactive, err
	}
	if named, _ := p.Claims["gid"].(string); named != "" {
		if dead, _, err := s.state(r.Context(), reference, time.Now()); err != nil || g == nil || dead {
			return inactive, err
		}
	}
	answer := maps.Clone(p.Claims)
	answer["active"], answer["token_type"] = true, "Bearer" // a claim of the user cannot replace them
	if _, bound := answer["cnf"]; bound {
		answer["token_type"] = "DPoP"
	}
	return answer, nil
}

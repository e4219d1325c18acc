package authserver

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/kagami-mcp/kagami/protocol/session"
)

// clientRecord is a client that registered itself.
type clientRecord struct {
	Client Client    `json:"client"`
	Used   time.Time `json:"used"`
	Until  time.Time `json:"until"` // end of its last grant; the client is not forgotten before
}

// clientIndex lists the clients that registered themselves, oldest first, so that one can be
// dropped.
type clientIndex struct {
	IDs []string `json:"ids"`
}

const (
	maxMetadata  = 12 << 10 // bytes of a registration; 10,000 clients fit into a store
	maxRedirects = 10
	maxLooked    = 16 // maximum number of clients that are checked to drop one
)

// registration is the metadata of RFC 7591 §2, as far as the server uses it.
type registration struct {
	ID              string          `json:"client_id,omitempty"`
	Name            string          `json:"client_name,omitempty"`
	URI             string          `json:"client_uri,omitempty"`
	LogoURI         string          `json:"logo_uri,omitempty"`
	RedirectURIs    []string        `json:"redirect_uris,omitempty"`
	ApplicationType string          `json:"application_type,omitempty"`
	Method          string          `json:"token_endpoint_auth_method,omitempty"`
	Grants          []string        `json:"grant_types,omitempty"`
	ResponseTypes   []string        `json:"response_types,omitempty"`
	Scope           string          `json:"scope,omitempty"`
	JWKS            json.RawMessage `json:"jwks,omitempty"`
	JWKSURI         string          `json:"jwks_uri,omitempty"`
	Secret          string          `json:"client_secret,omitempty"`
	SecretExpires   *int64          `json:"client_secret_expires_at,omitempty"`
	Issued          int64           `json:"client_id_issued_at,omitempty"`
}

// client returns the client that the metadata describes; it is not admitted yet. The scope of the
// metadata is repeated in the answer and does not bind the client. Otherwise it could not step up,
// and it could register again anyway.
func (m *registration) client() (*Client, error) {
	c := &Client{
		Name: shownText(m.Name), URI: shownText(m.URI), LogoURI: shownText(m.LogoURI), RedirectURIs: m.RedirectURIs,
		ApplicationType: m.ApplicationType, Method: m.Method, JWKS: m.JWKS, JWKSURI: m.JWKSURI, Created: time.Now().UTC(),
	}
	if c.Method == "" {
		c.Method = methodNone
	}
	if c.Method != methodKey {
		c.JWKS, c.JWKSURI = nil, ""
	}
	for _, g := range m.Grants {
		if g == grantCode || g == grantRefresh {
			c.Grants = append(c.Grants, g)
		}
	}
	switch {
	case len(m.RedirectURIs) == 0 || len(m.RedirectURIs) > maxRedirects:
		return nil, refuse("invalid_redirect_uri", "There must be one to ten redirect_uris.")
	case len(m.Grants) > 0 && !slices.Contains(c.Grants, grantCode):
		return nil, refuse("invalid_client_metadata", "The grant_types must have authorization_code.")
	case len(m.ResponseTypes) > 0 && !slices.Contains(m.ResponseTypes, "code"):
		return nil, refuse("invalid_client_metadata", "The response_types must have code.")
	case c.ApplicationType != "" && c.ApplicationType != "native" && c.ApplicationType != "web":
		return nil, refuse("invalid_client_metadata", "The application_type is native or web.")
	case !slices.Contains([]string{methodNone, methodBasic, methodPost, methodKey}, c.Method):
		return nil, refuse("invalid_client_metadata", "This token_endpoint_auth_method is not supported.")
	case c.Method == methodKey && (len(m.JWKS) == 0) == (m.JWKSURI == ""):
		return nil, refuse("invalid_client_metadata", "private_key_jwt needs either jwks or a jwks_uri.")
	case c.Method == methodKey && m.JWKSURI != "" && !isKeysURL(m.JWKSURI, false):
		return nil, refuse("invalid_client_metadata", "The jwks_uri must be https.")
	case c.Method == methodKey && m.JWKSURI == "":
		if _, err := readKeys(m.JWKS); err != nil {
			return nil, refuse("invalid_client_metadata", "The jwks cannot be read, or has no public key for signatures.")
		}
	}
	return c, nil
}

// handleRegister registers a client (RFC 7591 §3).
func (s *Server) handleRegister(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	if s.policy.InitialToken != "" {
		scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		if !strings.EqualFold(scheme, "Bearer") || subtle.ConstantTimeCompare(digest(token), digest(s.policy.InitialToken)) != 1 {
			w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
			return &refusal{status: http.StatusUnauthorized, code: "invalid_token", text: "Registration needs an initial access token."}
		}
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxMetadata))
	var m registration
	if err != nil || json.Unmarshal(body, &m) != nil {
		return refuse("invalid_client_metadata", "The body must be a JSON object of at most 12 KiB.")
	}
	c, err := m.client()
	if err == nil {
		c.Known, c.ID = ByRegistration, rand.Text()
		err = s.admits(ctx, c)
	}
	switch {
	case errors.Is(err, errRedirect):
		return refuse("invalid_redirect_uri", errRedirect.Error()+".")
	case errors.Is(err, errNotAdmitted):
		return refusedBy("invalid_client_metadata", "This server does not admit the client.", err)
	case err != nil:
		return err
	}
	secret := ""
	if c.Method == methodBasic || c.Method == methodPost {
		secret = rand.Text() + rand.Text()
		c.SecretDigest = secretDigest(secret)
	}
	if err := s.addClient(ctx, c); err != nil {
		return err
	}
	s.emit(r, Event{Kind: ClientRegistered, ClientID: c.ID})
	return writeJSON(w, http.StatusCreated, m.answer(c, secret))
}

// answer returns the answer to a registration, with all metadata as it is kept (RFC 7591 §3.2.1).
func (m *registration) answer(c *Client, secret string) *registration {
	a := &registration{
		ID: c.ID, Name: c.Name, URI: c.URI, LogoURI: c.LogoURI, RedirectURIs: c.RedirectURIs, ApplicationType: c.ApplicationType,
		Method: c.Method, Grants: c.Grants, ResponseTypes: []string{"code"}, Scope: m.Scope, JWKS: m.JWKS, JWKSURI: c.JWKSURI, Issued: c.Created.Unix(),
	}
	if len(a.Grants) == 0 {
		a.Grants = []string{grantCode, grantRefresh}
	}
	if secret != "" {
		a.Secret, a.SecretExpires = secret, new(int64)
	}
	return a
}

// addClient stores a client. If there are too many, it drops another one.
func (s *Server) addClient(ctx context.Context, c *Client) error {
	now := time.Now()
	if err := s.registered.create(ctx, c.ID, &clientRecord{Client: *c, Used: now}, now.Add(s.lives.Client)); err != nil {
		return err
	}
	var leaves string
	var full error
	err := s.index.change(ctx, "", func(x *clientIndex) (time.Time, error) {
		leaves, full = "", nil
		if len(x.IDs) >= s.policy.MaxClients {
			if leaves = s.makeRoom(ctx, x); leaves == "" { // the order is stored, so the next attempt checks others
				full = refusedAs(http.StatusServiceUnavailable, "temporarily_unavailable", "There are too many clients. Try again later.", nil)
				return time.Time{}, nil
			}
		}
		x.IDs = append(x.IDs, c.ID)
		return time.Time{}, nil
	})
	if err = cmp.Or(err, full); err != nil {
		return errors.Join(err, s.registered.delete(ctx, c.ID))
	}
	if leaves == "" {
		return nil
	}
	return s.registered.delete(ctx, leaves)
}

// makeRoom removes the client that was unused longest from the oldest ones in the index, and
// returns its ID. If all of them have a grant, it returns "". Those clients move to the end, so
// that the next attempt checks others.
func (s *Server) makeRoom(ctx context.Context, x *clientIndex) string {
	now, longest := time.Now(), time.Time{}
	var found string
	var kept []string
	for _, id := range x.IDs[:min(maxLooked, len(x.IDs))] {
		r, err := s.registered.get(ctx, id)
		switch {
		case errors.Is(err, session.ErrNotFound):
			found, longest = id, time.Unix(0, 0) // the client has expired, so it is dropped first
		case err != nil:
		case r.Until.After(now):
			kept = append(kept, id)
		case found == "" || r.Used.Before(longest):
			found, longest = id, r.Used
		}
	}
	x.IDs = slices.DeleteFunc(x.IDs, func(id string) bool { return id == found || slices.Contains(kept, id) })
	x.IDs = append(x.IDs, kept...)
	return found
}

// used records that a client began a visit or refreshed a token, or has a grant until a time. It does
// so only for clients that registered themselves, because only those can be forgotten. A use soon
// after another one is not written, because many users may share a client.
func (s *Server) used(ctx context.Context, c *Client, until time.Time) error {
	if c.Known != ByRegistration {
		return nil
	}
	now := time.Now()
	return s.registered.change(ctx, c.ID, func(r *clientRecord) (time.Time, error) {
		if r.Client.ID == "" {
			return time.Time{}, errUnknownClient
		}
		if now.Sub(r.Used) < s.lives.Client/100 && !until.After(r.Until) {
			return time.Time{}, errSame
		}
		later := func(a, b time.Time) time.Time { return slices.MaxFunc([]time.Time{a, b}, time.Time.Compare) }
		r.Used, r.Until = now, later(r.Until, until)
		return later(r.Until, now.Add(s.lives.Client)), nil
	})
}

// secretDigest returns the digest of a client's secret, as in Client.SecretDigest.
func secretDigest(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}

// isHidden reports whether a character is invisible, or changes how others are shown.
func isHidden(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Co, unicode.Cs, unicode.Zl, unicode.Zp)
}

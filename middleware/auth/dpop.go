package auth

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/kagami-mcp/kagami/middleware/internal/proof"
	"github.com/kagami-mcp/kagami/transport"
)

// DPoP requires proofs of possession (RFC 9449). Tokens must be bound to a key and come with the
// scheme DPoP. Every request must have a proof that its sender holds the key, made for this request
// and not used before. A stolen token is then useless. Without DPoP, bound tokens are refused,
// because they would be used like bearer tokens.
//
// A proof is for the method and the URL of its request. The URL is the one of Resource, or the path
// of the request on the host of Resource, which is what clients see behind a proxy. Host and header
// fields of proxies are ignored. Without a Resource, every request is refused with 503.
//
// This process remembers proofs. With several processes, a proof can be used once at each, within
// its minute. At most 500,000 proofs are remembered, some 7,500 a second; further requests are
// refused with 503. See [DPoPNonces] for nonces of the server.
func DPoP() Option {
	return optionFunc(func(c *config) { c.proofs = proof.New() })
}

// DPoPNonces makes [DPoP] require a nonce of this server in each proof (RFC 9449 §9). A client then
// cannot make proofs ahead, such as a thief who can use its key only for a moment. A nonce changes
// each minute and is valid for five. A proof without one is answered with 401, the error
// use_dpop_nonce and a new nonce in DPoP-Nonce, and the client tries again. Successful answers also
// have the current nonce, so that a client that sends requests is not refused again. Clients without
// support for nonces are refused, so the default is not to require them.
//
// key has 32 bytes, and is the same in all processes behind one URL. A nil key is replaced by a
// random one, for a single process. Nothing is stored.
func DPoPNonces(key []byte) Option {
	return optionFunc(func(c *config) {
		if key == nil {
			key = make([]byte, nonceKey)
			_, _ = rand.Read(key) // never fails
		}
		if len(key) != nonceKey && c.wrong == nil {
			c.wrong = missetf("DPoPNonces: the key has %d bytes instead of %d", len(key), nonceKey)
		}
		c.nonces = proof.NewNonces(bytes.Clone(key))
	})
}

const nonceKey = 32 // bytes

// Nonce returns the value of DPoP-Nonce for successful answers, as [transport.Authenticator] says.
// Without DPoPNonces it is "".
func (b *bearer) Nonce() string {
	if b.nonces == nil {
		return ""
	}
	return b.nonces.Now()
}

var errBound = &rejection{told: "the token is bound to a key, and proofs are not taken here"}

// bound checks whether the token is bound to a key, and whether its sender holds that key.
func (b *bearer) bound(ctx context.Context, header http.Header, token string, p *transport.Principal) error {
	key := thumbprint(p)
	switch {
	case b.proofs == nil && key != "":
		return errBound
	case b.proofs == nil:
		return nil
	case key == "":
		return &rejection{told: "the token is not bound to a key"}
	}
	at, told := transport.TargetFrom(ctx)
	base := httpURL(b.resource)
	if !told || base == nil {
		return missetf("DPoP needs Resource, and a carrier over HTTP, which says what a request is for")
	}
	// A path that begins with two slashes must not be read as a host.
	asked, err := url.ParseRequestURI(at.URL)
	if err != nil {
		return unavailable("DPoP: the target of the request: %w", err)
	}
	if asked.Host == "" {
		asked.Scheme, asked.Host = base.Scheme, base.Host
	}
	_, err = b.proofs.Check(header.Values("DPoP"), proof.Wanted{Method: at.Method, URLs: []*url.URL{asked, base}, Token: token, Key: key, Nonces: b.nonces})
	switch {
	case err == nil, errors.Is(err, proof.ErrNonce):
		return err
	case errors.Is(err, proof.ErrFull):
		return unavailable("%w", err)
	}
	return fmt.Errorf("auth: %w", err)
}
